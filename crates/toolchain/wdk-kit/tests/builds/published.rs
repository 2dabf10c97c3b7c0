//! Compares the layouts of the kit's records on x64 with those in the WDK's headers. `wdk-sys` 0.2.0 contains bindings
//! that bindgen generated from the WDK's headers (Windows 11 22H2, KMDF 1.33), with the size of every record and the
//! offset of every field. Clang compares them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::c_headers::errors;

/// Records that newer Windows releases have changed, or whose fields bindgen has renamed. The kit follows the newer metadata.
pub(crate) const CHANGED: [&str; 7] = [
    "_DMA_IOMMU_INTERFACE_EX",
    "_DUPLICATE_CLUSTER_DATA",
    "_MCI_STATS",
    "_NT_TIB32",
    "_REFS_QUERY_VOLUME_COMPRESSION_INFO_OUTPUT_BUFFER",
    "_REFS_SET_VOLUME_COMPRESSION_INFO_INPUT_BUFFER",
    "_VOLUME_REFS_INFO_BUFFER",
];

pub(crate) fn kit() -> PathBuf {
    wdk_kit::make(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit")).unwrap()
}

/// Returns a file of the bindings that the kit was made from.
pub(crate) fn published(kit: &Path, name: &str) -> String {
    let manifest = kit.join("source/Cargo.toml");
    let cargo = ["metadata", "--format-version", "1", "--offline", "--quiet", "--manifest-path"];
    let output = Command::new(env!("CARGO")).args(cargo).arg(&manifest).output().unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let found = packages.iter().find(|package| package["name"] == "wdk-sys").unwrap();
    let folder = Path::new(found["manifest_path"].as_str().unwrap()).parent().unwrap();
    fs::read_to_string(folder.join("generated_bindings").join(name)).unwrap().replace("\r\n", "\n")
}

/// Adds the tags of records with fields in a folder of headers.
fn tags(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = fs::read_to_string(path).unwrap();
            for declaration in text.split(['\n', ';']).filter(|line| line.contains('{')) {
                let head = declaration.split('{').next().unwrap_or_default();
                found.extend(head.split_whitespace().last().map(str::to_owned));
            }
        }
    }
}

/// Returns the first number with the suffix `usize`, such as `48usize`.
fn number(text: &str) -> Option<&str> {
    let end = text.find("usize")?;
    let digits = text[..end].rsplit(|c: char| !c.is_ascii_digit()).next()?;
    (!digits.is_empty()).then_some(digits)
}

#[test]
fn records_have_the_layout_of_the_wdks_headers() {
    let kit = kit();
    let types = published(&kit, "types.rs");
    let include = kit.join("Include").join(wdk_kit::VERSION);
    let framework = kit.join("Include/wdf/kmdf/1.33");
    let mut declared = BTreeSet::new();
    for folder in [include.join("km/nt"), include.join("shared"), framework] {
        tags(&folder, &mut declared);
    }
    let mut keywords = BTreeMap::new();
    for line in types.lines() {
        for keyword in ["struct", "union"] {
            let name = line.strip_prefix(&format!("pub {keyword} ")).and_then(|rest| rest.strip_suffix(" {"));
            keywords.extend(name.map(|name| (name, keyword)));
        }
    }
    let mut text = String::new();
    let mut records = 0;
    let mut fields = 0;
    let mut of_framework = 0;
    for test in types.split("fn bindgen_test_layout_").skip(1) {
        let Some((name, body)) = test.split_once("() {") else { continue };
        let body = body.split("\n}\n").next().unwrap_or_default();
        let Some(keyword) = keywords.get(name).filter(|_| declared.contains(name) && !CHANGED.contains(&name)) else {
            continue;
        };
        let Some(size) = body.split_once("size_of::<").and_then(|(_, rest)| number(rest)) else { continue };
        let _ = writeln!(text, "_Static_assert(sizeof({keyword} {name}) == {size}, \"size of {name}\");");
        records += 1;
        of_framework += usize::from(name.starts_with("_WDF"));
        for field in body.split("addr_of!((*ptr).").skip(1) {
            let Some((field, rest)) = field.split_once(')') else { continue };
            let Some(offset) = rest.split_once("ptr as usize").and_then(|(_, rest)| number(rest)) else { continue };
            if !field.contains("bindgen") && !field.starts_with("_bitfield") {
                let place = format!("__builtin_offsetof({keyword} {name}, {field})");
                let _ = writeln!(text, "_Static_assert({place} == {offset}, \"offset of {name}.{field}\");");
                fields += 1;
            }
        }
    }
    println!("{records} records and {fields} fields compared, {of_framework} records of the framework");
    assert!(records > 1000, "the comparison itself is broken");
    assert!(fields > 4000, "the comparison itself is broken");
    assert!(of_framework > 50, "the comparison itself is broken");

    assert_eq!(errors("published.c", &text), Vec::<String>::new());
}
