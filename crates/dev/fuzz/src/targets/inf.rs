//! INF files. Guarantees: text that decodes encodes to the same bytes. Each fault has a documented rule and a line of
//! the file. Entries have fields. The functions for devices and services accept every file.

use driver_package::inf::lint::{Rule, lint};
use driver_package::inf::{Arch, Inf, Text};

/// Decodes, parses and lints the file.
pub(super) fn run(bytes: &[u8]) {
    let text = match Text::decode(bytes) {
        Ok(text) => text,
        Err(fault) => {
            assert!(fault.line >= 1, "{fault:?}");
            assert!(Rule::from_number(fault.rule).is_some(), "{fault:?}");
            return;
        }
    };
    assert!(text.encode() == bytes, "the encoded text differs");
    let lines = text.text.lines().count().max(1);
    let inf = match Inf::parse(&text.text) {
        Ok(inf) => inf,
        Err(fault) => {
            assert!((1..=lines).contains(&fault.line), "{fault:?}");
            assert!(Rule::from_number(fault.rule).is_some(), "{fault:?}");
            return;
        }
    };
    for section in inf.sections() {
        assert!((1..=lines).contains(&section.line), "{section:?}");
        assert!(inf.section(&section.name).is_some(), "{section:?}");
        for entry in &section.entries {
            assert!((1..=lines).contains(&entry.line), "{entry:?}");
            assert!(!entry.fields.is_empty(), "{entry:?}");
            entry.fields.iter().for_each(|field| drop(inf.expand(field)));
        }
        let _ = inf.services(section);
    }
    for arch in [Arch::X64, Arch::Arm64] {
        let faults = lint(&inf, arch);
        assert!(faults.is_sorted_by_key(|fault| fault.line), "not sorted by line: {faults:?}");
        for fault in &faults {
            assert!((1..=lines).contains(&fault.line), "{fault:?}");
            assert!(Rule::from_number(fault.rule).is_some(), "{fault:?}");
        }
        let ids = inf.hardware_ids(arch);
        assert!(inf.devices(arch).len() <= text.text.len(), "too many devices");
        assert!(ids.len() <= text.text.len(), "too many devices");
    }
}
