//! Makes functions and resources of the manifest, and asks `wdk-build` for the flags of a driver.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    wdk_etw_manifest::compile("driver_sample.man")?;
    Ok(wdk_build::configure_wdk_binary_build()?)
}
