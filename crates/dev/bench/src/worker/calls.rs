//! Loads the driver that calls a routine, in this process.

use std::fs;
use std::path::Path;

use nt_machine::{Config, DEBUG_OUTPUT, Findings, Guest, Guests, Loaded, Machine, plan};
use serde_json::{Value, json};

use crate::step::program::mark;

/// Loads the driver, which makes this many thousands of calls in its entry point, between two marks.
pub(super) fn calls(thousands: u64, image: &Path) -> Result<Value, String> {
    let file = fs::read(image).map_err(|error| format!("{}: {error}", image.display()))?;
    let layout = plan(&file).map_err(|error| format!("{}: {error}", image.display()))?;
    let text = |error: std::io::Error| error.to_string();
    let config = Config { name: format!("calls{thousands}"), ..Config::default() };
    let guests = Guests::new(Guest::new(format!("{}.sys", config.name), layout), Vec::new())?;
    let machine = Machine::start(config, Findings::new(DEBUG_OUTPUT).map_err(text)?).map_err(text)?;
    let mut loaded = None;
    machine
        .serve(|serve_one| {
            serve_one(&mut || {
                mark();
                loaded = Some(machine.load(&guests));
                mark();
            });
        })
        .map_err(text)?;
    match loaded.transpose().map_err(text)? {
        Some(Loaded::Entered(status)) if status.is_success() => Ok(json!({})),
        other => Err(format!("the driver was not loaded: {other:?}")),
    }
}
