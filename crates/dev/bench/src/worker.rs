//! Measurements that need their own process. The bench starts it, and it prints one line of JSON.

mod calls;
mod decode;
mod dotnet;
mod echo;
mod engine;
mod kernel;

use std::path::PathBuf;
use std::time::Instant;

use serde_json::Value;

use crate::part::{run_devices, run_fuzz, run_requests, run_threads};
use crate::step::program::mark;

/// Runs a worker.
///
/// # Errors
///
/// Returns what is wrong with the arguments, or what failed.
pub fn run(words: &[String]) -> Result<Value, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["engine", events, threads, file] => engine::write(number(events)?, number(threads)?, &PathBuf::from(file)),
        ["engine-stepped", events, others, file] => {
            engine::stepped(number(events)?, number(others)?, &PathBuf::from(file))
        }
        ["generate", bytes, file] => engine::generate(number(bytes)?, &PathBuf::from(file)),
        ["decode", file] => decode::decode(&PathBuf::from(file)),
        ["clock", reads] => Ok(clock(number(reads)?)),
        ["calls", thousands, image] => calls::calls(number(thousands)?, &PathBuf::from(image)),
        ["echo", step, image] => echo::echo(step, &PathBuf::from(image)),
        ["devices", count, image] => run_devices(number(count)?, &PathBuf::from(image)),
        ["fuzz", executions, image] => run_fuzz(number(executions)?, &PathBuf::from(image)),
        ["requests", count, image] => run_requests(number(count)?, &PathBuf::from(image)),
        ["threads", count, image] => run_threads(number(count)?, &PathBuf::from(image)),
        ["dotnet", bytes, file] => dotnet::generate(number(bytes)?, &PathBuf::from(file)),
        ["kernel", bytes, file] => kernel::generate(number(bytes)?, &PathBuf::from(file)),
        ["kinds", file] => decode::kinds(&PathBuf::from(file)),
        ["name", file] => decode::name(&PathBuf::from(file)),
        ["name-owned", file] => decode::name_owned(&PathBuf::from(file)),
        ["visit", file] => decode::visit(&PathBuf::from(file)),
        _ => Err(format!("unknown worker command: {}", words.join(" "))),
    }
}

/// Reads the clock this often between two marks.
fn clock(reads: u64) -> Value {
    mark();
    for _ in 0..reads {
        std::hint::black_box(Instant::now());
    }
    mark();
    Value::Null
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is not a number"))
}
