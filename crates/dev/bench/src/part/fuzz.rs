//! Fuzzes the sample driver, and a driver in C as a stranger's image: without its symbols.

use std::path::{Path, PathBuf};
use std::process::Command;

use nt_host::{Fuzz, NtHost};
use serde_json::{Value, json};

use super::sample::{NOT_BUILT, sample};
use super::{Findings, Settings};
use crate::report::{Bound, Cell, Goal, Origin, Section};
use crate::stats::{median, spread};
use crate::tools::{Whose, processor_time, required_number, run, worker};

const TEXT: &str = "\
One session of `nt-host fuzz` with one job and a fixed seed, so the requests are the same in each round. Requests are those that reach a \
device's dispatch routines or queues: control requests, reads and writes, not the opening and closing of devices. The rate is per second of \
processor time, of the fuzzer and of all processes that run the driver, from the reading of the image to the end of the session; `--jobs` \
multiplies it. The driver in C is `fuzz_bugs.c` of nt-host's tests without its bugs, compiled by clang with `-O2` and without a PDB.";
/// The sequences of requests of a session.
const EXECUTIONS: u64 = 200_000;

/// Measures both drivers. If one cannot be built, does not run or has findings, its row says so.
#[must_use]
pub fn fuzz(settings: &Settings) -> Findings {
    let mut findings = Findings::default();
    let mut section = Section::new("Fuzzing", TEXT, &["what", "requests", "requests per s"]);
    let rounds = if settings.quick { 1 } else { 5 };
    let executions = if settings.quick { EXECUTIONS / 10 } else { EXECUTIONS };
    let own = sample(settings).ok_or_else(|| String::from(NOT_BUILT));
    for (name, image, limit) in
        [("the sample driver", own, 50_000.0), ("a WDM driver in C without a PDB", build(settings), 5_000.0)]
    {
        let measured = image.and_then(|image| sessions(&image, executions, rounds));
        let rates = match measured {
            Ok((requests, rates)) => {
                let how = format!("{executions} sequences, {rounds} rounds, median{}", spread(&rates, 0, ""));
                section.row(vec![Cell::text(name), Cell::Number(requests, 0), Cell::number(median(&rates), 0)], how);
                rates
            }
            // The other driver still has its row.
            Err(error) => {
                section.skipped(name, &error);
                Vec::new()
            }
        };
        findings.goals.push(Goal {
            what: format!("fuzzing {name}, requests per s of processor time"),
            limit,
            bound: Bound::AtLeast,
            origin: Origin::Target,
            measured: median(&rates),
            everywhere: false,
            note: format!("{rounds} rounds, median"),
            why: String::from("Each allocation has pages of its own, and each device is opened and closed many times."),
        });
    }
    findings.sections.push(section);
    findings
}

/// Runs sessions. Returns the number of requests, which is the same in each of them, and the rates.
fn sessions(image: &Path, executions: u64, rounds: u32) -> Result<(f64, Vec<f64>), String> {
    let mut requests = 0.0;
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let output = worker(&["fuzz", &executions.to_string(), &image.display().to_string()])?;
        requests = required_number(&output, "requests")?;
        rates.push(requests / (required_number(&output, "ns")? / 1e9));
    }
    Ok((requests, rates))
}

/// Compiles and links the driver in C.
fn build(settings: &Settings) -> Result<PathBuf, String> {
    let kit = settings.root.join("target/driver/kit");
    let kit = wdk_kit::make(&kit).map_err(|error| error.to_string())?;
    let dir = settings.scratch("fuzz");
    std::fs::create_dir_all(&dir).map_err(|error| error.to_string())?;
    let object = dir.join("driver.obj");
    let image = dir.join("driver.sys");
    let source = settings.root.join("crates/machine/nt-host/drivers/c/fuzz_bugs.c");
    let mut compile = Command::new("clang");
    compile.args(["--target=x86_64-pc-windows-msvc", "-D_AMD64_", "-DBUG=0", "-c", "-O2", "-ffreestanding"]);
    compile.args(["-fasynchronous-unwind-tables", "-fms-extensions", "-mno-red-zone", "-Wno-multichar"]);
    for part in ["km", "shared"] {
        compile.arg("-I").arg(kit.join("Include").join(wdk_kit::VERSION).join(part));
    }
    run(compile.arg(source).arg("-o").arg(&object))?;
    let mut link = linker()?;
    link.args(["/driver", "/subsystem:native", "/nodefaultlib", "/dynamicbase", "/entry:DriverEntry", "ntoskrnl.lib"]);
    let libraries = kit.join("Lib").join(wdk_kit::VERSION).join("km/x64");
    link.arg(format!("/libpath:{}", libraries.display())).arg(format!("/out:{}", image.display())).arg(object);
    run(&mut link)?;
    Ok(image)
}

/// Returns Rust's own linker in the form for Windows, or that of the system.
fn linker() -> Result<Command, String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let root = run(Command::new(rustc).args(["--print", "sysroot"]))?;
    let own = Path::new(root.trim()).join("lib/rustlib/x86_64-unknown-linux-gnu/bin/rust-lld");
    if !own.exists() {
        return Ok(Command::new("lld-link"));
    }
    let mut linker = Command::new(own);
    linker.args(["-flavor", "link"]);
    Ok(linker)
}

/// Runs a session. Runs in a worker.
pub(crate) fn run_fuzz(executions: u64, image: &Path) -> Result<Value, String> {
    let session = Fuzz::new(NtHost::builder().driver(image)).seed(1).executions(executions);
    let harvest = session.run().map_err(|error| error.to_string())?;
    if !harvest.bugs.is_empty() {
        return Err(format!("the driver has findings: {harvest}"));
    }
    let time = processor_time(Whose::Own) + processor_time(Whose::Children);
    let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(json!({ "requests": harvest.progress.requests, "ns": nanoseconds }))
}
