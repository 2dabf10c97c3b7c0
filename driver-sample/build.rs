//! Generates functions and resources from the manifest, and sets the linker options of a driver with `wdk-build`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    etw_manifest::codegen::compile("driver_sample.man")?;
    Ok(wdk_build::configure_wdk_binary_build()?)
}
