//! The program behind `cargo xtask fuzz`: reads the command line and starts an engine. An input that breaks a promise is a failure.

mod args;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use args::Args;
use command_line::{end, exit, print};
use etw_fuzz::TARGETS;
use etw_fuzz::engine::{Ending, Options, libfuzzer, supervise, worker};

fn main() -> ExitCode {
    let args: Args = match command_line::parse(std::env::args_os()) {
        Ok(args) => args,
        Err(code) => return code,
    };
    match run(&args) {
        Ok(Ending::Clean) => end(exit::SUCCESS),
        Ok(Ending::Found) => end(exit::FAILED),
        Err(error) => {
            eprintln!("error: {error}");
            end(exit::USAGE)
        }
    }
}

fn run(args: &Args) -> io::Result<Ending> {
    // Without a target there is nothing but the list.
    let Some(target) = args.target.filter(|_| !args.list) else { return list() };
    let options = Options { target, time: args.time(), seed: args.seed.unwrap_or_else(now) };
    match (&args.replay, &args.libfuzzer, args.worker) {
        (Some(file), ..) => {
            let about = |error| io::Error::other(format!("{}: {error}", file.display()));
            worker::replay(target, file).map_err(about).map(|()| Ending::Clean)
        }
        (_, Some(program), _) => libfuzzer::run(&options, program),
        (.., Some(from)) => worker::work(&options, from, args.careful),
        _ => supervise::run(&options),
    }
}

fn list() -> io::Result<Ending> {
    for target in &TARGETS {
        let seeds = target.corpus()?;
        let bytes: usize = seeds.iter().map(|seed| seed.bytes.len()).sum();
        print(&format!("{:<13} {} ({} seeds, {bytes} bytes)\n", target.name, target.summary, seeds.len()));
    }
    Ok(Ending::Clean)
}

/// A random seed for those who gave none; it is printed.
fn now() -> u64 {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::from(time.subsec_nanos()) ^ (time.as_secs() & 0xFFFF_FFFF)
}
