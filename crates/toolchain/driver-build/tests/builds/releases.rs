//! Drivers on the releases of Microsoft's crates that no driver in this repository uses. The drivers of wdk-kit use 0.4 and 0.6.

use std::fs;

use object::Object as _;
use object::read::pe::PeFile64;

use crate::shapes::{CDYLIB, MODEL, PROFILE, builds, folder, repository, write};

/// Releases before 0.3 read no driver model from the manifest: wdk-sys passes its configuration on.
const EARLY: &str = "fn main() -> Result<(), Box<dyn std::error::Error>> {\n    \
    wdk_build::Config::from_env_auto()?.configure_binary_build();\n    Ok(())\n}\n";
const LATE: &str =
    "fn main() -> Result<(), wdk_build::ConfigError> {\n    wdk_build::configure_wdk_binary_build()\n}\n";

const SOURCE: &str = "#![no_std]\n\
    use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n\
    #[unsafe(export_name = \"DriverEntry\")]\n\
    pub unsafe extern \"system\" fn driver_entry(_: *mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {\n    \
    unsafe { i32::from(wdk_sys::ntddk::KeGetCurrentIrql()) }\n}\n";

/// Builds a driver on a release of `wdk-sys` and `wdk-build`, and expects that it imports from these modules.
fn expect_built(sys: &str, build: &str, script: &str, model: &str, modules: &[&str]) {
    let name = format!("release-{}", build.replace('.', "-"));
    let folder = folder(&name);
    let head = format!("[workspace]\n[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    let crates = format!("[dependencies]\nwdk-sys = {sys:?}\n[build-dependencies]\nwdk-build = {build:?}\n");
    write(folder.join("Cargo.toml"), &format!("{head}{model}{CDYLIB}{PROFILE}{crates}"));
    write(folder.join("build.rs"), script);
    write(folder.join("src/lib.rs"), SOURCE);
    let image = name.replace('-', "_");
    builds(&[], &folder, &[&image]);
    let bytes = fs::read(repository().join("target/driver/x64").join(image).with_extension("sys")).unwrap();
    let imports = PeFile64::parse(&*bytes).unwrap().imports().unwrap();
    let mut found: Vec<String> =
        imports.iter().map(|import| String::from_utf8_lossy(import.library()).into_owned()).collect();
    found.sort();
    found.dedup();
    assert_eq!(found, modules);
    fs::remove_dir_all(folder).unwrap();
}

// Bindings of 0.1 and 0.2 are always those of KMDF, so the driver starts in the framework's stub.

#[test]
fn a_driver_on_release_0_1() {
    expect_built("0.1", "0.1", EARLY, "", &["WDFLDR.SYS", "ntoskrnl.exe"]);
}

#[test]
fn a_driver_on_release_0_2() {
    expect_built("0.2", "0.2", EARLY, "", &["WDFLDR.SYS", "ntoskrnl.exe"]);
}

#[test]
fn a_driver_on_release_0_3() {
    expect_built("0.3", "0.3", LATE, MODEL, &["ntoskrnl.exe"]);
}

#[test]
fn a_driver_on_release_0_5() {
    expect_built("=0.5.1", "0.5", LATE, MODEL, &["ntoskrnl.exe"]);
}
