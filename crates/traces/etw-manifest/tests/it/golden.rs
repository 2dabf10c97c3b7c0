//! The output for a manifest: the text of the module, and the resources.

use std::fs;
use std::path::Path;

use etw_manifest::codegen::{Compiler, compile_bytes};
use etw_manifest::wevt;

const RICH: &[u8] = include_bytes!("../data/rich.man");
const STRUCTS: &[u8] = include_bytes!("../data/structs.man");

/// The generator wrote `tests/data/rich.rs`, `structs.rs` and `through_company.rs`. `WDK_ETW_BLESS=1` writes them again. `tests/it/generated.rs`
/// runs them.
#[test]
fn the_generated_module_matches_the_expected_file() {
    let compiler = Compiler::new();
    let through_company = compiler.with_wdk_etw("super::company::etw");
    for (compiler, manifest, name) in [
        (compiler, RICH, "rich.rs"),
        (compiler, STRUCTS, "structs.rs"),
        (through_company, STRUCTS, "through_company.rs"),
    ] {
        let code = compiler.compile_bytes(manifest).unwrap().code;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        if std::env::var_os("WDK_ETW_BLESS").is_some() {
            fs::write(&file, &code).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), code);
    }
}

#[test]
fn a_value_without_a_message_has_its_number_as_documentation() {
    let manifest =
        String::from_utf8_lossy(STRUCTS).replace(r#"<map value="1" message="$(string.On)"/>"#, r#"<map value="1"/>"#);
    let code = compile_bytes(manifest.as_bytes()).unwrap().code;
    assert!(code.contains("    /// The value 0x1.\n    pub const VALUE_1: Self = Self(0x1);"), "{code}");
}

/// Returns type, name, language and data of each resource in a `.res` file.
fn entries(mut file: &[u8]) -> Vec<(Vec<u8>, u16, u16, &[u8])> {
    let number = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    let mut found = Vec::new();
    while !file.is_empty() {
        let size = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap()) as usize;
        let data = size(0);
        let header = size(4);
        let fields = &file[8..header];
        let kind = if number(fields, 0) == 0xFFFF {
            4
        } else {
            fields.chunks(2).position(|unit| unit == [0, 0]).unwrap() * 2 + 2
        };
        let name = number(fields, kind + 2);
        let language = number(fields, fields.len() - 10);
        found.push((fields[..kind].to_vec(), name, language, &file[header..header + data]));
        file = &file[(header + data).next_multiple_of(4).min(file.len())..];
    }
    found
}

#[test]
fn the_resources_are_the_event_template_and_one_message_table_per_language() {
    let file = compile_bytes(RICH).unwrap().resources;
    let entries = entries(&file);
    let kinds: Vec<_> = entries.iter().map(|(kind, name, language, _)| (kind.as_slice(), *name, *language)).collect();
    let wevt: Vec<u8> = "WEVT_TEMPLATE\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let table = [0xFF, 0xFF, 11, 0].as_slice();
    let expected = [(&[0xFF, 0xFF, 0, 0][..], 0, 0), (&wevt, 1, 0x409), (table, 1, 0x409), (table, 1, 0x407)];
    assert_eq!(kinds, expected);
    let started = |table: &[u8]| {
        let mut messages = wevt::Messages::default();
        messages.add(table).unwrap();
        messages.get(0xB000_0200).unwrap().to_owned()
    };
    assert_eq!(started(entries[2].3), "A transfer started.");
    assert_eq!(started(entries[3].3), "Eine Übertragung begann.");
    assert!(wevt::parse(entries[1].3, &wevt::Messages::default()).is_ok());
}
