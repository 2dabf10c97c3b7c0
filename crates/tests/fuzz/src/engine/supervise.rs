//! The parent of a worker: shows progress, and finds the input when the worker dies without a word.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use super::progress::{Progress, clock, rate};
use super::worker::LAST_INPUT;
use super::{Ending, Finding, Options, interrupt};

/// Inputs since the last that the parent heard of take less than this, even when each becomes a file.
const SEARCH: Duration = Duration::from_mins(1);

/// Runs the mutator until time is up, Ctrl-C is pressed or something is found.
///
/// # Errors
///
/// Where the worker cannot be started, or cannot read the corpus.
pub fn run(options: &Options) -> io::Result<Ending> {
    interrupt::watch();
    let Options { target, time, seed } = options;
    let seeds = target.corpus()?.len();
    eprintln!("fuzzing {}: {}", target.name, target.summary);
    eprintln!("  the bounded mutator, {seeds} seeds, {}, random seed {seed} (--seed {seed})", clock(*time));
    let mut progress = Progress::new();
    let (status, inputs) = worker(options, 0, false, &mut progress)?;
    progress.clear();
    let took = progress.elapsed();
    let ending = match status.code() {
        Some(0) => Ending::Clean,
        Some(1) => Ending::Found,
        // The interrupt came before the worker was ready for it.
        None if interrupt::asked() => Ending::Clean,
        Some(2) => return Err(io::Error::other("the worker could not work")),
        _ => {
            eprintln!("the worker died ({status}); looking for the input");
            search(options, inputs, status)?;
            Ending::Found
        }
    };
    let how = if interrupt::asked() { "stopped" } else { "done" };
    let found = if ending == Ending::Found { "one finding" } else { "no finding" };
    eprintln!("{how}: {inputs} inputs in {}, {} in a second, {found}", clock(took), rate(inputs, took));
    Ok(ending)
}

/// Starts a worker and waits for its end. Answers the last number it told.
fn worker(options: &Options, from: u64, careful: bool, progress: &mut Progress) -> io::Result<(ExitStatus, u64)> {
    let Options { target, time, seed } = options;
    let time = if careful { SEARCH } else { *time };
    let mut command = Command::new(env::current_exe()?);
    command.args([target.name, "--worker", &from.to_string(), "--seed", &seed.to_string()]);
    command.args(["--time", &format!("{}ms", time.as_millis())]);
    if careful {
        command.arg("--careful");
    }
    let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
    let mut number = from;
    if let Some(stream) = child.stdout.take() {
        for line in BufReader::new(stream).lines() {
            number = line?.parse().unwrap_or(number);
            // It ends by itself, unless the interrupt came before it was there.
            if interrupt::asked() && !careful {
                child.kill()?;
                break;
            }
            if progress.is_due() && !careful {
                let took = progress.elapsed();
                let left = time.saturating_sub(took);
                let rate = rate(number, took);
                progress.write(&format!("  {number} inputs, {rate} in a second, {} left", clock(left)));
            }
        }
    }
    Ok((child.wait()?, number))
}

/// Runs the inputs since the last known one again, each as a file before it is run.
fn search(options: &Options, from: u64, died: ExitStatus) -> io::Result<()> {
    let (status, reached) = worker(options, from, true, &mut Progress::new())?;
    // With code 1 it has said so itself this time.
    if status.code() == Some(1) {
        return Ok(());
    }
    if status.success() {
        eprintln!("inputs {from} to {reached} did not end it again: {died}, seed {}", options.seed);
        return Ok(());
    }
    let input = fs::read(options.folder().join(LAST_INPUT))?;
    let origin = format!("the mutator, seed {}, an input behind {from}", options.seed);
    let finding = Finding { target: options.target, what: format!("the process died: {status}"), origin };
    eprint!("\n{}", finding.keep(&options.folder(), &input)?);
    Ok(())
}
