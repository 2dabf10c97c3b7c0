//! The location of a finding is a line of the driver's own source. `inner` has the inlined layers below it, `stack` its
//! callers.

use crate::common::c::build_at;
use nt_host::{Location, NtHost, Rule};

const DRIVER: &str = include_str!("../../drivers/c/wdm_layer.c");
const LAYER: &str = include_str!("../../drivers/layer/layer.h");

fn marked(source: &str, mark: &str) -> Option<u32> {
    let mark = format!("/* mark {mark} */");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

fn shown(location: &Location) -> (Option<&str>, Option<&str>, Option<u32>) {
    let file = location.file.as_deref().and_then(|file| file.rsplit(['/', '\\']).next());
    (location.symbol.as_deref(), file, location.line)
}

#[test]
fn a_leak_through_an_inlined_layer_is_at_the_users_line() {
    for level in ["-O0", "-O2"] {
        let image = build_at(level, "wdm_layer", 0, "DriverEntry", &["ntoskrnl"]);
        let host = NtHost::builder().driver(image).start().expect("DriverEntry");
        let report = host.unload().expect("unload");
        let leak = report.findings_of(Rule::PoolLeak).next().expect("a leak");
        let location = leak.location.as_ref().expect("a location");
        assert_eq!(shown(location), (Some("Push"), Some("wdm_layer.c"), marked(DRIVER, "user")), "{level}");
        assert!(location.is_inlined, "{level}: {location:?}");
        assert!(location.is_own, "{level}: {location:?}");
        assert!(location.offset.is_none(), "{level}: {location:?}");
        let [layer] = leak.inner.as_slice() else { panic!("{level}: {:?}", leak.inner) };
        assert_eq!(shown(layer), (Some("LayerAllocate"), Some("layer.h"), marked(LAYER, "layer")), "{level}");
        let entry = leak.stack.first().expect("a caller");
        assert_eq!(shown(entry), (Some("DriverEntry"), Some("wdm_layer.c"), marked(DRIVER, "entry")), "{level}");
        assert!(!entry.is_inlined, "{level}: {entry:?}");
        assert!(entry.offset.is_some_and(|offset| offset != 0), "{level}: {entry:?}");
        assert!(entry.to_string().contains(" DriverEntry+0x"), "{level}: {entry}");
    }
}

#[test]
fn a_registration_that_leaked_names_its_provider() {
    let image = build_at("-O0", "wdm_layer", 0, "DriverEntry", &["ntoskrnl"]);
    let report = NtHost::builder().driver(image).start().expect("DriverEntry").unload().expect("unload");
    let leak = report.findings_of(Rule::RegistrationLeak).next().expect("a leak");
    assert!(leak.detail.contains("0d7a0b5e-3b70-4c36-0102-030405060708"), "{}", leak.detail);
    assert_eq!(leak.location.as_ref().and_then(|location| location.line), marked(DRIVER, "registration"));
}

#[test]
fn without_line_information_there_is_no_file() {
    let image = build_at("-O1", "wdm_layer", 0, "DriverEntry", &["ntoskrnl"]);
    std::fs::remove_file(image.with_extension("pdb")).expect("the PDB is gone");
    let report = NtHost::builder().driver(image).start().expect("DriverEntry").unload().expect("unload");
    let location =
        report.findings_of(Rule::PoolLeak).next().and_then(|leak| leak.location.clone()).expect("a location");
    assert_eq!(location.file.clone(), None);
    assert_eq!(location.line, None);
    assert_eq!(location.symbol.clone(), None);
    assert_eq!(location.section.as_deref(), Some(".text"));
    assert_eq!(location.to_string(), format!("image+{:#x} .text (no line information)", location.rva));
}
