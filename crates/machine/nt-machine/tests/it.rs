//! Checks that the folders of nt-machine and nt-host are layers that import only those below them, and that some things
//! stay in one place.
#![cfg(test)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of nt-machine, lowest first.
const MACHINE: [&str; 17] = [
    "memory",
    "coverage",
    "layout",
    "loader",
    "routine",
    "image",
    "cpu",
    "verify",
    "hardware",
    "exception",
    "kernel",
    "wdf",
    "filter",
    "wfp",
    "cng",
    "hid",
    "machine",
];

/// The folders of nt-host, lowest first: messages, reports, the child process, the API, the fuzzer, the command
/// line.
const HOST: [&str; 6] = ["wire", "report", "child", "api", "fuzz", "cli"];

fn root(package: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(package).join("src")
}

fn name_of(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the names right after `prefix`, as in `crate::a::B` and `use crate::{a, b::C}`. Comments are skipped.
fn names_behind(text: &str, prefix: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = code.join("\n");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = |text: &str| text.chars().take_while(|c| is_name(*c)).collect::<String>();
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(prefix) {
        let rest = &code[at + prefix.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.insert(name(rest));
            continue;
        };
        let mut depth = 0;
        let mut part = String::new();
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => {
                    names.insert(name(part.trim()));
                    part.clear();
                    continue;
                }
                _ => {}
            }
            part.push(c);
        }
        names.insert(name(part.trim()));
    }
    names
}

/// Returns, for each folder, the names that it imports after `prefix`.
fn imports(root: &Path, folders: &[String], prefix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let of = |folder: &String| {
        let files = sources(&root.join(folder)).into_iter().filter(|file| !file.ends_with("tests.rs"));
        let names = files.flat_map(|file| names_behind(&fs::read_to_string(file).expect("a source"), prefix));
        names.filter(|name| name != folder).collect()
    };
    folders.iter().map(|folder| (folder.clone(), of(folder))).collect()
}

#[test]
fn folders_import_only_those_below_them() {
    for (package, layers) in [("nt-machine", MACHINE.as_slice()), ("nt-host", &HOST)] {
        let root = root(package);
        let folders = fs::read_dir(&root).expect("the sources").map(|entry| entry.expect("an entry").path());
        let folders: BTreeSet<String> = folders.filter(|path| path.is_dir()).map(|path| name_of(&path)).collect();
        assert_eq!(folders, layers.iter().map(|layer| (*layer).to_owned()).collect(), "the folders of {package}");
        let all = imports(&root, &layers.iter().map(|layer| (*layer).to_owned()).collect::<Vec<_>>(), "crate::");
        for (position, layer) in layers.iter().enumerate() {
            for import in all[*layer].iter().filter(|name| folders.contains(*name)) {
                let below = layers.iter().position(|known| known == import);
                assert!(below.is_some_and(|below| below < position), "{package}: {layer} imports {import}");
            }
        }
    }
}

/// Returns the lines of code that a check objects to, with their files, except in some folders.
fn lines_with(except: &[&str], objects: impl Fn(&str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for root in ["nt-machine", "nt-host"].map(root) {
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
    assert!(has_status("const NOT_FOUND: u32 = 0xC000_0034;") && !has_status("flags & 0x8000_0000"));
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
        ": Part<",
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

#[test]
fn folders_of_the_kernel_have_no_cycle() {
    let root = root("nt-machine").join("kernel");
    let folders: Vec<String> = fs::read_dir(&root)
        .expect("the kernel")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| name_of(&path))
        .collect();
    let mut left = imports(&root, &folders, "crate::kernel::");
    for imports in left.values_mut() {
        imports.retain(|import| folders.contains(import));
    }
    while let Some(lowest) = left.iter().find(|(_, imports)| imports.is_empty()).map(|(folder, _)| folder.clone()) {
        left.remove(&lowest);
        for imports in left.values_mut() {
            imports.remove(&lowest);
        }
    }
    assert!(left.is_empty(), "a cycle among {left:?}");
}

#[test]
fn names_of_imports_are_found_in_groups_and_paths() {
    let text = "use crate::{a::{B, C}, d};\n// crate::e\nlet x = crate::f::g();";
    assert_eq!(names_behind(text, "crate::").into_iter().collect::<Vec<_>>(), ["a", "d", "f"]);
}

/// A panic of a routine is caught and becomes a finding. With a profile that aborts, it would end the driver's process.
#[test]
fn no_profile_of_the_workspace_aborts() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../Cargo.toml");
    let manifest = fs::read_to_string(manifest).expect("the workspace's manifest");
    let aborts = manifest.lines().find(|line| line.replace(' ', "").starts_with("panic=\"abort\""));
    assert_eq!(aborts, None);
}
