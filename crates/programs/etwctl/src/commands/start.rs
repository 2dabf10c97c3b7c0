//! `start` and `update`.

use std::path::Path;
use std::time::Duration;

use command_line::{Inputs, Output, OutputError, OutputPath, Outputs, escaped};
use etw_session::{MODES, Properties, Session, Update};
use etw_types::session::mode;

use super::sessions::{members, report};
use crate::cli;
use crate::context::Context;
use crate::failure::Failure;
use crate::output::Json;

/// Starts a session.
pub(super) fn start(context: &Context<'_>, line: &cli::Start) -> Result<(), Failure> {
    let options = &line.options;
    let file = options.etl.as_ref().map(|file| new_trace(&context.inputs, file)).transpose()?;
    let properties = properties(options, file.as_ref())?;
    if options.etl.is_none() && !options.real_time && !options.buffering && options.modes.is_empty() {
        let reason = "a session needs an output for its events: --etl FILE, --real-time or --buffering";
        return Err(Failure::Usage(reason.to_owned()));
    }
    properties.check()?;
    file.as_ref().map_or(Ok(()), check_folder)?;
    if line.dry_run {
        return dry_run(context, &properties);
    }
    let mut session = context.machine.start(&properties)?;
    let status = session.query();
    session.keep();
    // Some systems can start a session but not query it.
    match status {
        Ok(status) if context.is_json => context.record(members(&status))?,
        _ => context.done(&format!("started {}, handle {}", escaped(session.name()), session.handle()))?,
    }
    context.caveat();
    Ok(())
}

/// Checks that the trace file of `--etl` replaces no input.
pub(super) fn new_trace(inputs: &Inputs, file: &OutputPath) -> Result<Output, OutputError> {
    Outputs::new(inputs.clone()).file("--etl", file)
}

/// Checks that the folder of a trace file exists. The system would only return a code.
pub(super) fn check_folder(file: &Output) -> Result<(), Failure> {
    let file = file.as_ref();
    let dir = file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if dir.is_dir() {
        return Ok(());
    }
    let file = file.display();
    let dir = dir.display();
    Err(Failure::Usage(format!("--etl {file}: there is no folder {dir}; create it first")))
}

/// Prints the properties that the session would get. A value that the system chooses is a text, or 0 with `--json`.
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

/// The properties of a session to be started.
pub(super) fn properties(line: &cli::SessionOptions, file: Option<&Output>) -> Result<Properties, Failure> {
    let mut properties = Properties::new(&line.session);
    if let Some(file) = file {
        properties = properties.file(file.as_ref());
    }
    if line.real_time {
        properties = properties.real_time();
    }
    if line.buffering {
        properties = properties.buffering();
    }
    properties = stored(properties, &line.storage)?;
    if let Some(time) = line.flush {
        properties = properties.flush_every(time);
    }
    if let Some(clock) = line.clock.into() {
        properties = properties.clock(clock);
    }
    if let Some(guid) = line.guid {
        properties = properties.guid(guid);
    }
    for mode in &line.modes {
        properties = properties.mode(*mode);
    }
    Ok(properties)
}

/// Adds the files, the buffers and the kernel's events.
pub(super) fn stored(mut properties: Properties, line: &cli::Storage) -> Result<Properties, Failure> {
    if let Some(size) = line.sequential {
        properties = properties.sequential(size);
    }
    if let Some(size) = line.circular {
        properties = properties.circular(size);
    }
    if let Some(size) = line.numbered {
        properties = properties.numbered_files(size);
    }
    properties = properties.buffers(line.buffer_kib, line.min_buffers, line.max_buffers);
    if let Some(flags) = &line.system {
        // Only the groups of the public `EVENT_TRACE_FLAG_*` can be set at the start; class 4 sets the others.
        if let Some(group) = flags.iter().find(|group| *group >> 29 != 0) {
            return Err(Failure::Usage(format!(
                "group {group:#x} cannot be set with --system: start the session, then run `etwctl info set system-flags`"
            )));
        }
        properties = properties.system_logger(flags.iter().fold(0, |all, flag| all | flag));
    }
    Ok(properties)
}

/// The flush timer in the unit of the session, seconds or milliseconds, which cannot be changed after the start.
fn flush_timer(session: &Session, time: Duration) -> Result<u32, Failure> {
    let timer = match session.query()?.properties.mode & mode::USE_MS_FLUSH_TIMER {
        0 if time.subsec_nanos() != 0 => {
            return Err(Failure::Usage(format!(
                "--flush {}: the flush timer of this session needs whole seconds",
                humantime::format_duration(time)
            )));
        }
        0 => u128::from(time.as_secs()),
        _ => time.as_millis(),
    };
    Ok(u32::try_from(timer).unwrap_or(u32::MAX))
}

/// Changes a session.
pub(super) fn update(context: &Context<'_>, line: &cli::Update) -> Result<(), Failure> {
    let file = line.etl.as_ref().map(|file| new_trace(&context.inputs, file)).transpose()?;
    file.as_ref().map_or(Ok(()), check_folder)?;
    let session = context.attach(&line.session)?;
    let update = Update {
        enable_flags: line.flags,
        flush_timer: line.flush.map(|time| flush_timer(&session, time)).transpose()?,
        log_file: file.map(|file| file.as_ref().to_owned()),
        real_time: line.real_time,
        maximum_buffers: line.max_buffers,
    };
    let mut status = if update == Update::default() { session.query()? } else { session.update(&update)? };
    if line.next_file {
        status = session.increment_file()?;
    }
    if line.finish_file {
        status = session.convert_to_real_time()?;
    }
    report(context, "updated", &status)
}
