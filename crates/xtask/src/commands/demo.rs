//! `cargo xtask demo`: the sample driver at work, in the terminal.

use std::fs;

use super::build::{DRIVER, SETUP, TOOLS};
use crate::cli::{Command, Flag};
use crate::context::Context;
use crate::error::Error;
use crate::setup::note;
use crate::steps::{Outcome, Step, run_all};

pub(super) const COMMAND: Command = Command {
    name: "demo",
    summary: "Builds the sample driver, runs its .sys, prints its events",
    details: "\
Installs what is missing, builds driver-sample for Windows without Windows, and
runs the .sys in a process of this machine: it is loaded, a session listens to
its provider, a device is added, requests are sent, time passes, and it is
unloaded. Prints every status and every event, and what the driver did wrong, if
anything. The trace goes to target/demo/demo.etl.
",
    flags: &[Flag { name: "--os win7|win8.1|win10|win11", summary: "the Windows that is imitated (win10)" }],
    run,
};

const IMAGE: &str = "target/driver/x64/driver_sample.sys";
const FOLDER: &str = "target/demo";
const TRACE: &str = "target/demo/demo.etl";

/// Requests to the sample: an echo, its statistics, an interval, an echo without room, and a code that it does not know.
const REQUESTS: [&str; 5] = ["22E000:68656c6c6f", "226004", "22A008:f4010000", "22A008:ffffffff", "22E03C"];

const RUN: Step = Step { name: "run", what: "the driver, under a session", required: false, run: run_driver };

fn run(context: &Context) -> Result<(), Error> {
    system(context)?;
    run_all(context, &[SETUP, TOOLS, DRIVER, RUN])
}

/// The system that was asked for.
fn system(context: &Context) -> Result<Option<&str>, Error> {
    let words = context.words();
    let Some(at) = words.iter().position(|word| word == "--os") else { return Ok(None) };
    match words.get(at + 1).map(String::as_str) {
        Some(name @ ("win7" | "win8.1" | "win10" | "win11")) => Ok(Some(name)),
        _ => Err(Error::Usage(String::from("`--os` takes win7, win8.1, win10 or win11"))),
    }
}

fn run_driver(context: &Context) -> Result<Outcome, Error> {
    let folder = context.path(FOLDER);
    fs::create_dir_all(&folder).map_err(|error| Error::Failed(format!("cannot make {}: {error}", folder.display())))?;
    let requests = REQUESTS.iter().flat_map(|request| ["--ioctl", request]);
    let mut host = context
        .cargo()
        .args(["run", "--quiet", "--package", "nt-host", "--", "run", IMAGE, "--etl", TRACE])
        .args(requests);
    if let Some(name) = system(context)? {
        host = host.args(["--os", name]);
    }
    host.run_ours()?;
    note(&format!("the trace is in {TRACE}"));
    Ok(Outcome::Passed)
}
