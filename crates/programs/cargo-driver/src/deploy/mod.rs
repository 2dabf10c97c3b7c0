//! `cargo driver deploy`: exercises the driver on a Windows machine that is reached over SSH.
//!
//! `driver-exercise` has the steps and what a failure means. This module makes the package, copies it, shows the results, and
//! keeps track of what is on the machine: a folder in the user's home, `cargo-driver-deploy/NAME`, whose scripts remove everything.
//! It never changes the machine's boot settings.

mod remote;
mod ssh;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use command_line::{
    Activity, Deferred, Inputs, OutputDir, OutputPath, Outputs, OwnDir, error, escaped, exit, info, print,
};
use driver_build::setup::note;
use driver_build::{Error, Host, PackageOptions, ensure_tools, package, prepare};
use driver_exercise::{
    CLIENT, Evidence, Exercise, Lost, Options, Outcome, Plan, Progress, REQUESTS, Status, Step, StepResult,
};
use etw_etl::{Decoder, Exporter, Format, Kind, Reader};

use crate::arguments::Deploy;
use remote::Remote;
use ssh::Ssh;

/// Exercises the driver.
pub(crate) fn deploy(host: &Host, line: &Deploy) -> Result<(), Error> {
    let manifest = line.driver.manifest()?;
    let (driver, plan) = Plan::from_manifest(&manifest).map_err(Error::Usage)?;
    let ssh = Ssh::new(&line.host, line.ssh_config.as_deref(), line.timeout)?;
    if line.remove {
        return remove(ssh, &driver, &line.host);
    }
    let made = Made::find(host, line, &plan)?;
    let inputs = Inputs::new().file(&manifest).files(&line.ssh_config).files(&made.client).files_in(&made.package, &[]);
    let out = Outputs::new(inputs).dir(&out_path(host, line)?);
    out.create()?;
    let files = stage(&made, &plan, &out)?;
    let expected = expected(line, files.path(), &driver, &plan, &out);

    let interrupts = Deferred::begin();
    let mut remote = Remote::new(ssh, &driver, &interrupts);
    let connected = remote.connect().map_err(|lost| unreachable(&line.host, &lost));
    if let Err(reason) = connected.and_then(|()| Ok(remote.upload(files.path())?)) {
        if !interrupts.is_interrupted() {
            return Err(reason);
        }
        error(&reason.to_string());
        return Err(Error::Reported(exit::INTERRUPTED));
    }
    let options = Options {
        keep: line.keep,
        verifier: line.verifier,
        restart: line.reboot.then_some(line.timeout),
        record: line.record,
        whole_logs: line.whole_logs,
        out: out.clone(),
    };
    let mut activity = None;
    let mut report = |progress: Progress<'_>| match progress {
        Progress::Begun(step) => {
            if step == Step::Restart {
                let host = &line.host;
                let limit = line.timeout.as_secs();
                info(&format!("{:<12} waiting until {host} has restarted, at most {limit} s", step.as_str()));
            }
            activity = Some(Activity::begin(step.as_str()));
        }
        Progress::Ended(result) => {
            drop(activity.take());
            info(&shown(result));
        }
    };
    let mut outcome = Exercise::new(&mut remote, &driver, &plan, &options, &mut report).run();
    if outcome.left.is_empty() && !line.keep {
        outcome.left.extend(remote.delete());
    }
    let evidence = results(line, &driver, &plan, outcome, expected.as_deref(), &out)?;
    conclude(line, &evidence, &driver, interrupts.is_interrupted())
}

/// Removes what an earlier run left, and the folder.
fn remove(ssh: Ssh, driver: &str, host: &str) -> Result<(), Error> {
    let interrupts = Deferred::begin();
    let mut remote = Remote::new(ssh, driver, &interrupts);
    remote.connect().map_err(|lost| unreachable(host, &lost))?;
    if remote.remove_earlier()? {
        note(&format!("removed {driver} from {host}"));
    } else {
        note(&format!("{host} has no folder of an earlier `cargo driver deploy` of {driver}; nothing was changed"));
    }
    Ok(())
}

fn unreachable(host: &str, lost: &Lost) -> Error {
    Error::Failed(format!("{host} cannot be reached: {lost}; nothing was changed there"))
}

/// The folder for the results.
fn out_path(host: &Host, line: &Deploy) -> Result<OutputPath, Error> {
    if let Some(out) = &line.out {
        return Ok(out.clone());
    }
    let target = prepare(host, &line.driver.options()?)?.workspace.target;
    Ok(target.join("deploy").join(line.host.replace(['@', ':'], "-")).into())
}

/// What the machine gets, given or made.
struct Made {
    package: PathBuf,
    /// The program that sends the requests, if there are any.
    client: Option<PathBuf>,
}

impl Made {
    fn find(host: &Host, line: &Deploy, plan: &Plan) -> Result<Self, Error> {
        let options = line.driver.options()?;
        let package = line.package_dir.clone().map_or_else(|| make_package(host, &options, plan), Ok)?;
        if !package.join("package.psd1").is_file() {
            let text = format!("{} is not a driver package: it has no package.psd1", package.display());
            return Err(Error::Usage(text));
        }
        let client = || line.client.clone().map_or_else(|| build_client(host), Ok);
        let client = plan.requests().map(|_| client()).transpose()?;
        Ok(Self { package, client })
    }
}

/// Gathers everything that the machine gets in a folder of the results. What an earlier deployment gathered there is removed.
fn stage(made: &Made, plan: &Plan, out: &OutputDir) -> Result<OwnDir, Error> {
    let failed = |reason: io::Error| Error::Usage(format!("{}: {reason}", made.package.display()));
    let staged = out.dir("package").into_own()?;
    staged.empty()?;
    for entry in fs::read_dir(&made.package).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_file() {
            staged.file(entry.file_name()).copy(&entry.path())?;
        }
    }
    if let Some((requests, client)) = plan.requests().zip(made.client.as_ref()) {
        staged.file(CLIENT).copy(client)?;
        let text = serde_json::to_string(&requests).map_err(|error| Error::Failed(error.to_string()))?;
        staged.file(REQUESTS).write(text)?;
    }
    Ok(staged)
}

/// Makes the package and returns its folder.
fn make_package(host: &Host, options: &driver_build::Options, plan: &Plan) -> Result<PathBuf, Error> {
    ensure_tools(host)?;
    let prepared = prepare(host, options)?;
    let target = &prepared.workspace.target;
    let provider = Some(plan.provider.clone()).filter(|name| !name.is_empty());
    let out = target.join("package");
    let wanted =
        PackageOptions { out: out.clone(), keys: target.join("signing"), provider, ..PackageOptions::default() };
    package(host, &prepared, &wanted)?;
    Ok(out.join(options.arch.name()))
}

/// Builds `driver-client` for Windows on x64, with Debian's MinGW. Windows on ARM64 runs it, too.
fn build_client(host: &Host) -> Result<PathBuf, Error> {
    const GNU: &str = "x86_64-pc-windows-gnu";
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driver-client");
    let has_linker = host.tool("x86_64-w64-mingw32-gcc").args(["--version"]).starts();
    if !has_linker || !source.is_dir() {
        return Err(Error::Missing(format!(
            "the program driver-client.exe, which sends the requests, cannot be built here: install MinGW \
             (sudo apt-get install gcc-mingw-w64-x86-64; rustup target add {GNU}), or build it on Windows and name it with --client FILE"
        )));
    }
    let root = host.cache().join("driver-client");
    let install = ["install", "--quiet", "--locked", "--force", "--no-track", "--target", GNU, "--path"];
    host.cargo().args(install).args([&source]).args(["--root"]).args([&root]).run()?;
    Ok(root.join("bin").join(CLIENT))
}

/// Runs the same steps in nt-host. Without its trace there is nothing to compare with, but the exercise goes on.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn expected(line: &Deploy, files: &Path, driver: &str, plan: &Plan, out: &OutputDir) -> Option<PathBuf> {
    if !line.driver.is_for_x64() {
        note("the trace is not compared: nt-host runs drivers for x64 only");
        return None;
    }
    let run = |etl: command_line::Output| {
        let image = files.join(format!("{driver}.sys"));
        driver_exercise::expect::run(&image, plan, &etl).map(|_| etl.as_ref().to_owned())
    };
    match out.file("expected.etl").map_err(|error| error.to_string()).and_then(run) {
        Ok(etl) => Some(etl),
        Err(reason) => {
            note(&format!("the trace is not compared: nt-host: {reason}"));
            None
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn expected(_line: &Deploy, _files: &Path, _driver: &str, _plan: &Plan, _out: &OutputDir) -> Option<PathBuf> {
    note("the trace is not compared: nt-host runs on Linux on x86-64 only");
    None
}

/// Shows the trace, compares it, and writes the evidence.
fn results(
    line: &Deploy,
    driver: &str,
    plan: &Plan,
    outcome: Outcome,
    expected: Option<&Path>,
    out: &OutputDir,
) -> Result<Evidence, Error> {
    let mut comparison = None;
    if let Some(trace) = &outcome.trace {
        if let Err(error) = show(trace) {
            note(&format!("{}: {error}", trace.display()));
        }
        if let Some(expected) = expected {
            match driver_exercise::trace::compared(trace, expected, plan) {
                Ok(compared) => comparison = Some(compared),
                Err(reason) => note(&format!("the trace is not compared: {reason}")),
            }
        }
    }
    let evidence = Evidence::new(driver, &line.host, outcome, comparison);
    evidence.write(&out.file("evidence.json")?)?;
    Ok(evidence)
}

/// Prints the events, as `cargo driver run` does.
fn show(etl: &Path) -> io::Result<()> {
    let mut reader = Reader::open(etl).map_err(io::Error::other)?;
    let mut schemas = Decoder::from_reader(&reader, None);
    let mut exporter = Exporter::new(Vec::new(), Format::Table)?;
    while let Some(event) = reader.next_ref() {
        if !matches!(event.kind(), Kind::System | Kind::Mof) {
            let decoded = schemas.decode(&event);
            exporter.decoded(&event, &decoded)?;
        }
    }
    let text = exporter.finish()?;
    print(&String::from_utf8_lossy(&text));
    Ok(())
}

/// Says how it ended. Returns an error with the exit code unless everything is well.
fn conclude(line: &Deploy, evidence: &Evidence, driver: &str, is_interrupted: bool) -> Result<(), Error> {
    match &evidence.comparison {
        Some(compared) if compared.differences.is_empty() => {
            info(&format!("the trace is that of nt-host: {} events", compared.common));
        }
        Some(compared) => {
            compared.differences.iter().for_each(|line| info(&escaped(line)));
            info(&format!("the trace differs from that of nt-host: {} differences", compared.differences.len()));
        }
        None => {}
    }
    if line.keep && evidence.steps.iter().all(|step| step.status != Status::Failed) {
        note(&format!("{driver} stays installed on {0}; to remove it: cargo driver deploy {0} --remove", line.host));
    } else if !evidence.left.is_empty() {
        let left = evidence.left.join("; ");
        return Err(Error::Failed(format!(
            "left on {0}: {left}\nto remove it: cargo driver deploy {0} --remove\nthe next `cargo driver deploy {0}` removes it, too",
            line.host
        )));
    }
    if is_interrupted {
        return Err(Error::Reported(exit::INTERRUPTED));
    }
    let failed = evidence.steps.iter().find(|step| step.status == Status::Failed);
    if let Some(failed) = failed {
        return Err(Error::Failed(format!(
            "the step `{}` failed; {} is as it was before",
            failed.step.as_str(),
            line.host
        )));
    }
    let is_same = evidence.comparison.as_ref().is_none_or(|compared| compared.differences.is_empty());
    if is_same { Ok(()) } else { Err(Error::Reported(exit::FINDINGS)) }
}

/// A step's result in a line.
fn shown(result: &StepResult) -> String {
    let status = match result.status {
        Status::Passed => "passed",
        Status::Failed => "FAILED",
        Status::Skipped => "skipped",
    };
    let reason = if result.reason.is_empty() { String::new() } else { format!(": {}", result.reason) };
    format!("{:<12} {status}{}", result.step.as_str(), escaped(&reason))
}
