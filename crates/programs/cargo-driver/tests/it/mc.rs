//! The stand-in for `mc.exe`: its files are compiled by programs that others wrote.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{folder, printed};

/// A manifest with two languages.
const MANIFEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces/etw-manifest/tests/data/rich.man");

#[test]
fn the_files_of_mc_are_a_resource_script_and_a_header() {
    let place = folder("mc");
    let mut mc = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
    mc.args(["--internal-program", "mc", "-um", "-h", "inc", "-r", "res", "-z", "events", MANIFEST])
        .current_dir(&place);
    let output = mc.output().unwrap();
    assert!(output.status.success(), "{}", printed(&output));

    let compiled = etw_manifest::codegen::compile_bytes(&fs::read(MANIFEST).unwrap()).unwrap().resources;
    let contains = |whole: &[u8], part: &[u8]| whole.windows(part.len()).any(|window| window == part);
    let templates = fs::read(place.join("res/eventsTEMP.BIN")).unwrap();
    assert!(templates.starts_with(b"CRIM"));
    assert!(contains(&compiled, &templates));
    let messages = fs::read(place.join("res/MSG00001.bin")).unwrap();
    assert!(contains(&compiled, &messages));

    // The resource compiler takes the script; it finds the files beside it.
    let rc = Command::new("llvm-rc").args(["/FO", "events.res", "res/events.rc"]).current_dir(&place).output();
    match rc {
        Ok(output) => {
            assert!(output.status.success(), "{}", printed(&output));
            let made = fs::read(place.join("events.res")).unwrap();
            assert!(contains(&made, &templates));
            assert!(contains(&made, &messages));
        }
        Err(_) => println!("skipped llvm-rc: it is not installed"),
    }
    let types = "typedef struct { unsigned long a; unsigned short b, c; unsigned char d[8]; } GUID;\n\
                 typedef struct { unsigned short Id; unsigned char Version, Channel, Level, Opcode; unsigned short Task; \
                 unsigned long long Keyword; } EVENT_DESCRIPTOR;\n#include \"inc/events.h\"\n";
    is_valid_c(&place, types);
}

#[test]
fn a_manifest_with_a_mistake_is_an_error() {
    let place = folder("mc-wrong");
    fs::write(place.join("a.man"), "<instrumentationManifest>").unwrap();
    for (words, text) in [(&["a.man"][..], "a.man"), (&["missing.man"], "missing.man"), (&["-um"], "no manifest")] {
        let mut mc = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
        let output = mc.args(["--internal-program", "mc"]).args(words).current_dir(&place).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{words:?}");
        assert!(printed(&output).contains(text), "{words:?}: {}", printed(&output));
    }
    assert!(!place.join("a.h").exists());
}

#[test]
fn the_manifest_is_never_replaced() {
    let place = folder("mc-input");
    for name in ["a.rc", "a.h", "aTEMP.BIN", "MSG00001.bin"] {
        fs::copy(MANIFEST, place.join(name)).unwrap();
        let mut mc = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
        let output = mc.args(["--internal-program", "mc", "-z", "a", name]).current_dir(&place).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}");
        assert!(printed(&output).contains(&format!("{name} is the input {name}")), "{}", printed(&output));
        assert_eq!(fs::read(place.join(name)).unwrap(), fs::read(MANIFEST).unwrap(), "{name}");
        fs::remove_file(place.join(name)).unwrap();
    }
}

fn is_valid_c(place: &Path, text: &str) {
    fs::write(place.join("use.c"), text).unwrap();
    let clang = ["--target=x86_64-pc-windows-msvc", "-fsyntax-only", "-Werror", "use.c"];
    match Command::new("clang").args(clang).current_dir(place).output() {
        Ok(output) => assert!(output.status.success(), "{}", printed(&output)),
        Err(_) => println!("skipped clang: it is not installed"),
    }
}
