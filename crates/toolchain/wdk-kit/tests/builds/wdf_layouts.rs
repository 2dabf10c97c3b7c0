//! Checks that the framework's records have the sizes and field offsets of Microsoft's public headers, in every version
//! that has public headers, and the sizes of 1.9 that the framework's public source has.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const LAYOUTS: &str = include_str!("../wdf_layouts.txt");
/// The minor versions, and the processors that each is compiled for. All but 1.9 have public headers.
const VERSIONS: [(u8, &[Processor]); 10] = [
    (9, &[X64]),
    (15, &[X64, ARM64]),
    (17, &[X64]),
    (19, &[X64]),
    (21, &[X64]),
    (23, &[X64]),
    (25, &[X64]),
    (27, &[X64]),
    (31, &[X64]),
    (33, &[X64, ARM64]),
];
type Processor = (&'static str, &'static str);
const X64: Processor = ("x86_64-pc-windows-msvc", "-D_AMD64_");
const ARM64: Processor = ("aarch64-pc-windows-msvc", "-D_ARM64_");

/// Returns C code that compiles only if the records of a version have the layout in the table, and the number of records.
fn assertions(minor: u8) -> (String, usize) {
    let mut text =
        String::from("#include \"ntifs.h\"\n#include \"usb.h\"\n#include \"wdf.h\"\n#include \"wdfusb.h\"\n");
    let mut count = 0;
    for line in LAYOUTS.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let versions = words.next().unwrap();
        let (first, last) = versions.split_once('-').unwrap_or((versions, versions));
        if !(first.parse().unwrap()..=last.parse().unwrap()).contains(&minor) {
            continue;
        }
        let record = words.next().unwrap();
        let size = words.next().unwrap();
        let _ = writeln!(text, "_Static_assert(sizeof({record}) == {size}, \"{record}\");");
        for (field, offset) in words.map(|word| word.split_once('@').unwrap()) {
            let place = format!("__builtin_offsetof({record}, {field})");
            let _ = writeln!(text, "_Static_assert({place} == {offset}, \"{record}.{field}\");");
        }
        count += 1;
    }
    (text, count)
}

/// A record without a line in the table would never be compared.
#[test]
fn every_record_of_the_framework_is_in_the_table() {
    let listed: Vec<&str> = LAYOUTS.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    let mut count = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("kit/wdf")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        for name in text.lines().filter_map(|line| line.strip_prefix("record WDF").or(line.strip_prefix("union WDF"))) {
            let name = format!("WDF{}", name.split([' ', ':']).next().unwrap_or_default());
            assert!(listed.contains(&name.as_str()), "{name}");
            count += 1;
        }
    }
    assert!(count > 60, "{count}: the comparison itself is broken");
}

#[test]
fn records_are_laid_out_as_in_the_public_headers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit");
    let kit = wdk_kit::make(&folder).unwrap();
    let include = kit.join("Include").join(wdk_kit::VERSION);
    for (minor, processors) in VERSIONS {
        let (text, count) = assertions(minor);
        // Of 1.9, only the records are known that have grown since.
        assert!(count > if minor == 9 { 6 } else { 60 }, "{count}: the comparison itself is broken");
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("layouts_{minor}.c"));
        fs::write(&source, text).unwrap();
        for (triple, define) in processors {
            let output = Command::new("clang")
                .args([&format!("--target={triple}"), *define, "-fsyntax-only", "-fms-extensions", "-w"])
                .args(["-DKMDF_VERSION_MAJOR=1", &format!("-DKMDF_VERSION_MINOR={minor}")])
                .args(
                    [include.join("km"), include.join("shared"), kit.join(format!("Include/wdf/kmdf/1.{minor}"))]
                        .map(|path| format!("-I{}", path.display())),
                )
                .arg(&source)
                .output()
                .unwrap();
            assert!(output.status.success(), "1.{minor} {triple}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}
