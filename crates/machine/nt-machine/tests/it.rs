//! Checks that some things stay in one place in the crates of the machine.
#![cfg(test)]

use std::fs;
use std::path::{Path, PathBuf};

/// The crates of the machine.
const CRATES: [&str; 10] = [
    "nt-processor",
    "nt-verifier",
    "nt-kernel",
    "nt-framework",
    "nt-filters",
    "nt-network",
    "nt-hid",
    "nt-crypto",
    "nt-machine",
    "nt-host",
];

fn root(package: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the lines of code that a check objects to, with their files, except in some folders.
fn lines_with(except: &[&str], objects: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for root in CRATES.map(root) {
        let kept = |file: &PathBuf| !except.iter().any(|except| file.starts_with(root.join(except)));
        for file in sources(&root).into_iter().filter(|file| kept(file) && !file.ends_with("tests.rs")) {
            let text = fs::read_to_string(&file).expect("a source");
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            found.extend(code.filter(|line| objects(line)).map(|line| format!("{}: {line}", file.display())));
        }
    }
    found
}

/// Returns whether a line contains an error, warning or informational status as a number.
fn has_status(line: &str) -> bool {
    line.match_indices("0x").any(|(at, _)| {
        let digits: String = line[at + 2..].chars().filter(|c| *c != '_').take_while(char::is_ascii_hexdigit).collect();
        let number = u64::from_str_radix(&digits, 16).unwrap_or_default();
        digits.len() == 8 && matches!(number >> 16, 0x4000 | 0x8000 | 0xC000..=0xC0FF) && number & 0xFFFF != 0
    })
}

#[test]
fn statuses_are_those_of_etw_types() {
    assert!(has_status("const NOT_FOUND: u32 = 0xC000_0034;"));
    assert!(!has_status("flags & 0x8000_0000"));
    assert_eq!(lines_with(&[], has_status), [""; 0], "a status is written as a number");
}

#[test]
fn offsets_of_structures_are_not_computed_outside_of_guest_memory() {
    let is_offset = |line: &str| {
        let raw = [
            "address() + ",
            "address() - ",
            "address().wrapping_add(",
            "address().wrapping_sub(",
            "+ offset_of!",
            "- offset_of!",
        ];
        raw.iter().any(|raw| line.contains(raw))
    };
    assert!(is_offset("GuestPtr::new(driver.address() + 0x18)"));
    assert_eq!(lines_with(&["memory"], is_offset), [""; 0], "a member is found by its offset");
}

#[test]
fn the_machines_only_statics_are_references_to_its_parts() {
    let machine = |line: &str| line.trim_start().starts_with("static ") || line.contains("pub(crate) static ");
    // Thread-locals, tables of constants and the bounds of a section are not state of the machine; the command has its own signal handler, and
    // the hosts of a test program write one file together. Machine code reads the address of the dispatcher.
    let allowed = [
        ": LayerState<",
        ": Cell<",
        ": std::cell::Cell<",
        ": RefCell<",
        "static PHASE:",
        ": LazyLock<",
        "static __st",
        "static MACHINE:",
        "static DISPATCH:",
        "static FAMILIES:",
        "static BELL:",
        "static WRITTEN:",
    ];
    let found = lines_with(&["cli", "memory/model.rs"], |line| {
        machine(line) && !allowed.iter().any(|known| line.contains(known))
    });
    assert_eq!(found, [""; 0], "state outside of the machine");
}

/// A panic of a routine is caught and becomes a finding. With a profile that aborts, it would end the driver's process.
#[test]
fn no_profile_of_the_workspace_aborts() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("the workspace's manifest");
    let aborts = manifest.lines().find(|line| line.replace(' ', "").starts_with("panic=\"abort\""));
    assert_eq!(aborts, None);
}
