//! `info set`.

use etw_session::info::{Information, MaxPmcCounters, PeriodicCapture, PeriodicCaptureLimits, PmcCounters, Words};
use etw_types::session::TraceInfoClass;

use super::info_get::handle;
use crate::cli::InfoSet;
use crate::context::Context;
use crate::failure::Failure;
use crate::values::{self, InvalidValue};

/// Sets an information class to the values of the command line.
pub(super) fn set(context: &Context<'_>, line: &InfoSet) -> Result<(), Failure> {
    let facts = line.class.0;
    if let Some(data) = &line.raw {
        let handle = handle(context, line.session.as_deref(), facts)?;
        context.machine.set_raw(handle, facts.class, &data.0)?;
    } else {
        let session = line.session.as_deref().filter(|_| facts.is_of_session() || facts.set.is_none());
        let data = data(context, line)?;
        context.machine.set_data(handle(context, session, facts)?, facts, &data)?;
    }
    context.done(&format!("set {}", facts.short_name()))
}

/// The data that the words of the command line make.
fn data(context: &Context<'_>, line: &InfoSet) -> Result<Vec<u8>, Failure> {
    let facts = line.class.0;
    // The class cannot be set; the system's error code says so.
    let Some(setting) = facts.set else { return Ok(Vec::new()) };
    match setting.words {
        Words::Events(encode) => Ok(encode(all(line, values::classic_event)?)?),
        Words::Numbers(encode) => Ok(encode(all(line, values::number32)?)?),
        Words::Providers(encode) => Ok(encode(all(line, values::provider)?)?),
        Words::Names(_, names, encode) => Ok(encode(all(line, |name| values::bit(name, names))?)?),
        Words::Switch(encode) => Ok(encode(values::switch(one(line)?)?)),
        Words::Pair(form, encode) => {
            let missing = || Failure::Usage(format!("class {} needs {form}", facts.class.as_int()));
            let (first, second) = one(line)?.split_once('=').ok_or_else(missing)?;
            Ok(encode(values::number32(first)?, values::number32(second)?))
        }
        Words::OfProgram(_) if facts.class == TraceInfoClass::PmcCounterListInfo => counters(context, line),
        Words::OfProgram(_) => periodic(context, line),
    }
}

/// All values of the command line: separate arguments, or several in one argument with commas.
fn all<T>(line: &InfoSet, parse: impl Fn(&str) -> Result<T, InvalidValue>) -> Result<Vec<T>, InvalidValue> {
    line.values.iter().flat_map(|value| value.split(',')).map(parse).collect()
}

/// The only value of the command line.
fn one(line: &InfoSet) -> Result<&str, Failure> {
    match line.values.as_slice() {
        [value] => Ok(value),
        _ => Err(Failure::Usage("this class needs exactly one value".to_owned())),
    }
}

/// The value of class 9: as many counters as the machine has.
fn counters(context: &Context<'_>, line: &InfoSet) -> Result<Vec<u8>, Failure> {
    let most: MaxPmcCounters = context.machine.query()?;
    Ok(PmcCounters::new(all(line, values::number32)?, most)?.encode())
}

/// The value of class 16. The system's limits are queried only if there are providers: turning captures off needs none.
fn periodic(context: &Context<'_>, line: &InfoSet) -> Result<Vec<u8>, Failure> {
    let providers = all(line, values::provider)?;
    if providers.is_empty() {
        return Ok(PeriodicCapture::off().encode());
    }
    let limits: PeriodicCaptureLimits = context.machine.query()?;
    let seconds = line.seconds.unwrap_or(limits.least_seconds);
    Ok(PeriodicCapture::new(seconds, providers, limits)?.encode())
}
