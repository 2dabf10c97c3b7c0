//! `start` and `update`.

use std::path::PathBuf;

use etw_session::info::GROUPS;
use etw_session::{ClockType, MODES, Properties, Session, Update};
use etw_types::session::mode;

use super::sessions::{members, report};
use crate::cli::Line;
use crate::context::{Context, Failure};
use crate::output::Json;
use crate::values;

/// Starts a session.
pub(super) fn start(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let properties = properties(line)?;
    if !["etl", "real-time", "buffering", "mode"].into_iter().any(|way| line.has(way)) {
        let reason = "a session needs a way out for its events: --etl FILE, --real-time or --buffering";
        return Err(Failure::Usage(reason.to_owned()));
    }
    properties.check()?;
    if line.has("dry-run") {
        return dry_run(context, &properties);
    }
    let mut session = context.machine.start(&properties)?;
    let status = session.query();
    session.keep();
    // Some systems start a session and cannot tell about it.
    match status {
        Ok(status) if context.is_json => context.record(members(&status))?,
        _ => context.done(&format!("started {}, handle {}", session.name(), session.handle()))?,
    }
    context.caveat();
    Ok(())
}

/// What would be asked for. People see which values are left to the system; programs see its 0.
fn dry_run(context: &Context<'_>, properties: &Properties) -> Result<(), Failure> {
    let chosen = |value: u32| match value {
        0 if !context.is_json => Json::from("the system's choice"),
        value => value.into(),
    };
    let modes = MODES.iter().filter(|(_, bit)| properties.mode & bit != 0).map(|(name, _)| *name);
    context.record(vec![
        ("name", properties.name.as_str().into()),
        ("file", properties.log_file.as_ref().map(|file| file.display().to_string()).into()),
        ("modes", modes.collect::<Vec<_>>().into()),
        ("mode_bits", format!("{:#x}", properties.mode).into()),
        ("buffer_kib", chosen(properties.buffer_kib)),
        ("minimum_buffers", chosen(properties.minimum_buffers)),
        ("maximum_buffers", chosen(properties.maximum_buffers)),
        (
            "maximum_file_size",
            if properties.maximum_file_size == 0 && !context.is_json {
                "no limit".into()
            } else {
                properties.maximum_file_size.into()
            },
        ),
        ("flush_timer", chosen(properties.flush_timer)),
        ("enable_flags", format!("{:#x}", properties.enable_flags).into()),
    ])
}

fn properties(line: &Line) -> Result<Properties, String> {
    let mut properties = Properties::new(line.argument(0).unwrap_or_default());
    if let Some(file) = line.value("etl") {
        properties = properties.file(file);
    }
    if line.has("real-time") {
        properties = properties.real_time();
    }
    if line.has("buffering") {
        properties = properties.buffering();
    }
    if let Some(size) = line.parsed("sequential")? {
        properties = properties.sequential(size);
    }
    if let Some(size) = line.parsed("circular")? {
        properties = properties.circular(size);
    }
    if let Some(size) = line.parsed("numbered")? {
        properties = properties.numbered_files(size);
    }
    let buffer = |name| line.parsed(name).map(Option::unwrap_or_default);
    properties = properties.buffers(buffer("buffer-kib")?, buffer("min-buffers")?, buffer("max-buffers")?);
    if let Some(time) = line.value("flush") {
        properties = properties.flush_every(values::seconds(time)?);
    }
    match line.value("clock") {
        None | Some("qpc") => {}
        Some("system") => properties = properties.clock(ClockType::SystemTime),
        Some("cycles") => properties = properties.clock(ClockType::Cycles),
        Some(other) => return Err(format!("--clock takes qpc, system or cycles, not '{other}'")),
    }
    if let Some(groups) = line.value("system") {
        let groups = groups.split(',').filter(|name| !name.is_empty()).map(|name| values::bit(name, GROUPS));
        let flags = groups.collect::<Result<Vec<_>, _>>()?;
        // Groups beyond the public flags cannot be asked for at the start: they are those of class 4.
        if let Some(group) = flags.iter().find(|group| *group >> 29 != 0) {
            return Err(format!("group {group:#x} is no public flag: start the session, then `info set system-flags`"));
        }
        properties = properties.system_logger(flags.into_iter().fold(0, |all, flag| all | flag));
    }
    if let Some(guid) = line.value("guid") {
        properties = properties.guid(values::guid(guid)?);
    }
    for mode in line.values("mode") {
        properties = properties.mode(values::bit(mode, MODES)?);
    }
    Ok(properties)
}

/// A flush timer in the unit that the session was started with, which cannot be changed.
fn flush_timer(session: &Session, text: &str) -> Result<u32, Failure> {
    let time = values::seconds(text)?;
    let timer = match session.query()?.properties.mode & mode::USE_MS_FLUSH_TIMER {
        0 if time.subsec_nanos() != 0 => {
            return Err(Failure::Usage(format!("--flush {text}: this session counts whole seconds")));
        }
        0 => u128::from(time.as_secs()),
        _ => time.as_millis(),
    };
    Ok(u32::try_from(timer).unwrap_or(u32::MAX))
}

/// Changes a session.
pub(super) fn update(context: &Context<'_>, line: &Line) -> Result<(), Failure> {
    let session = context.attach(line.argument(0).unwrap_or_default())?;
    let update = Update {
        enable_flags: line.value("flags").map(values::number32).transpose()?,
        flush_timer: line.value("flush").map(|text| flush_timer(&session, text)).transpose()?,
        log_file: line.value("etl").map(PathBuf::from),
        real_time: line.value("real-time").map(values::switch).transpose()?,
        maximum_buffers: line.parsed("max-buffers")?,
    };
    let mut status = if update == Update::default() { session.query()? } else { session.update(&update)? };
    if line.has("next-file") {
        status = session.increment_file()?;
    }
    if line.has("finish-file") {
        status = session.convert_to_real_time()?;
    }
    report(context, "updated", &status)
}
