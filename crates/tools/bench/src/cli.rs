//! The command: runs the parts, prints and writes the report.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use nt_host::cli::print;

use crate::part::{Findings, Images, Settings, decode, engine, facades, host, instructions, setup, size};
use crate::report::{Report, Section, chart, from_json, markdown, text, to_json};
use crate::{machine, worker};

/// What is written, below the repository.
const REPORT: &str = "target/bench/report.json";
const DOCUMENT: &str = "docs/performance.md";
const CHART: &str = "docs/images/performance.svg";

const HELP: &str = "\
Usage: bench [--quick] [--check] [--only PART,...] [--render FILE]

  --quick        fewer repetitions; leaves out what takes minutes
  --check        fails where a goal is missed that no machine decides
  --only PARTS   of: instructions facades size engine decode host setup; the
                 document and its chart are then left as they are
  --render FILE  measures nothing; writes document and chart of a report
";

/// The parts by name.
const PARTS: [&str; 7] = ["instructions", "facades", "size", "engine", "decode", "host", "setup"];

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    quick: bool,
    check: bool,
    only: Option<Vec<String>>,
    render: Option<PathBuf>,
    help: bool,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--quick" => options.quick = true,
                "--check" => options.check = true,
                "--help" | "-h" => options.help = true,
                "--only" => {
                    let names = words.next().ok_or("`--only` needs names of parts")?;
                    let names: Vec<String> = names.split(',').map(String::from).collect();
                    if let Some(unknown) = names.iter().find(|name| !PARTS.contains(&name.as_str())) {
                        return Err(format!("`{unknown}` is none of: {}", PARTS.join(" ")));
                    }
                    options.only = Some(names);
                }
                "--render" => options.render = Some(words.next().ok_or("`--render` needs a file")?.into()),
                other => return Err(format!("unknown word `{other}`")),
            }
        }
        Ok(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == part))
    }
}

/// Runs the command; answers 0, 1 where something failed or a goal was missed under `--check`, 2 for wrong usage.
#[must_use]
pub fn main(words: &[String]) -> ExitCode {
    if let Some((first, rest)) = words.split_first()
        && first == worker::WORD
    {
        return match worker::run(rest) {
            Ok(answer) => {
                println!("{answer}");
                ExitCode::SUCCESS
            }
            Err(error) => fail(&error, 1),
        };
    }
    let options = match Options::parse(words) {
        Ok(options) if options.help => {
            print(HELP);
            return ExitCode::SUCCESS;
        }
        Ok(options) => options,
        Err(error) => return fail(&format!("{error}\n{HELP}"), 2),
    };
    match run(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => fail(&error, 1),
    }
}

fn fail(error: &str, code: u8) -> ExitCode {
    eprintln!("{}", error.trim_end());
    ExitCode::from(code)
}

/// Answers whether all is well.
fn run(options: &Options) -> Result<bool, String> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.ancestors().nth(3).unwrap_or(here).to_path_buf();
    if let Some(file) = &options.render {
        let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let value = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
        publish(&root, &from_json(&value)?)?;
        return Ok(true);
    }
    let settings = Settings { root: root.clone(), quick: options.quick };
    let report = measure(&settings, options);
    print(&(text(&report) + "\n"));
    let json = serde_json::to_string_pretty(&to_json(&report)).map_err(|error| error.to_string())?;
    write(&root.join(REPORT), &(json + "\n"))?;
    print(&format!("the report is in {REPORT}\n"));
    if options.only.is_none() {
        publish(&root, &report)?;
        print(&format!("{DOCUMENT} and {CHART} are made from it\n"));
    }
    let failures = if options.check { report.failures() } else { Vec::new() };
    for goal in &failures {
        eprintln!("missed: {}", goal.what);
    }
    Ok(failures.is_empty())
}

fn measure(settings: &Settings, options: &Options) -> Report {
    let mut report = Report { quick: settings.quick, machine: machine::describe(), ..Report::default() };
    let images = if ["instructions", "facades", "size"].into_iter().any(|part| options.wants(part)) {
        Images::build(settings)
    } else {
        Err(String::from("not asked for"))
    };
    let images = || images.as_ref().map_err(Clone::clone);
    for part in PARTS.into_iter().filter(|part| options.wants(part)) {
        let started = Instant::now();
        eprintln!("measuring: {part}");
        let findings = match part {
            "instructions" => images().and_then(instructions),
            "facades" => images().and_then(facades),
            "size" => images().and_then(|images| size(settings, images)),
            "engine" => engine(settings),
            "decode" => decode(settings),
            "host" => host(settings),
            _ => setup(settings),
        };
        let findings = findings.unwrap_or_else(|error| failed(part, &error));
        eprintln!("  took {:.1} s", started.elapsed().as_secs_f64());
        report.sections.extend(findings.sections);
        report.goals.extend(findings.goals);
    }
    report
}

/// A part that could not be measured is a row that says why.
fn failed(part: &str, error: &str) -> Findings {
    let mut section = Section::new(part, &format!("Not measured: {part}"), "", &["what"]);
    section.skipped(part, error);
    Findings { sections: vec![section], goals: Vec::new() }
}

/// Writes what readers of the repository see.
fn publish(root: &Path, report: &Report) -> Result<(), String> {
    write(&root.join(DOCUMENT), &markdown(report))?;
    write(&root.join(CHART), &chart(report))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{HELP, Options, PARTS};

    fn parse(line: &str) -> Result<Options, String> {
        Options::parse(&line.split_whitespace().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn parts_are_chosen_by_name() {
        let options = parse("--quick --only engine,decode").unwrap();
        assert!(options.quick && options.wants("engine") && !options.wants("size"));
        assert!(PARTS.iter().all(|part| parse("").unwrap().wants(part)));
        assert!(parse("--only engines").unwrap_err().contains("`engines`"));
        assert!(parse("--only").is_err() && parse("--fast").is_err());
    }

    #[test]
    fn the_help_names_every_part() {
        assert!(PARTS.iter().all(|part| HELP.contains(part)));
    }
}
