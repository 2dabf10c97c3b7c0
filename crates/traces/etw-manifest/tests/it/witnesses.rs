//! An independent parser finds in our resources what the manifest declares: libyal's libfwevt, installed from the Python package
//! index into a virtual environment in the build folder. If Python or the package index is not available, the test says so and
//! passes.

use std::fs;
use std::path::Path;
use std::process::Command;

use etw_manifest::manifest::Manifest;
use etw_manifest::wevt;
use test_support::{python, run};

const PACKAGE: &str = "libfwevt-python==20260702";

/// Returns what libfwevt finds in a resource, or why it is not available.
fn libfwevt(resource: &Path) -> Result<String, String> {
    let environment = Path::new(env!("CARGO_TARGET_TMPDIR")).join("etw-manifest-witnesses");
    let python = python(&environment, "pyfwevt", &[PACKAGE], 15)?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/witness/libfwevt.py");
    Ok(run(Command::new(python).arg(script).arg(resource)).unwrap_or_else(|error| panic!("{error}")))
}

#[test]
fn libfwevt_finds_what_the_manifest_says() {
    let manifest = Manifest::parse_checked(include_bytes!("../data/rich.man")).unwrap();
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rich.wevt");
    fs::write(&file, wevt::write(&manifest).0).unwrap();
    let found = match libfwevt(&file) {
        Ok(found) => found,
        Err(reason) => {
            println!("skipped: no environment with libfwevt: {reason}");
            return;
        }
    };
    let all = "I8:3 U8:4 I16:5 U16:6 I32:7 U32:8 I64:9 U64:10 F32:11 F64:12 Bool:13 Id:15 Address:16 Time:17 Parts:18 Sid:19 \
               Status:20 Mask:21 Text:1 Ansi:2";
    let expected = [
        "provider 7c2f4a51-2c8b-4f1d-9a3e-5b6d7e8f9012",
        "channels WdkEtw-Rich/Admin WdkEtw-Rich/Debug System",
        "counts 3 3 2 3 2 3",
        "event 1 0 0xb0000001",
        "event 2 1 0xffffffff",
        "event 3 0 0xffffffff",
        "event 512 0 0xb0000200",
        &format!("template {all}"),
        "template Size:8 Data:14 Tag:2 Count:6 Numbers:8 Ids:6 Counted:22",
    ];
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[..expected.len()], expected, "{found}");
    assert!(lines[expected.len()].starts_with("template Count:6 "), "{found}");
}
