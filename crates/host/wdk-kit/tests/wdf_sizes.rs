//! The framework's records have the sizes that Microsoft's public headers give them, in three versions and on both processors.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

const SIZES: &str = include_str!("wdf_sizes.txt");

#[test]
fn records_have_the_sizes_of_the_public_headers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit");
    let kit = wdk_kit::make(&folder).unwrap();
    let include = kit.join("Include").join(wdk_kit::VERSION);
    for minor in ["15", "25", "33"] {
        let mut text =
            String::from("#include \"ntifs.h\"\n#include \"usb.h\"\n#include \"wdf.h\"\n#include \"wdfusb.h\"\n");
        let mut count = 0;
        for line in SIZES.lines() {
            if let [of, name, size] = line.split(' ').collect::<Vec<_>>()[..]
                && of == minor
            {
                count += 1;
                let _ = writeln!(text, "_Static_assert(sizeof({name}) == {size}, \"{name}\");");
            }
        }
        assert!(count > 60, "{count}: the comparison itself is broken");
        let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sizes_{minor}.c"));
        fs::write(&source, text).unwrap();
        for (triple, define) in [("x86_64-pc-windows-msvc", "-D_AMD64_"), ("aarch64-pc-windows-msvc", "-D_ARM64_")] {
            let output = Command::new("clang")
                .args([&format!("--target={triple}"), define, "-fsyntax-only", "-fms-extensions", "-w"])
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
