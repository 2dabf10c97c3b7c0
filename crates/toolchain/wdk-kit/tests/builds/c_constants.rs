//! Compares the constants of `windows-constants` and the statuses of `etw-types` with the kit's C headers.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use windows_constants::Constant;

use crate::constants::statuses;
use crate::published::kit;

/// The headers that declare constants, in an order in which they can be included.
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

#[test]
fn the_kits_headers_have_the_same_values() {
    let kit = kit();
    let mut text: String = HEADERS.map(|header| format!("#include \"{header}\"\n")).concat();
    let mut all = 0;
    // The others are GUIDs.
    let is_number = |constant: &Constant| {
        u64::try_from(constant.value).is_ok() || i64::try_from(constant.value.cast_signed()).is_ok()
    };
    for constant in windows_constants::all().chain(statuses()).filter(is_number) {
        // The headers have many of them with a sign, or as a pointer.
        let bits = if u32::try_from(constant.value).is_ok() { u128::from(u32::MAX) } else { u128::from(u64::MAX) };
        let name = constant.name;
        let value = constant.value & bits;
        let _ =
            writeln!(text, "_Static_assert(((ULONG64)({name}) & {bits:#x}) == {value:#x}, \"{name} is {value:#x}\");");
        all += 1;
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("constants.c");
    fs::write(&file, text).unwrap();
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
    let errors = stderr.lines().filter(|line| line.contains("error: "));
    let (missing, wrong): (Vec<&str>, Vec<&str>) = errors.partition(|line| line.contains("undeclared identifier"));
    assert!(wrong.is_empty(), "{wrong:#?}");
    let compared = all - missing.len();
    println!("{compared} of {all} constants compared");
    assert!(compared > 700, "{compared}: the comparison itself is broken");
}
