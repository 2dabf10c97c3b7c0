//! The folders of the sources are layers: imports go down only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The machine's folders, the lowest first. What runs the machine (process, wire, API, command line) is above.
const LAYERS: [&str; 12] = [
    "memory",
    "layout",
    "loader",
    "routine",
    "image",
    "cpu",
    "verify",
    "exception",
    "kernel",
    "wdf",
    "machine",
    "child",
];

/// Modules of the machine that are single files; everything may use them.
const PLAIN: [&str; 1] = ["config"];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The names right behind `prefix`, as in `crate::a::B` and `use crate::{a, b::C}`, in code and not in comments.
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

/// Which of the given folders each of them imports.
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
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let all = imports(&root, &LAYERS.map(str::to_owned), "crate::");
    for (position, layer) in LAYERS.iter().enumerate() {
        let is_folder = |name: &&String| root.join(name).is_dir() && !PLAIN.contains(&name.as_str());
        for import in all[*layer].iter().filter(is_folder) {
            // The child speaks to its parent by the wire, which knows nothing of the machine.
            if *layer == "child" && import == "wire" {
                continue;
            }
            let below = LAYERS.iter().position(|known| known == import);
            assert!(below.is_some_and(|below| below < position), "{layer} imports {import}");
        }
    }
}

#[test]
fn folders_of_the_kernel_have_no_cycle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kernel");
    let folders: Vec<String> = fs::read_dir(&root)
        .expect("the kernel")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
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
