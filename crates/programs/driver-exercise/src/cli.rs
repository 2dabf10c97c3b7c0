//! The command line.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use command_line::units::duration;
use command_line::{
    Inputs, Output, OutputError, OutputPath, Outputs, VERSION, end, end_listing, error, exit, info, print,
};
use driver_exercise::{Evidence, Exercise, Local, Options, Plan, Progress, Status, StepResult, classes, page, trace};

/// Exercises a driver package on this Windows machine, and keeps what happened as evidence.
#[derive(Parser)]
#[command(name = "driver-exercise", version = VERSION, max_term_width = 100, after_help = exit::HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install a package, record, send requests, remove, uninstall, compare; write evidence.json
    ///
    /// Use a virtual machine: the machine trusts the package's test certificate until the last step.
    Run(Run),
    /// Run the same steps in nt-host, and write the expected trace
    Expect(Expect),
    /// Query every information class of session control, and print the statuses
    Classes,
    /// Write evidence as a page and as a row of the README's table
    Page(Page),
}

#[derive(Args)]
struct Run {
    /// The folder of the package
    #[arg(long, value_name = "DIR")]
    package: PathBuf,
    /// The driver's Cargo.toml, whose [package.metadata.exercise] names the provider and the requests
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// The program driver-client for this machine
    #[arg(long, value_name = "FILE")]
    client: Option<PathBuf>,
    /// The expected trace, which `driver-exercise expect` wrote
    #[arg(long, value_name = "FILE")]
    expected: Option<PathBuf>,
    /// The folder for the results
    #[arg(long, value_name = "DIR")]
    out: OutputPath,
    /// What to call this machine in the evidence
    #[arg(long, default_value = "this machine")]
    place: String,
    /// How long to record after the last request
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration)]
    record: Duration,
    /// Switch Driver Verifier on for the driver, as far as that needs no restart
    #[arg(long)]
    verifier: bool,
    /// Also collect whole logs, which name other devices and programs of the machine
    #[arg(long)]
    whole_logs: bool,
    /// Also query every information class of session control
    #[arg(long)]
    classes: bool,
}

#[derive(Args)]
struct Expect {
    /// The driver's image
    #[arg(value_name = "FILE.sys")]
    image: PathBuf,
    /// The driver's Cargo.toml
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    manifest_path: PathBuf,
    /// The trace to write
    #[arg(long, value_name = "FILE")]
    etl: OutputPath,
}

#[derive(Args)]
struct Page {
    /// The files with evidence; none for a page that says so
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE")]
    out: OutputPath,
    /// The page with the table whose row is replaced
    #[arg(long, value_name = "FILE")]
    readme: Option<OutputPath>,
}

/// A message, and the exit code.
type Failure = (u8, String);

/// Runs a command.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let result = match &arguments.command {
        Command::Run(run) => exercise(run),
        Command::Expect(expect) => expected(expect),
        Command::Classes => print_classes(),
        Command::Page(page) => write_page(page),
    };
    match result {
        // The reader of a listing may take as much as it wants.
        Ok(code) if matches!(arguments.command, Command::Classes) => end_listing(code),
        Ok(code) => end(code),
        Err((code, text)) => {
            error(&text);
            end(code)
        }
    }
}

fn usage(text: String) -> Failure {
    (exit::USAGE, text)
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn refused(error: OutputError) -> Failure {
    usage(error.to_string())
}

fn at(path: &Path, error: &dyn Display) -> Failure {
    usage(format!("{}: {error}", path.display()))
}

fn exercise(line: &Run) -> Result<u8, Failure> {
    let (driver, plan) = Plan::from_manifest(&line.manifest_path).map_err(usage)?;
    let inputs = Inputs::new().file(&line.manifest_path).files(&line.client).files(&line.expected);
    let package = Outputs::new(inputs.clone()).dir(&line.package.clone().into());
    let out = Outputs::new(inputs.files_in(&line.package, &[])).dir(&line.out);
    out.create().map_err(refused)?;
    let mut target = Local::new(&package, plan.requests().as_ref(), line.client.as_deref()).map_err(usage)?;
    let options = Options {
        verifier: line.verifier,
        record: line.record,
        whole_logs: line.whole_logs,
        ..Options::new(out.clone())
    };
    let mut report = |progress: Progress<'_>| {
        if let Progress::Ended(result) = progress {
            info(&shown(result));
        }
    };
    let outcome = Exercise::new(&mut target, &driver, &plan, &options, &mut report).run();
    let mut problems = Vec::new();
    let both = outcome.trace.as_deref().zip(line.expected.as_deref());
    let comparison = both.map(|(own, expected)| trace::compared(own, expected, &plan)).transpose();
    let comparison = comparison.unwrap_or_else(|text| {
        problems.push(text);
        None
    });
    let mut evidence = Evidence::new(&driver, &line.place, outcome, comparison);
    if line.classes {
        match classes::query(&etw_session::Machine::local()) {
            Ok(statuses) => evidence.classes = statuses,
            Err(error) => problems.push(format!("the classes of session control: {error}")),
        }
    }
    let file = out.file("evidence.json").map_err(refused)?;
    evidence.write(&file).map_err(refused)?;
    Ok(conclude(&evidence, &problems, file.as_ref()))
}

/// Prints what is wrong, and returns the exit code.
fn conclude(evidence: &Evidence, problems: &[String], file: &Path) -> u8 {
    let differences = evidence.comparison.as_ref().map(|compared| compared.differences.as_slice()).unwrap_or_default();
    for line in differences {
        info(line);
    }
    for what in &evidence.left {
        error(&format!("left on the machine: {what}"));
    }
    for text in problems {
        error(text);
    }
    info(&format!("evidence: {}", file.display()));
    let has_failed = evidence.steps.iter().any(|step| step.status == Status::Failed);
    if has_failed || !problems.is_empty() || !evidence.left.is_empty() {
        exit::FAILED
    } else if differences.is_empty() {
        exit::SUCCESS
    } else {
        exit::FINDINGS
    }
}

/// A step's result in a line.
fn shown(result: &StepResult) -> String {
    let status = match result.status {
        Status::Passed => "passed",
        Status::Failed => "FAILED",
        Status::Skipped => "skipped",
    };
    let reason = if result.reason.is_empty() { String::new() } else { format!(": {}", result.reason) };
    format!("{:<12} {status}{reason}", result.step.as_str())
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn expected(line: &Expect) -> Result<u8, Failure> {
    let inputs = Inputs::new().file(&line.image).file(&line.manifest_path);
    let etl = Outputs::new(inputs).file("--etl", &line.etl).map_err(refused)?;
    let (_, plan) = Plan::from_manifest(&line.manifest_path).map_err(usage)?;
    let replies = driver_exercise::expect::run(&line.image, &plan, &etl).map_err(|text| (exit::FAILED, text))?;
    for reply in replies {
        info(&format!("{}  {}", reply.request, reply.status));
    }
    Ok(exit::SUCCESS)
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn expected(_line: &Expect) -> Result<u8, Failure> {
    Err((exit::UNSUPPORTED, "nt-host runs on Linux on x86-64 only".to_owned()))
}

fn print_classes() -> Result<u8, Failure> {
    let statuses = classes::query(&etw_session::Machine::local()).map_err(|error| (exit::FAILED, error.to_string()))?;
    for status in statuses {
        print(&format!("{:>2}  {:<28} {:<40} {}\n", status.class, status.name, status.documented, status.status));
    }
    Ok(exit::SUCCESS)
}

fn write_page(line: &Page) -> Result<u8, Failure> {
    let mut outputs = Outputs::new(Inputs::new().files(&line.files));
    let out = outputs.file("--out", &line.out).map_err(refused)?;
    let readme = line.readme.as_ref().map(|readme| outputs.file("--readme", readme)).transpose().map_err(refused)?;
    let all: Vec<Evidence> =
        line.files.iter().map(|path| Evidence::read(path)).collect::<Result<_, _>>().map_err(usage)?;
    // The README is read before anything is written: without its row, neither file changes.
    let readme = readme
        .map(|readme| {
            let text = with_row(&readme, &page::row(&all))?;
            Ok((readme, text))
        })
        .transpose()?;
    out.write(page::page(&all)).map_err(refused)?;
    if let Some((readme, text)) = readme {
        readme.write(text).map_err(refused)?;
    }
    Ok(exit::SUCCESS)
}

/// Returns the text of a README with the row of the evidence replaced.
fn with_row(readme: &Output, row: &str) -> Result<String, Failure> {
    let text = fs::read_to_string(readme).map_err(|error| at(readme.as_ref(), &error))?;
    let mut replaced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_row = line.starts_with(page::ROW);
        replaced |= is_row;
        lines.push(if is_row { row } else { line });
    }
    if !replaced {
        return Err(at(readme.as_ref(), &format!("no line begins with `{}`", page::ROW)));
    }
    Ok(lines.join("\n") + "\n")
}
