//! Runs an echo driver in this process, up to one of its callbacks, which is between two marks.

use std::fs;
use std::path::Path;
use std::thread::Builder;

use etw_types::NtStatus;
use nt_machine::{
    Config, DEBUG_OUTPUT, FileId, Findings, Guest, Guests, IoRequest, Loaded, Machine, RequestKind, plan,
};
use serde_json::{Value, json};

use crate::step::program::mark_thread;

/// The driver's timer ticks at least once in this time: 10 s, in units of 100 ns.
const TICK: u64 = 100_000_000;
/// What is written and read.
const DATA: [u8; 64] = [0x5A; 64];

/// Runs the driver until the marks. The step is `write`, `read` or `tick`, which completes a write.
pub(super) fn echo(step: &str, image: &Path) -> Result<Value, String> {
    let text = |error: std::io::Error| error.to_string();
    let file = fs::read(image).map_err(|error| format!("{}: {error}", image.display()))?;
    let layout = plan(&file).map_err(|error| format!("{}: {error}", image.display()))?;
    let config = Config { name: String::from("echo"), ..Config::default() };
    let guests = Guests::new(Guest::new("echo.sys", layout), Vec::new())?;
    let machine = Machine::start(config, Findings::new(DEBUG_OUTPUT).map_err(text)?).map_err(text)?;
    // SAFETY: the call only returns a number.
    let this = unsafe { libc::gettid() };
    // The tracer steps this thread: it serves requests, or it runs the timer's callback.
    if step == "tick" {
        let serve = move || {
            if let Err(error) = serve(machine, &guests, "tick", this) {
                eprintln!("{error}");
                std::process::exit(1);
            }
        };
        Builder::new().spawn(serve).map_err(text)?;
        machine.run_deferred();
    } else {
        Builder::new().spawn(move || machine.run_deferred()).map_err(text)?;
        serve(machine, &guests, step, this)?;
    }
    Ok(json!({}))
}

/// Uses the driver, and raises the marks on a thread.
fn serve(machine: Machine, guests: &Guests, step: &str, thread: i32) -> Result<(), String> {
    let mut result = Ok(());
    machine
        .serve(|serve_one| {
            serve_one(&mut || result = run(machine, guests, step, thread));
        })
        .map_err(|error| error.to_string())?;
    result
}

fn run(machine: Machine, guests: &Guests, step: &str, thread: i32) -> Result<(), String> {
    match machine.load(guests).map_err(|error| error.to_string())? {
        Loaded::Entered(NtStatus::Success) => {}
        other => return Err(format!("the driver was not loaded: {other:?}")),
    }
    let device = machine.add_device().map_err(|status| status.to_string())?;
    let file = machine.open(device).map_err(|status| status.to_string())?;
    // A request of each kind, so that nothing happens for the first time between the marks.
    for kind in [RequestKind::WRITE, RequestKind::READ] {
        let number = begin(machine, file, kind)?;
        machine.advance(TICK);
        machine.settle();
        let answer = machine.finish(number).unwrap_or_default();
        let expected = if kind == RequestKind::READ { DATA.as_slice() } else { &[] };
        if answer.status != NtStatus::Success || answer.information != DATA.len() as u64 || answer.output != expected {
            return Err(format!("the driver does not echo: {answer:?}"));
        }
    }
    let image = machine.driver_addresses().ok_or("the driver is not loaded")?;
    println!("{}", json!({ "start": image.start, "end": image.end }));
    match step {
        "write" | "read" => {
            let kind = if step == "write" { RequestKind::WRITE } else { RequestKind::READ };
            mark_thread(thread);
            begin(machine, file, kind)?;
        }
        "tick" => {
            begin(machine, file, RequestKind::WRITE)?;
            mark_thread(thread);
            machine.advance(TICK);
            machine.settle();
        }
        other => return Err(format!("unknown step `{other}`")),
    }
    mark_thread(thread);
    Ok(())
}

fn begin(machine: Machine, file: FileId, kind: RequestKind) -> Result<u64, String> {
    let is_write = kind == RequestKind::WRITE;
    let input = if is_write { DATA.to_vec() } else { Vec::new() };
    let output = if is_write { 0 } else { u32::try_from(DATA.len()).unwrap_or_default() };
    let request = IoRequest { kind, code: 0, input, output, ..IoRequest::default() };
    machine.begin_on(file, &request).ok_or_else(|| String::from("the device is not open"))
}
