//! Sets the linker arguments of a driver with `wdk-build`, and chooses the case of `refused`.

fn main() -> Result<(), wdk_build::ConfigError> {
    println!("cargo::rerun-if-env-changed=WDK_KMDF_CASE");
    println!("cargo::rerun-if-changed=../build.rs");
    if let Ok(case) = std::env::var("WDK_KMDF_CASE") {
        println!("cargo::rustc-cfg=case=\"{case}\"");
    }
    wdk_build::configure_wdk_binary_build()
}
