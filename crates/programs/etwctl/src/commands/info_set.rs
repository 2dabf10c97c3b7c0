//! `info set`.

use etw_session::info::{
    BinaryTracking, ContextRegisters, DisallowList, GROUPS, LBR_BITS, LbrConfiguration, LbrEvents, MaxPmcCounters,
    OfSession, PeriodicCapture, PeriodicCaptureLimits, PmcCounters, PmcEvents, ProfileSourcesInUse, SampleInterval,
    Settable, StackCaching, StackTracing, SystemFlags, UnifiedStackCaching,
};

use super::info_get::{handle, needs_session};
use crate::cli::InfoSet;
use crate::context::Context;
use crate::failure::Failure;
use crate::values;

/// Sets an information class to the values of the command line.
pub(super) fn set(context: &Context<'_>, line: &InfoSet) -> Result<(), Failure> {
    let facts = line.class.0;
    let machine = context.machine;
    if let Some(data) = &line.raw {
        machine.set_raw(handle(context, line.session.as_deref(), facts)?, facts.class, &data.0)?;
        return done(context, line);
    }
    match facts.class.as_int() {
        3 => on_session(context, line, &StackTracing::new(all(line, values::classic_event)?)?),
        4 => on_session(context, line, &SystemFlags::from_groups(&all(line, |name| values::bit(name, GROUPS))?)),
        5 => {
            let (source, interval) = one(line)?.split_once('=').ok_or("class 5 needs SOURCE=INTERVAL".to_owned())?;
            machine
                .set(&SampleInterval { source: values::number32(source)?, interval: values::number32(interval)? })?;
            done(context, line)
        }
        6 => {
            machine.set(&ProfileSourcesInUse::new(all(line, values::number32)?)?)?;
            done(context, line)
        }
        8 => on_session(context, line, &PmcEvents::new(all(line, values::classic_event)?)?),
        9 => {
            let most: MaxPmcCounters = machine.query()?;
            on_session(context, line, &PmcCounters::new(all(line, values::number32)?, most)?)
        }
        10 => on_session(context, line, &DisallowList(all(line, values::provider)?)),
        16 => on_session(context, line, &periodic(context, line)?),
        18 => on_session(context, line, &BinaryTracking(values::switch(one(line)?)?)),
        20 => {
            let bits = all(line, |name| values::bit(name, LBR_BITS))?;
            on_session(context, line, &LbrConfiguration::new(bits.into_iter().fold(0, |all, bit| all | bit))?)
        }
        21 => on_session(context, line, &LbrEvents::new(all(line, values::number32)?)?),
        24 => {
            on_session(context, line, if values::switch(one(line)?)? { &StackCaching::ON } else { &StackCaching::OFF })
        }
        26 => {
            let is_on = values::switch(one(line)?)?;
            on_session(context, line, if is_on { &UnifiedStackCaching::ON } else { &UnifiedStackCaching::OFF })
        }
        28 => on_session(context, line, &ContextRegisters::new(all(line, values::classic_event)?)),
        // The class cannot be set; the system's error code says so.
        _ => Ok(machine.set_raw(handle(context, line.session.as_deref(), facts)?, facts.class, &[])?),
    }
}

/// All values of the command line: separate arguments, or several in one argument with commas.
fn all<T>(line: &InfoSet, parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
    line.values.iter().flat_map(|value| value.split(',')).map(parse).collect()
}

/// The only value of the command line.
fn one(line: &InfoSet) -> Result<&str, Failure> {
    match line.values.as_slice() {
        [value] => Ok(value),
        _ => Err(Failure::Usage("this class needs exactly one value".to_owned())),
    }
}

fn on_session<T: Settable<Scope = OfSession>>(context: &Context<'_>, line: &InfoSet, value: &T) -> Result<(), Failure> {
    let name = line.session.as_deref().ok_or_else(|| needs_session(line.class.0))?;
    context.attach(name)?.set(value)?;
    done(context, line)
}

/// The value of class 16. The system's limits are queried only if there are providers: turning captures off needs none.
fn periodic(context: &Context<'_>, line: &InfoSet) -> Result<PeriodicCapture, Failure> {
    let providers = all(line, values::provider)?;
    if providers.is_empty() {
        return Ok(PeriodicCapture::off());
    }
    let limits: PeriodicCaptureLimits = context.machine.query()?;
    let seconds = line.seconds.unwrap_or(limits.least_seconds);
    Ok(PeriodicCapture::new(seconds, providers, limits)?)
}

fn done(context: &Context<'_>, line: &InfoSet) -> Result<(), Failure> {
    context.done(&format!("set {}", line.class.0.short_name()))
}
