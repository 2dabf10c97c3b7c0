//! Runs the sample driver in nt-host and in speakeasy, and measures how long the demonstration takes.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use etw_types::{Guid, Level};
use nt_host::NtHost;
use serde_json::Value;

use super::sample::{ECHO, NOT_BUILT, sample};
use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::{median, spread};
use crate::tools::{cargo, number, python, run, run_slowly, timed};

const TEXT: &str = "\
The sample driver's `.sys`. nt-host creates a process, loads the image, enables the provider in a session, adds a device, sends it a \
request, removes the device, unloads the driver, and ends the process. speakeasy emulates the processor and runs `DriverEntry` and the \
routines that it registered; its time is that of loading and running the module, without the start of Python.";
const SETUP_TEXT: &str = "\
The time of `cargo xtask demo` in seconds. The command installs what is missing, builds the sample driver and runs it. A first run is in a \
new copy of the repository with nothing built (packages that were downloaded before are not downloaded again); a second run follows it.";
/// The rows about the demonstration. The first is also the goal.
const DEMOS: [&str; 2] = ["first `cargo xtask demo`", "second `cargo xtask demo`"];
/// New copies in which the demonstration is measured.
const COPIES: usize = 3;
/// A demonstration that takes longer than this has built something.
const SECONDS_OF_A_BUILD: f64 = 10.0;
const SPEAKEASY: [&str; 1] = ["speakeasy-emulator==1.5.11"];

/// Runs the sample driver in both.
///
/// # Errors
///
/// Returns an error if the sample driver does not run in nt-host.
pub fn host(settings: &Settings) -> Result<Findings, String> {
    let mut section = Section::new("Running the sample driver", TEXT, &["what", "ms"]);
    let Some(image) = sample(settings) else {
        section.skipped("nt-host: load, run, unload", NOT_BUILT);
        return Ok(Findings { sections: vec![section], goals: vec![goal(None, NOT_BUILT)] });
    };
    let rounds = if settings.quick { 20 } else { 100 };
    let mut times = Vec::new();
    // The first run reads the file into the system's cache.
    live(&image)?;
    for _ in 0..rounds {
        times.push(live(&image)?.as_secs_f64() * 1e3);
    }
    let spread = spread(&times, 2, " ms");
    let how = format!("{rounds} runs, median{spread}");
    section.row(vec![Cell::text("nt-host: load, run, unload"), Cell::number(median(&times), 2)], how.clone());
    match speakeasy(settings, &image) {
        Ok((milliseconds, how)) => {
            section.row(vec![Cell::text("speakeasy 1.5.11: load, run"), Cell::Number(milliseconds, 2)], how);
        }
        Err(error) => section.skipped("speakeasy 1.5.11: load, run", &error),
    }
    Ok(Findings { sections: vec![section], goals: vec![goal(median(&times), &how)] })
}

fn goal(measured: Option<f64>, note: &str) -> Goal {
    Goal {
        what: String::from("nt-host: load, run and unload the sample, ms"),
        limit: 10.0,
        bound: Bound::AtMost,
        origin: Origin::Target,
        measured,
        everywhere: false,
        note: note.into(),
        why: String::from("A process is created for each driver, and its memory is mapped and released."),
    }
}

/// Runs the driver from load to unload and returns the time.
fn live(image: &Path) -> Result<Duration, String> {
    let text = |error: nt_host::Error| error.to_string();
    let started = Instant::now();
    let host = NtHost::builder().driver(image).prepare().map_err(text)?;
    let session = host.session("bench").map_err(text)?;
    let trace = session.enable(Guid::from_name("WdkEtw.DriverSample"), Level::Verbose, !0).map_err(text)?;
    host.load().map_err(text)?;
    let device = host.add_device().map_err(text)?;
    let reply = device.ioctl(ECHO, b"hello", 64).map_err(text)?;
    device.remove().map_err(text)?;
    host.unload().map_err(text)?;
    let written = trace.events().map_err(text)?.len();
    drop((trace, host));
    let elapsed = started.elapsed();
    if reply.output == b"hello" && written > 0 {
        Ok(elapsed)
    } else {
        Err(String::from("the sample did not echo the request, or wrote no events"))
    }
}

fn speakeasy(settings: &Settings, image: &Path) -> Result<(f64, String), String> {
    let python = python(&settings.scratch("python-speakeasy"), &SPEAKEASY, "import speakeasy")?;
    let script = settings.root.join("crates/dev/bench/programs/run_speakeasy.py");
    let text = run(Command::new(python).arg(script).arg(image))?;
    let output: Value = serde_json::from_str(&text).map_err(|error| format!("`{}`: {error}", text.trim()))?;
    if let Some(error) = output.get("error").and_then(Value::as_str) {
        return Err(format!("it cannot run the image: {error}"));
    }
    let get = |name| number(&output, name).ok_or_else(|| format!("its output lacks `{name}`"));
    let entries = output.get("entry_points").and_then(Value::as_str).unwrap_or_default();
    Ok((get("ns")? / 1e6, format!("1 run; it emulated {entries}")))
}

/// Measures the demonstration. A quick run measures it only if everything is already built.
///
/// # Errors
///
/// Returns an error if the demonstration fails.
pub fn setup(settings: &Settings) -> Result<Findings, String> {
    let mut section = Section::new("Set-up", SETUP_TEXT, &["what", "s"]);
    let [first_name, second_name] = DEMOS;
    if settings.quick {
        let reason = "only in the full run";
        section.skipped(first_name, reason);
        // Whether everything was built before is not known. If the first run took as long as a build, measure another
        // one.
        let first = demo(&settings.root)?;
        let second = if first > SECONDS_OF_A_BUILD { demo(&settings.root)? } else { first };
        section.row(vec![Cell::text(second_name), Cell::Number(second, 1)], "1 run");
        return Ok(Findings { sections: vec![section], goals: vec![setup_goal(None, reason)] });
    }
    let mut firsts = Vec::new();
    let mut seconds = Vec::new();
    for _ in 0..COPIES {
        let (first, second) = in_a_new_copy(settings)?;
        firsts.push(first);
        seconds.push(second);
    }
    let how = |times: &[f64]| format!("{COPIES} new copies, median{}", spread(times, 1, " s"));
    for (name, times) in [(first_name, &firsts), (second_name, &seconds)] {
        section.row(vec![Cell::text(name), Cell::number(median(times), 1)], how(times));
    }
    Ok(Findings { sections: vec![section], goals: vec![setup_goal(median(&firsts), &how(&firsts))] })
}

fn setup_goal(measured: Option<f64>, note: &str) -> Goal {
    Goal {
        what: format!("{}, s", DEMOS[0]),
        limit: 100.0,
        bound: Bound::AtMost,
        origin: Origin::Target,
        measured,
        everywhere: false,
        note: note.into(),
        why: String::from(
            "Microsoft's crates and the programs that build them are compiled from source, and the driver kit is made.",
        ),
    }
}

/// Returns the time of the first and of the second demonstration in a new copy of the repository.
fn in_a_new_copy(settings: &Settings) -> Result<(f64, f64), String> {
    let copy = settings.scratch("copy");
    let _ = fs::remove_dir_all(&copy);
    run(Command::new("git").args(["clone", "--quiet"]).arg(&settings.root).arg(&copy))?;
    let times = demo(&copy).and_then(|first| Ok((first, demo(&copy)?)));
    let _ = fs::remove_dir_all(&copy);
    times
}

fn demo(dir: &Path) -> Result<f64, String> {
    timed(|| run_slowly(cargo(dir).args(["xtask", "demo"])))
}
