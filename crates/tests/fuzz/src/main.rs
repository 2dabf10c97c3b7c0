//! The program behind `cargo xtask fuzz`: reads the command line and starts an engine.
//!
//! Exit codes: 0 nothing was found; 1 an input breaks a promise; 2 wrong usage, or something cannot be read or started.

mod args;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use args::{Action, Args};
use etw_fuzz::engine::{Ending, Options, libfuzzer, supervise, worker};
use etw_fuzz::{TARGETS, Target};

fn main() -> ExitCode {
    let words = std::env::args_os().skip(1).map(OsString::into_string).collect::<Result<Vec<_>, _>>();
    let words =
        words.map_err(|word| format!("the argument `{}` is not valid UTF-8", word.as_encoded_bytes().escape_ascii()));
    let args = match words.and_then(|words| Args::parse(&words)) {
        Ok(args) => args,
        Err(text) => {
            eprintln!("error: {text}");
            return ExitCode::from(2);
        }
    };
    match run(&args) {
        Ok(Ending::Clean) => ExitCode::SUCCESS,
        Ok(Ending::Found) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> io::Result<Ending> {
    let options = |target: &'static Target| Options { target, time: args.time, seed: args.seed.unwrap_or_else(now) };
    match &args.action {
        Action::List => {
            for target in &TARGETS {
                let seeds = target.corpus()?;
                let bytes: usize = seeds.iter().map(|seed| seed.bytes.len()).sum();
                let out = &mut io::stdout();
                // Nothing is lost if nobody reads it.
                let _ = writeln!(out, "{:<13} {} ({} seeds, {bytes} bytes)", target.name, target.summary, seeds.len());
            }
            Ok(Ending::Clean)
        }
        Action::Replay(target, file) => {
            let about = |error| io::Error::other(format!("{}: {error}", file.display()));
            worker::replay(target, file).map_err(about).map(|()| Ending::Clean)
        }
        Action::Mutate(target) => supervise::run(&options(target)),
        Action::LibFuzzer(target, program) => libfuzzer::run(&options(target), program),
        Action::Work { target, from, careful } => worker::work(&options(target), *from, *careful),
    }
}

/// A random seed for those who gave none; it is printed.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::from(time.subsec_nanos()) ^ (time.as_secs() & 0xFFFF_FFFF)
}
