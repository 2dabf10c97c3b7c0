//! `nt-host matrix`: every call that can fail is made to fail, one at a time.

use super::args::Options;
use super::run::{Progress, builder, drive};
use super::{CLEAN, FINDINGS, USAGE};
use crate::{Error, Failure, NtHost};

/// Calls of one routine that are tried: more of them take the same paths again.
const MOST_CALLS: u64 = 16;

pub(super) fn matrix(options: &Options) -> u8 {
    let calls = match first(options) {
        Ok(calls) => calls,
        Err(error) => {
            eprintln!("error: {error}");
            return USAGE;
        }
    };
    let mut failed = 0;
    let mut runs = 0;
    for (routine, count) in calls {
        for call in 1..=count.min(MOST_CALLS) {
            runs += 1;
            let failure = Failure { routine: routine.clone(), status: None, call: Some(call) };
            let result = once(options, &failure);
            let findings = match &result {
                Ok(host) => host.report().findings().to_vec(),
                Err(error) => {
                    println!("{routine}@{call}: {error}");
                    failed += 1;
                    continue;
                }
            };
            if !findings.is_empty() {
                failed += 1;
                println!("{routine}@{call}");
                for finding in findings {
                    println!("  {finding}");
                }
            }
        }
    }
    println!("{}: {runs} failures tried, {failed} with findings", options.path.display());
    if failed == 0 { CLEAN } else { FINDINGS }
}

/// Without a failure, to see what is called.
fn first(options: &Options) -> Result<Vec<(String, u64)>, Error> {
    let host = builder(options).prepare()?;
    drive(&host, options, &mut Progress::silent())?;
    host.fallible_calls()
}

/// With one failure. The driver may refuse to go on; that is not a mistake.
fn once(options: &Options, failure: &Failure) -> Result<NtHost, Error> {
    let host = builder(options).fail(failure.clone()).prepare()?;
    match drive(&host, options, &mut Progress::silent()) {
        Ok(()) | Err(Error::DriverEntry(..) | Error::Status(_)) => Ok(host),
        Err(error) => Err(error),
    }
}
