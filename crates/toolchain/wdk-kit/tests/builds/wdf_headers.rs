//! Compares the kit's framework headers with Microsoft's public headers (microsoft/Windows-Driver-Frameworks, MIT),
//! which are not part of this repository: the names, order and offsets of the fields of every record, including bit
//! fields, and the members of every enumeration.

use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Enumerations that only the framework uses, not drivers.
const INTERNAL: [&str; 1] = ["_WDFSTRUCTENUM"];

fn kit() -> PathBuf {
    wdk_kit::make(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit")).unwrap()
}

/// Copies headers, also under the names that other headers include them by. The public headers were written for file
/// systems on which case does not matter.
fn copied(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    let files: Vec<PathBuf> = fs::read_dir(from).unwrap().map(|entry| entry.unwrap().path()).collect();
    let mut wanted = Vec::new();
    for file in &files {
        fs::copy(file, to.join(file.file_name().unwrap())).unwrap();
        let text = fs::read(file).unwrap();
        for line in String::from_utf8_lossy(&text).lines().filter(|line| line.trim_start().starts_with("#include")) {
            wanted.extend(line.split(['<', '>', '"']).nth(1).map(str::to_owned));
        }
    }
    for name in wanted.iter().filter(|name| !to.join(name).exists()) {
        if let Some(file) = files.iter().find(|file| file.file_name().unwrap().eq_ignore_ascii_case(name)) {
            fs::copy(file, to.join(name)).unwrap();
        }
    }
}

/// Compiles `text` with the kit's kernel headers and these framework headers. Returns the output of clang.
fn clang(kit: &Path, framework: &Path, minor: &str, text: &str, flags: &[&str]) -> String {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wdf_headers_{minor}.c"));
    fs::write(
        &source,
        format!("#include \"ntifs.h\"\n#include \"usb.h\"\n#include \"wdf.h\"\n#include \"wdfusb.h\"\n{text}"),
    )
    .unwrap();
    let include = kit.join("Include").join(wdk_kit::VERSION);
    let output = Command::new("clang")
        .args([
            "--target=x86_64-pc-windows-msvc",
            "-D_AMD64_",
            "-fsyntax-only",
            "-fms-extensions",
            "-fms-compatibility",
        ])
        .args(["-w", "-ferror-limit=0", "-DKMDF_VERSION_MAJOR=1", &format!("-DKMDF_VERSION_MINOR={minor}")])
        .args(
            [include.join("km"), include.join("shared"), framework.into()].map(|path| format!("-I{}", path.display())),
        )
        .args(flags)
        .arg(&source)
        .output()
        .unwrap();
    assert!(output.status.success(), "1.{minor}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the framework's records by tag: one line per field, with offset and name.
fn records(kit: &Path, framework: &Path, minor: &str) -> BTreeMap<String, Vec<String>> {
    let dump = clang(kit, framework, minor, "", &["-Xclang", "-fdump-record-layouts-complete"]);
    let mut found = BTreeMap::new();
    for block in dump.split("*** Dumping AST Record Layout").skip(1) {
        let mut lines = block.lines().filter_map(|line| line.split_once(" | "));
        let tag = lines.next().and_then(|(_, text)| text.split_whitespace().nth(1)).unwrap_or_default();
        if !tag.starts_with("_WDF") || tag.contains(':') {
            continue;
        }
        let line = |(place, text): (&str, &str)| {
            // For an unnamed part, clang prints a file name and line in parentheses, which are removed. The line with
            // `sizeof=` has the size of the record.
            let name = text.rsplit([' ', ')']).next().unwrap_or_default();
            format!("{} {}", place.trim(), if text.contains("sizeof=") { text.trim() } else { name })
        };
        found.insert(tag.to_owned(), lines.map(line).collect());
    }
    found
}

/// Returns the enumerations in the headers of a folder: the members of each, and the text of their values if there is
/// one.
fn enumerations(folder: &Path) -> BTreeMap<String, Vec<(String, String)>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read(entry.unwrap().path()).unwrap();
        let text = without_comments(&String::from_utf8_lossy(&text));
        for part in text.split("enum _WDF").skip(1) {
            // An enumeration that is only mentioned has no members here.
            let Some((tag, rest)) = part.split_once('{').filter(|(tag, _)| !tag.contains([';', ')'])) else { continue };
            let body = rest.split('}').next().unwrap_or_default();
            let member = |text: &str| {
                let (name, value) = text.split_once('=').unwrap_or((text, ""));
                (name.trim().to_owned(), value.trim().to_owned())
            };
            let members = body.split(',').map(member).filter(|(name, _)| !name.is_empty()).collect();
            let tag = tag.split([' ', ':', '\n', '\r']).next().unwrap_or_default();
            found.insert(format!("_WDF{tag}"), members);
        }
    }
    found
}

/// Returns C code without comments and directives.
fn without_comments(text: &str) -> String {
    // Line comments are removed first, because a row of stars after `//` looks like the start of a block comment.
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let text: String = lines.map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect();
    let mut rest = text.as_str();
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    plain + rest
}

#[test]
#[ignore = "needs WDK_KIT_WDF_HEADERS, the folder src/publicinc/wdf/kmdf of microsoft/Windows-Driver-Frameworks"]
fn names_order_and_places_are_those_of_the_public_headers() {
    let folder = env::var_os("WDK_KIT_WDF_HEADERS").expect("WDK_KIT_WDF_HEADERS says where the public headers are");
    let kit = kit();
    let mut versions = 0;
    let mut differences = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let public = entry.unwrap().path();
        let Some(minor) = public.file_name().unwrap().to_str().unwrap().strip_prefix("1.").map(str::to_owned) else {
            continue;
        };
        let own = kit.join("Include/wdf/kmdf").join(format!("1.{minor}"));
        if !own.is_dir() {
            continue;
        }
        let theirs = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("public_1.{minor}"));
        copied(&public, &theirs);

        let our_records = records(&kit, &own, &minor);
        let their_records = records(&kit, &theirs, &minor);
        for (tag, fields) in &their_records {
            if our_records.get(tag) != Some(fields) {
                differences.push(format!("1.{minor} {tag}: {:?}, not {fields:?}", our_records.get(tag)));
            }
        }
        let our_lists = enumerations(&own);
        let their_lists = enumerations(&theirs);
        let mut text = String::new();
        for (tag, members) in their_lists.iter().filter(|(tag, _)| !INTERNAL.contains(&tag.as_str())) {
            let names = |members: &[(String, String)]| members.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
            let ours = our_lists.get(tag).map(Vec::as_slice).unwrap_or_default();
            if names(ours) != names(members) {
                differences.push(format!("1.{minor} {tag}: {:?}, not {:?}", names(ours), names(members)));
                continue;
            }
            for (name, value) in ours {
                let _ = writeln!(text, "_Static_assert({name} == {value}, \"{name}\");");
            }
        }
        clang(&kit, &theirs, &minor, &text, &[]);
        println!("1.{minor}: {} records, {} enumerations", their_records.len(), their_lists.len());
        assert!(their_records.len() > 60, "the comparison itself is broken");
        assert!(their_lists.len() > 40, "the comparison itself is broken");
        versions += 1;
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(versions > 0, "there is no folder of a version");
}
