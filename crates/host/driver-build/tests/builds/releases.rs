//! A driver on the first release of Microsoft's crates. The drivers of wdk-kit use 0.4 and 0.6.

use std::fs;

use object::Object as _;
use object::read::pe::PeFile64;

use crate::shapes::{CDYLIB, PROFILE, builds, folder, repository, write};

/// Releases before 0.3 read no driver model from the manifest: wdk-sys passes its configuration on.
const BUILD: &str = "fn main() -> Result<(), Box<dyn std::error::Error>> {\n    \
    wdk_build::Config::from_env_auto()?.configure_binary_build();\n    Ok(())\n}\n";

const SOURCE: &str = "#![no_std]\n\
    use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};\n\
    #[panic_handler]\nfn panic(_: &core::panic::PanicInfo<'_>) -> ! { loop {} }\n\
    #[unsafe(export_name = \"DriverEntry\")]\n\
    pub unsafe extern \"system\" fn driver_entry(_: *mut DRIVER_OBJECT, _: PCUNICODE_STRING) -> NTSTATUS {\n    \
    unsafe { i32::from(wdk_sys::ntddk::KeGetCurrentIrql()) }\n}\n";

#[test]
fn a_driver_on_release_0_1() {
    let folder = folder("release-0-1");
    let head = "[workspace]\n[package]\nname = \"release-0-1\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";
    let crates = "[dependencies]\nwdk-sys = \"0.1\"\n[build-dependencies]\nwdk-build = \"0.1\"\n";
    write(folder.join("Cargo.toml"), &format!("{head}{CDYLIB}{PROFILE}{crates}"));
    write(folder.join("build.rs"), BUILD);
    write(folder.join("src/lib.rs"), SOURCE);
    builds(&[], &folder, &["release_0_1"]);
    let bytes = fs::read(repository().join("target/driver/x64/release_0_1.sys")).unwrap();
    let imports = PeFile64::parse(&*bytes).unwrap().imports().unwrap();
    let mut modules: Vec<String> =
        imports.iter().map(|import| String::from_utf8_lossy(import.library()).into_owned()).collect();
    modules.sort();
    modules.dedup();
    // The bindings of this release are always those of KMDF, so the driver starts in the framework's stub.
    assert_eq!(modules, ["WDFLDR.SYS", "ntoskrnl.exe"]);
    fs::remove_dir_all(folder).unwrap();
}
