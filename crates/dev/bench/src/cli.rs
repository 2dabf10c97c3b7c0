//! The command: runs the parts, then prints and writes the report.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use command_line::{VERSION, end, error, exit, print};

use crate::machine::ProcessorTime;
use crate::part::{
    Findings, Images, Settings, build, calls, decode, devices, engine, export, facades, fuzz, host, image, install,
    instructions, kmdf, matrix, setup, size,
};
use crate::report::{Part, Report, Section, markdown, text};
use crate::tools::WORKER;
use crate::{machine, worker};

/// The files that are written, relative to the repository.
const REPORT: &str = "target/bench/performance.md";
const DOCUMENT: &str = "docs/performance.md";

/// The parts by name.
const PARTS: [&str; 16] = [
    "instructions",
    "facades",
    "size",
    "image",
    "engine",
    "decode",
    "export",
    "install",
    "calls",
    "kmdf",
    "host",
    "matrix",
    "devices",
    "fuzz",
    "build",
    "setup",
];

/// Measures the cost of an event and compares it with other tools.
#[derive(Debug, Default, Parser, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
#[command(name = "bench", version = VERSION, after_help = exit::HELP, max_term_width = 100)]
struct Options {
    /// Repeat less often and omit the parts that take minutes
    #[arg(long)]
    quick: bool,
    /// Fail if a goal that does not depend on the machine is missed
    #[arg(long)]
    check: bool,
    /// Fail if any goal is missed, on a machine that does nothing else
    #[arg(long)]
    check_all: bool,
    /// Measure only these parts
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = PARTS)]
    only: Vec<String>,
    /// Also decode and export the recorded traces in this folder
    #[arg(long, value_name = "FOLDER")]
    traces: Option<PathBuf>,
    /// Write docs/performance.md from this run; without this option, no tracked file changes. With --only, the page keeps its
    /// other parts, with their runs
    #[arg(long, conflicts_with = "quick")]
    write_docs: bool,
}

impl Options {
    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == part)
    }
}

/// Runs the command. `words` begins with the program's name. With `--check` or `--check-all`, a missed goal is a failure.
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.collect();
    if words.get(1).is_some_and(|word| word == WORKER) {
        let rest: Vec<String> = words.iter().skip(2).map(|word| word.to_string_lossy().into_owned()).collect();
        return match worker::run(&rest) {
            Ok(result) => {
                println!("{result}");
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("{}", error.trim_end());
                ExitCode::from(exit::FAILED)
            }
        };
    }
    let options: Options = match command_line::parse(words) {
        Ok(options) => options,
        Err(code) => return code,
    };
    match run(&options) {
        Ok(true) => end(exit::SUCCESS),
        Ok(false) => end(exit::FAILED),
        Err(reason) => {
            error(reason.trim_end());
            end(exit::USAGE)
        }
    }
}

/// Returns whether all required goals were reached.
fn run(options: &Options) -> Result<bool, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(3).unwrap_or(here).to_path_buf();
    if let Some(dir) = &options.traces {
        fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    let settings = Settings { root: root.clone(), quick: options.quick, traces: options.traces.clone() };
    let scratch = settings.scratch("");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let report = measure(&settings, options);
    print(&(text(&report) + "\n"));
    let document = if options.write_docs { DOCUMENT } else { REPORT };
    let earlier = if options.write_docs { read(&root.join(document))? } else { String::new() };
    write(&root.join(document), &markdown(&report, &earlier, &PARTS))?;
    print(&format!("wrote {document}\n"));
    let failures = match (options.check_all, options.check) {
        (true, _) => report.missed(),
        (false, true) => report.failures(),
        (false, false) => Vec::new(),
    };
    for goal in &failures {
        eprintln!("missed: {}: {}", goal.what, goal.outcome().replace("**", ""));
    }
    Ok(failures.is_empty())
}

fn measure(settings: &Settings, options: &Options) -> Report {
    let mut report = Report { quick: settings.quick, machine: machine::describe(), ..Report::default() };
    let before = ProcessorTime::now();
    let images = if ["instructions", "facades", "size", "calls"].into_iter().any(|part| options.wants(part)) {
        Images::build(settings)
    } else {
        Err(String::from("not requested"))
    };
    let images = || images.as_ref().map_err(Clone::clone);
    for part in PARTS.into_iter().filter(|part| options.wants(part)) {
        let started = Instant::now();
        let time = ProcessorTime::now();
        eprintln!("measuring: {part}");
        let findings = match part {
            "instructions" => images().and_then(instructions),
            "facades" => images().and_then(facades),
            "size" => images().and_then(|images| size(settings, images)),
            "engine" => engine(settings),
            "image" => image(settings),
            "decode" => decode(settings),
            "export" => export(settings),
            "install" => Ok(install(settings)),
            "calls" => images().and_then(calls),
            "kmdf" => kmdf(settings),
            "host" => host(settings),
            "matrix" => matrix(settings),
            "devices" => devices(settings),
            "fuzz" => Ok(fuzz(settings)),
            "build" => Ok(build(settings)),
            _ => setup(settings),
        };
        let findings = findings.unwrap_or_else(|error| failed(part, &error));
        let stolen = stolen_since(time).map_or_else(String::new, |stolen| format!("; {STOLEN}: {stolen}"));
        eprintln!("  took {:.1} s{stolen}", started.elapsed().as_secs_f64());
        report.parts.push(Part { name: part.to_owned(), sections: findings.sections, goals: findings.goals });
    }
    report.machine.extend(stolen_since(before).map(|stolen| (String::from(STOLEN), stolen)));
    report
}

/// The name of a share of the run that tells a quiet machine from one that others use too.
const STOLEN: &str = "processor time taken by other machines on the same host";

fn stolen_since(before: Option<ProcessorTime>) -> Option<String> {
    before.and_then(ProcessorTime::stolen_since).map(|percent| format!("{percent} %"))
}

/// Returns a section that says why a part could not be measured.
fn failed(part: &str, error: &str) -> Findings {
    let mut section = Section::new(&format!("Not measured: {part}"), "", &["what"]);
    section.skipped(part, error);
    Findings { sections: vec![section], goals: Vec::new() }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let dir = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(dir).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Options, PARTS};
    use clap::Parser as _;

    fn parse(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(["bench"].into_iter().chain(line.split_whitespace()))
    }

    #[test]
    fn parts_are_chosen_by_name() {
        let options = parse("--quick --only engine,decode").unwrap();
        assert!(options.quick);
        assert!(options.wants("engine"));
        assert!(!options.wants("size"));
        assert!(PARTS.iter().all(|part| parse("").unwrap().wants(part)));
        assert!(parse("--only engines").unwrap_err().to_string().contains("'engines'"));
        assert!(parse("--only").is_err());
        assert!(parse("--fast").is_err());
    }

    #[test]
    fn documents_are_written_only_on_request_and_never_of_a_quick_run() {
        assert!(!parse("--quick").unwrap().write_docs);
        assert!(parse("--write-docs").unwrap().write_docs);
        assert!(parse("--write-docs --only size").unwrap().write_docs);
        assert!(parse("--write-docs --quick").is_err());
    }
}
