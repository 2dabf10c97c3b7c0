//! `nt-host run`: runs a driver once and prints the report.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use command_line::exit::{FAILED, FINDINGS, INCOMPLETE, INTERRUPTED, SUCCESS, USAGE};
use command_line::{Output, annotate, error, escaped, print, shown};
use etw_types::{Guid, NtStatus};
use nt_machine::Time;

use super::args::{Lifecycle, Options, RunOptions};
use super::clients::Clients;
use super::debugger;
use super::hardware::accesses;
use super::interrupt;
use super::json::json;
use super::outputs::{FilesError, create, outputs, with_coverage};
use super::progress::{Progress, Verdict};
use super::text::text;
use nt_host::text::percent;
use nt_host::{Builder, Error, Failure, Finding, NtHost, Outcome, Report};

/// Creates the builder of a run, without what only some commands have. If `measured` is set, uses measured time unless the options say otherwise.
pub(super) fn builder(options: &Options, measured: bool) -> Builder {
    let mut builder = NtHost::builder().driver(&options.path).os(options.release.os).trace_all();
    for path in &options.with {
        builder = builder.with(path);
    }
    if let Some(path) = &options.framework {
        builder = builder.framework(path);
    }
    if options.framework_verifier {
        builder = builder.framework_verifier();
    }
    for routine in &options.hide {
        builder = builder.hide(routine);
    }
    for below in options.below.iter().chain(&options.remote) {
        builder = builder.below(below.clone());
    }
    for resource in &options.resource {
        builder = builder.resource(*resource);
    }
    builder = options.hardware.script(builder);
    for (key, name, value) in &options.registry {
        builder = builder.registry(key.clone(), name, value.clone());
    }
    for failure in &options.fail {
        builder = builder.fail(failure.clone());
    }
    for dir in &options.volume {
        builder = builder.volume_from(dir);
    }
    if let Some(memory) = options.memory {
        builder = builder.memory(memory);
    }
    if let Some(limit) = options.debug_output_limit {
        builder = builder.debug_output(limit);
    }
    if let Some(timeout) = options.timeout {
        builder = builder.patience(timeout);
    }
    if let Some(time) = options.cancel_after {
        builder = builder.cancel_after(time);
    }
    builder = match options.time() {
        Some(Time::Real) => builder.real_time(),
        None if measured => builder.measured_time(),
        _ => builder,
    };
    if options.races {
        builder = builder.races();
    }
    builder
}

pub(super) fn run(options: &RunOptions) -> u8 {
    let started = Instant::now();
    let (host, etl) = match prepare(options) {
        Ok(prepared) => prepared,
        Err((code, reason)) => {
            error(&reason);
            return code;
        }
    };
    interrupt::watch(host.process_id());
    let mut progress = Progress::new(!options.run.json);
    let result = drive(&host, &options.run, &options.lifecycle, &mut progress);
    progress.end();
    let loaded = !matches!(result, Err(Error::NotLoaded(..) | Error::DriverEntry(..)));
    let report = progress.complete(host.report(), &options.lifecycle.allow);
    let mut verdict = judge(result, &report);
    if verdict.code == SUCCESS && !options.lifecycle.device {
        verdict.text += ", without a device (--no-device)";
    }
    verdict.text += progress.remark();
    let trace = host.trace();
    let (events, unread) = match trace.events() {
        Ok(events) => (events, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    let lost = report.losses().events;
    // Write the trace first: the reader of the report may be slow or close the pipe.
    let written = etl.map_or(Ok(()), |path| trace.write_etl(path));
    let written = written.and(host.write_coverage());
    if options.run.json {
        let hardware = host.hardware_log().unwrap_or_default();
        print(&(json(&verdict, &progress, host.notes(), &report, (&events, host.decoder()), lost, &hardware) + "\n"));
    } else {
        for note in host.notes() {
            print(&format!("note: {}\n", escaped(note)));
        }
        print(&text(&report, &events, || host.decoder(), lost, options.debug_output));
        print(&accesses(&host));
        print(&coverage(&host));
        for note in scripted(&host, &options.run, loaded) {
            print(&format!("{}\n", escaped(&note)));
        }
        let path = shown(&options.run.path);
        let text = escaped(&verdict.text);
        print(&format!("{path}: {text} ({} ms)\n", started.elapsed().as_millis()));
    }
    for finding in report.findings() {
        annotate(place(finding), &finding.to_string());
    }
    if let Some(unread) = unread {
        error(&format!("cannot read the events of this run: {unread}"));
        return verdict.code.max(INCOMPLETE);
    }
    if let Err(failure) = written {
        error(&failure.to_string());
        return USAGE;
    }
    verdict.code
}

/// The line of a finding, for an annotation.
pub(super) fn place(finding: &Finding) -> Option<(&Path, u32)> {
    let place = finding.location.as_ref()?;
    Some((Path::new(place.file.as_ref()?), place.line?))
}

/// Prepares the run, and checks that its outputs can be written and replace none of its inputs. Fails with an exit code.
fn prepare(options: &RunOptions) -> Result<(NtHost, Option<Output>), (u8, String)> {
    let usage = |reason: FilesError| (USAGE, reason.to_string());
    // Durations in the trace should be meaningful, but the time in a debugger is not the driver's, and a run with a seed must be
    // the same each time.
    let builder = builder(&options.run, !options.debug && options.seed.is_none());
    let builder = options.lifecycle.allow.iter().fold(builder, |builder, kind| builder.allow(*kind));
    let builder = if options.stacks { builder.stacks() } else { builder };
    let mut outputs = outputs(&builder, &options.run, &[]).map_err(usage)?;
    let builder = with_coverage(builder, &options.coverage, &mut outputs).map_err(usage)?;
    let builder = if options.debug { debugger::wait(builder, &options.run.path) } else { builder };
    let builder = options.seed.into_iter().fold(builder, Builder::seed);
    let etl = options.etl.as_ref().map(|path| outputs.file("--etl", path)).transpose();
    let etl = etl.map_err(|error| usage(FilesError::Output(error)))?;
    let host = builder.prepare().map_err(|error| {
        let code = if matches!(error, Error::Process(_)) { INCOMPLETE } else { USAGE };
        (code, error.to_string())
    })?;
    if let Some(etl) = &etl {
        // The new file is dropped at once.
        create(etl).map_err(|error| usage(FilesError::Write(error)))?;
    }
    Ok((host, etl))
}

/// Describes which code of the driver ran, if that was recorded: its functions and blocks, and its lines if they are known.
fn coverage(host: &NtHost) -> String {
    let Some(coverage) = host.coverage() else { return String::new() };
    let hit = coverage.hits();
    let all = coverage.blocks().len();
    let functions = coverage.functions();
    let entered = functions.iter().filter(|rva| coverage.is_hit_at(**rva)).count();
    let lines = host.line_coverage();
    let table = if lines.is_empty() { String::new() } else { lines.to_string() };
    let share = percent(hit, all);
    let of_functions = percent(entered, functions.len());
    format!(
        "coverage\n{share:>8}  {:>11}  blocks of code\n{of_functions:>8}  {:>11}  functions\n{table}",
        format!("{hit}/{all}"),
        format!("{entered}/{}", functions.len())
    )
}

/// Loads the driver, adds a device, sends requests, lets time pass, and unloads the driver.
pub(super) fn drive(
    host: &NtHost,
    options: &Options,
    lifecycle: &Lifecycle,
    progress: &mut Progress,
) -> Result<(), Error> {
    progress.step("DriverEntry");
    host.load()?;
    let mut device = None;
    if lifecycle.device {
        progress.step("device");
        match host.add_device() {
            Ok(added) => device = Some(added),
            // The rest of the run goes on without a device. If the driver should have one, the report has a gap.
            Err(Error::Status(NtStatus::NoSuchDevice)) if host.gaps().is_empty() => {
                progress.note("no device: the driver has no AddDevice and created no device");
            }
            Err(Error::Status(status)) => progress.note(&format!("no device: {status}")),
            Err(error) => return Err(error),
        }
    }
    Clients::new(host, &mut device).run(&options.steps.0, progress)?;
    if lifecycle.capture_state {
        progress.step("capture state");
        capture_state(host)?;
    }
    if lifecycle.device {
        progress.step("time");
        host.advance(lifecycle.advance)?;
    }
    if let Some(device) = device {
        progress.step("removal");
        match device.remove() {
            // The report has a gap. The unload removes the device by surprise.
            Err(Error::Status(status)) => progress.note(&format!("removal: refused with {status}")),
            result => result?,
        }
    }
    progress.step("unload");
    match host.unload() {
        // Windows keeps a driver without an unload routine loaded, so what it holds is not a leak.
        Err(error @ Error::NotUnloaded) => {
            progress.note(&error.to_string());
            progress.unloaded = Some(false);
        }
        result => {
            result?;
            progress.unloaded = Some(true);
        }
    }
    Ok(())
}

/// Requests every provider that has written events to log its state.
fn capture_state(host: &NtHost) -> Result<(), Error> {
    let events = host.trace().events()?;
    let providers: BTreeSet<Guid> = events.iter().filter_map(|event| event.header.provider).collect();
    providers.into_iter().try_for_each(|provider| host.trace().session().capture_state(provider).map(drop))
}

/// Describes the effect of the injected failures: which calls failed, and how the driver continued.
fn scripted(host: &NtHost, options: &Options, loaded: bool) -> Vec<String> {
    let calls = host.fallible_calls().unwrap_or_default();
    let describe = |failure: &Failure| {
        let routine = &failure.routine;
        let count = calls.iter().find(|(name, _)| name == routine).map_or(0, |(_, count)| *count);
        if count < failure.call.unwrap_or(1) {
            return format!("{routine} did not fail: the driver called it {count} times");
        }
        let status = failure.status.map_or_else(|| "failed".to_owned(), |status| format!("returned {status}"));
        let then = match (loaded, routine.as_str()) {
            (false, _) => "; the driver did not load",
            (true, "EtwRegister") if host.events_written().is_ok_and(|events| events == 0) => {
                "; the driver continued without tracing"
            }
            (true, _) => "; the driver continued",
        };
        format!("{routine} {status}{then}")
    };
    options.fail.iter().map(describe).collect()
}

fn judge(result: Result<(), Error>, report: &Report) -> Verdict {
    let has_findings = report.blames_driver();
    match result {
        Err(_) if interrupt::was_interrupted() => Verdict::new(INTERRUPTED, "interrupted"),
        Err(error @ Error::NotLoaded(..)) => Verdict::new(FAILED, error.to_string()),
        Err(error @ Error::DriverEntry(..)) if !has_findings => Verdict::new(FAILED, error.to_string()),
        Err(error @ (Error::Process(_) | Error::Host(_))) => {
            Verdict::new(INCOMPLETE, format!("the run ended early: {error}"))
        }
        Err(Error::Stopped(_)) if has_findings => Verdict::new(FINDINGS, "stopped"),
        Err(error) if !has_findings => Verdict::new(INCOMPLETE, format!("the run ended early: {error}")),
        _ => match report.outcome() {
            Outcome::Clean => Verdict::new(SUCCESS, "clean"),
            Outcome::Incomplete => Verdict::new(INCOMPLETE, format!("incomplete: {}", what_is_missing(report))),
            Outcome::Findings => {
                let count = report.findings().len();
                Verdict::new(FINDINGS, format!("{count} finding{}", if count == 1 { "" } else { "s" }))
            }
        },
    }
}

/// Returns why a report is incomplete, in one line.
pub(super) fn what_is_missing(report: &Report) -> String {
    match report.gaps() {
        [] => match report.findings() {
            [.., finding] => finding.to_string(),
            [] => report.losses().to_string(),
        },
        [gap] => gap.detail.clone(),
        [gap, more @ ..] => {
            let count = more.len();
            let plural = if more.len() == 1 { "" } else { "s" };
            format!("{}, and {count} more gap{plural}", gap.detail)
        }
    }
}
