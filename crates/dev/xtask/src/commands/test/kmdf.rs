//! Checks `wdk-kmdf` for the oldest framework that it supports, and its public API.

use std::fs;

use super::public_api::{Review, review};
use crate::commands::lint::KMDF_DRIVERS_MANIFEST;
use crate::context::Context;
use crate::steps::{Outcome, Step};
use driver_build::{Error, Options, prepare};

pub(super) const STEP: Step =
    Step::new("kmdf", "wdk-kmdf with KMDF 1.15, and no raw types in its safe functions", check);

/// The minor version of the oldest framework that `wdk-kmdf` supports. The drivers of this repository are built for 1.33.
const OLDEST: u8 = 15;
const PACKAGE: &str = "wdk-kmdf";
/// The crate with the framework's own types.
const RAW: &str = "wdk_sys";
/// Far fewer functions mean that the review does not understand the file.
const FEWEST_FUNCTIONS: usize = 150;

fn check(context: &Context) -> Result<Outcome, Error> {
    if context.windows().is_err() {
        return Ok(Outcome::Skipped("no toolchain for Windows".into()));
    }
    let plan = prepare(context, &Options::new(context.path(KMDF_DRIVERS_MANIFEST)))?;
    driver_build::check(context, &plan.clone().with_framework(OLDEST), "check", &[])?;
    let file = driver_build::document(context, &plan, PACKAGE)?;
    let unreadable = |reason: &str| Error::Failed(format!("{}: {reason}", file.display()));
    let text = fs::read(&file).map_err(|error| unreadable(&error.to_string()))?;
    let json = serde_json::from_slice(&text).map_err(|error| unreadable(&error.to_string()))?;
    let Review { functions, leaks } = review(&json, RAW).ok_or_else(|| unreadable("the format is unknown"))?;
    if functions < FEWEST_FUNCTIONS {
        return Err(unreadable(&format!("it has only {functions} functions")));
    }
    if leaks.is_empty() {
        return Ok(Outcome::Passed);
    }
    Err(Error::Failed(format!(
        "public items of {PACKAGE} with raw pointers or types of {RAW}, which only `raw` and unsafe functions may have:\n  {}",
        leaks.join("\n  ")
    )))
}
