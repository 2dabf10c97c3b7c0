//! The child process: makes inputs and runs the target on them, until time is up or one of them is a finding.
//!
//! It tells its parent on standard output how many inputs it ran. A panic, an input that takes too long and memory beyond
//! the limit are findings that it writes itself; whatever else ends it is for the parent to explain.

use std::fs;
use std::io::{self, Write, stdout};
use std::panic;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::{Ending, Finding, MOST_MEMORY, MOST_TIME, Options, interrupt};
use crate::{Mutator, Target};

/// The file that holds the input in work, where every input is written before it is run.
pub const LAST_INPUT: &str = "last-input";

/// How often the parent hears of the number.
const PAUSE: Duration = Duration::from_millis(200);

/// What is in work, for those who look from outside.
struct Current {
    mutator: Mutator,
    number: AtomicU64,
}

/// Runs inputs from number `from` on. With `careful`, every input is a file before it is run.
///
/// # Errors
///
/// Where the corpus cannot be read, or the parent is gone.
pub fn work(options: &Options, from: u64, careful: bool) -> io::Result<Ending> {
    interrupt::watch();
    let seeds = options.target.corpus()?.into_iter().map(|seed| seed.bytes).collect();
    let mutator = Mutator::new(seeds, options.target.max_len, options.seed);
    let current = Arc::new(Current { mutator, number: AtomicU64::new(from) });
    explain_panics(options, &current);
    watch_limits(options, &current);
    let last_input = options.folder().join(LAST_INPUT);
    if careful {
        fs::create_dir_all(options.folder())?;
    }
    let started = Instant::now();
    let mut told = started;
    let mut number = from;
    while started.elapsed() < options.time && !interrupt::asked() {
        let input = current.mutator.input(number);
        if careful {
            fs::write(&last_input, &input)?;
        }
        (options.target.run)(&input);
        number += 1;
        current.number.store(number, Ordering::Relaxed);
        if told.elapsed() >= PAUSE {
            told = Instant::now();
            tell(number)?;
        }
    }
    tell(number)?;
    Ok(Ending::Clean)
}

fn tell(number: u64) -> io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{number}")?;
    out.flush()
}

/// A panic writes its input and ends the process.
fn explain_panics(options: &Options, current: &Arc<Current>) {
    let (options, current) = (options.clone(), Arc::clone(current));
    panic::set_hook(Box::new(move |info| report(&options, &current, info.to_string())));
}

/// Ends the process when an input takes too long, or too much memory.
fn watch_limits(options: &Options, current: &Arc<Current>) {
    let (options, current) = (options.clone(), Arc::clone(current));
    thread::spawn(move || {
        let mut last = (u64::MAX, Instant::now());
        loop {
            thread::sleep(PAUSE);
            let number = current.number.load(Ordering::Relaxed);
            if number != last.0 {
                last = (number, Instant::now());
            }
            if last.1.elapsed() > MOST_TIME {
                report(&options, &current, format!("takes longer than {} seconds", MOST_TIME.as_secs()));
            }
            if resident().is_some_and(|memory| memory > MOST_MEMORY) {
                report(&options, &current, format!("takes more than {MOST_MEMORY} MiB of memory"));
            }
        }
    });
}

/// Memory of this process in MiB, where the system tells.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024)
}

/// Writes the finding for the input in work, and ends the process.
fn report(options: &Options, current: &Current, what: String) -> ! {
    let number = current.number.load(Ordering::Relaxed);
    let _ = tell(number);
    let origin = format!("the mutator, seed {}, input {number}", options.seed);
    let finding = Finding { target: options.target, what, origin };
    match finding.keep(&options.folder(), &current.mutator.input(number)) {
        Ok(text) => eprint!("\n{text}"),
        Err(error) => eprintln!("\n{}\nthe input could not be written: {error}", finding.what),
    }
    process::exit(1)
}

/// Runs one input from a file. A panic is shown as usual.
///
/// # Errors
///
/// Where the file cannot be read.
pub fn replay(target: &Target, file: &Path) -> io::Result<()> {
    let bytes = fs::read(file)?;
    let started = Instant::now();
    (target.run)(&bytes);
    let (name, length, took) = (target.name, bytes.len(), started.elapsed());
    // The exit code says it, too, if nobody reads.
    let _ = writeln!(stdout(), "{name} took {length} bytes in {took:.1?} without a finding");
    Ok(())
}
