//! `cargo xtask bench`: measures the cost of an event and compares it with other tools.
//!
//! The crate `bench` measures. This module prepares the machine: it installs the toolchain for Windows, builds the
//! sample driver, and installs the packages of the tools that we are compared with.

use std::env;
use std::ffi::OsString;
use std::fs;

use super::build::{DRIVER, SETUP, TOOLS};
use crate::command::{Command, Flag};
use crate::context::Context;
use crate::steps::{Outcome, Step, run_all};
use driver_build::Error;
use driver_build::setup::{ensure_packages, note};

pub(super) const COMMAND: Command = Command {
    name: "bench",
    summary: "Measures the cost of events, compared with other tools",
    details: "\
Installs what is missing, builds the sample driver, and measures:
- instructions and bytes of an event in release images, and compile time,
  compared with Microsoft's tracelogging
- the engine, compared with LTTng-UST
- decoding, compared with dissect.etl and etl-parser; the exports of etwctl, and
  the time that cargo install takes
- the sample driver in nt-host, compared with speakeasy; its failure matrix and
  the size of its image; a driver with 1,000 devices; the rate of the fuzzer;
  the instructions of a call of a routine, and of a request with wdk-kmdf
- the time of the set-up, of making the driver kit, and of a second build
Prints tables and writes target/bench/performance.md; --write-docs writes
docs/performance.md instead; with --only, the page keeps its other parts, with
the dates of their runs. A row that cannot be measured is shown as skipped, with
the reason. Other work on the machine changes the times, the processor time a
little, and the instructions and bytes not at all. Everything is measured as it
is installed, with the release profile.
--quick repeats less often, generates smaller files for decoding and exports,
and omits cargo install and the first demonstration in new copies of the
repository.
It runs the engine as often as a full run, because single runs differ too much.
The first run takes longer: it builds bench and, for the exports, etwctl in
release.
--only takes a list of parts, separated by commas: instructions, facades, size
(events in images), image (size of the sample driver), engine, decode, export,
install, calls, kmdf, host, matrix, devices, fuzz, build (kit and second build),
setup (demonstration).
",
    flags: &[
        Flag { name: "--quick", summary: "fewer repetitions, long parts omitted: some minutes" },
        Flag { name: CHECK, summary: "fails if instructions, bytes or panics miss a goal" },
        Flag { name: "--check-all", summary: "fails if any goal is missed, also a time or a rate" },
        Flag { name: "--write-docs", summary: "writes docs/performance.md, or its parts that were measured" },
        Flag { name: "--only PARTS", summary: "measures only these parts, for example: host,matrix" },
        Flag { name: "--traces FOLDER", summary: "also decodes and exports the recorded traces in this folder" },
    ],
    only_lists: false,
    run,
};

/// The flag whose value is a path, relative to the user's folder.
const TRACES: &str = "--traces";
const CHECK: &str = "--check";

/// The workspace of the measured images. It is separate from the repository's workspace.
pub(super) const BENCH_IMAGES_MANIFEST: &str = "crates/dev/bench/images/Cargo.toml";

const PEERS: Step = Step::new("peers", "packages that we are compared with", peers);

const MEASURE: Step = Step::new("measure", "events, engine, decoding, host, builds, set-up", measure);

/// A file of each Debian package. If the file exists, the package is installed.
const PACKAGES: [(&str, &str); 4] = [
    ("/usr/bin/lttng", "lttng-tools"),
    ("/usr/include/lttng/tracepoint.h", "liblttng-ust-dev"),
    ("/usr/bin/cc", "gcc"),
    ("/usr/lib/python3", "python3-venv"),
];

fn run(context: &Context) -> Result<(), Error> {
    run_all(context, &[SETUP, TOOLS, DRIVER, PEERS, MEASURE])
}

/// Installs the packages. A package that cannot be installed is not a failure: its rows in the report are skipped.
#[expect(clippy::unnecessary_wraps, reason = "the type of a step")]
fn peers(context: &Context) -> Result<Outcome, Error> {
    let mut missing: Vec<&'static str> = PACKAGES
        .iter()
        .filter(|(file, _)| !fs::exists(file).unwrap_or_default())
        .map(|(_, package)| *package)
        .collect();
    if !context.tool("python3").args(["-c", "import ensurepip, venv"]).succeeds() && !missing.contains(&"python3-venv")
    {
        missing.push("python3-venv");
    }
    if missing.is_empty() {
        return Ok(Outcome::Passed);
    }
    match ensure_packages(context, &missing) {
        Ok(()) => Ok(Outcome::Passed),
        Err(error) => {
            note(&format!("continuing without {}: {error}", missing.join(", ")));
            Ok(Outcome::Skipped(String::from("not everything could be installed")))
        }
    }
}

fn measure(context: &Context) -> Result<Outcome, Error> {
    let mut bench =
        context.cargo().args(["run", "--quiet", "--release", "--package", "bench", "--"]).args(words(context.words()));
    for (key, value) in context.windows().ok().map(|toolchain| toolchain.to_env(&[])).into_iter().flatten() {
        bench = bench.hidden_env(key, &value);
    }
    bench.run_ours()?;
    Ok(Outcome::Passed)
}

/// Returns the words for the program. It runs in the root of the repository, so paths must be absolute.
fn words(words: &[String]) -> Vec<OsString> {
    let is_path =
        |index: usize| index.checked_sub(1).and_then(|before| words.get(before)).is_some_and(|it| it == TRACES);
    let here = |path: &String| env::current_dir().unwrap_or_default().join(path).into_os_string();
    words.iter().enumerate().map(|(index, word)| if is_path(index) { here(word) } else { word.into() }).collect()
}

#[cfg(test)]
mod tests {
    use super::{CHECK, COMMAND, words};

    #[test]
    fn the_flags_are_those_of_the_program() {
        let options = include_str!("../../../bench/src/cli.rs");
        for flag in COMMAND.flags {
            let word = flag.name.split(' ').next().unwrap_or_default();
            let field = word.trim_start_matches('-').replace('-', "_");
            assert!(options.contains(&format!("    {field}: ")), "{word}");
        }
        assert!(COMMAND.flags.iter().any(|flag| flag.name == CHECK));
    }

    #[test]
    fn the_help_names_every_part() {
        let program = include_str!("../../../bench/src/cli.rs");
        let parts = program.split_once("const PARTS:").and_then(|(_, rest)| rest.split_once("];")).unwrap().0;
        let parts: Vec<&str> = parts.split('"').skip(1).step_by(2).collect();
        let (_, list) = COMMAND.details.split_once("--only").unwrap();
        let named: Vec<&str> = list.split(|c: char| !c.is_ascii_alphabetic()).collect();
        assert!(parts.len() > 7, "{parts:?}: {list}");
        assert!(parts.iter().all(|part| named.contains(part)), "{parts:?}: {list}");
    }

    #[test]
    fn the_folder_of_traces_is_relative_to_the_folder_of_the_user() {
        let words = words(&["--quick", "--traces", "recorded", "--check"].map(String::from));
        let here = std::env::current_dir().unwrap().join("recorded");
        assert_eq!(words, ["--quick".into(), "--traces".into(), here.into_os_string(), "--check".into()]);
    }
}
