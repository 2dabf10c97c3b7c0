//! Reads a driver's workspace before a command builds something.

use driver_build::{Error, Host, Plan, ensure_tools, prepare};

use crate::arguments::Driver;
use crate::cache;

/// Reads the workspace of the drivers and makes what their build needs.
pub(crate) fn plan(host: &Host, driver: &Driver) -> Result<Plan, Error> {
    let options = driver.options()?;
    ensure_tools(host)?;
    cache::limit(host.cache())?;
    Ok(prepare(host, &options)?)
}
