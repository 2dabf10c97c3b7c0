//! Compares constants with the kit's C headers: those of `windows-constants` and of the templates of drivers, and the statuses of
//! `etw-types`. Other tests compare the headers with Microsoft's metadata and bindings.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use windows_constants::Constant;

use crate::constants::{statuses, templates};
use crate::published::kit;

/// The headers with the declarations, in an order in which they can be included.
const HEADERS: [&str; 16] = [
    "ntifs.h",
    "ntddk.h",
    "ntimage.h",
    "wmilib.h",
    "wmistr.h",
    "fltKernel.h",
    "fwpsk.h",
    "fwpmk.h",
    "bcrypt.h",
    "hidport.h",
    "hidclass.h",
    "usb.h",
    "usbdlib.h",
    "evntrace.h",
    "wdf.h",
    "wdfusb.h",
];

/// Compiles assertions after the kit's headers, and returns the errors.
pub(crate) fn errors(name: &str, assertions: &str) -> Vec<String> {
    let kit = kit();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let includes = HEADERS.map(|header| format!("#include \"{header}\"\n")).concat();
    fs::write(&file, includes + assertions).unwrap();
    let include = kit.join("Include").join(wdk_kit::VERSION);
    let folders = [include.join("km"), include.join("shared"), kit.join("Include/wdf/kmdf/1.33")];
    let output = Command::new("clang")
        .args(["--target=x86_64-pc-windows-msvc", "-fsyntax-only", "-ferror-limit=0", "-Wno-everything"])
        // Otherwise Clang compares a similar name.
        .args(["-fno-spell-checking", "-fms-extensions", "-fms-compatibility", "-D_AMD64_", "-D_KERNEL_MODE"])
        .args(["-DKMDF_VERSION_MAJOR=1", "-DKMDF_VERSION_MINOR=33"])
        .args(folders.map(|folder| format!("-I{}", folder.display())))
        .arg(&file)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    stderr.lines().filter(|line| line.contains("error: ")).map(str::to_owned).collect()
}

#[test]
fn constants_and_statuses_have_the_values_of_the_kits_headers() {
    let mut assertions = String::new();
    let mut all = 0;
    // The others are GUIDs.
    let is_number = |constant: &Constant| {
        u64::try_from(constant.value).is_ok() || i64::try_from(constant.value.cast_signed()).is_ok()
    };
    for Constant { name, value } in windows_constants::all().chain(statuses()).filter(is_number) {
        // The headers have many of them with a sign, or as a pointer.
        let bits = if u32::try_from(value).is_ok() { u128::from(u32::MAX) } else { u128::from(u64::MAX) };
        let value = value & bits;
        let _ = writeln!(assertions, "_Static_assert(((ULONG64)({name}) & {bits:#x}) == {value:#x}, \"{name}\");");
        all += 1;
    }
    let errors = errors("constants.c", &assertions);
    let (missing, wrong): (Vec<_>, Vec<_>) = errors.iter().partition(|line| line.contains("undeclared identifier"));
    assert!(wrong.is_empty(), "{wrong:#?}");
    let compared = all - missing.len();
    println!("{compared} of {all} constants compared");
    assert!(compared > 700, "{compared}: the comparison itself is broken");
}

#[test]
fn constants_of_templates_have_the_values_of_the_kits_headers() {
    let mut assertions = String::new();
    let mut compared = 0;
    for (name, values) in templates() {
        for value in values {
            let _ = writeln!(assertions, "_Static_assert({name} == {value:#x}, \"{name}\");");
            compared += 1;
        }
    }
    assert_eq!(errors("templates.c", &assertions), Vec::<String>::new());
    assert!(compared > 15, "{compared}: the comparison itself is broken");
}
