//! Sets the linker arguments of a driver with `wdk-build`.

fn main() -> Result<(), wdk_build::ConfigError> {
    wdk_build::configure_wdk_binary_build()
}
