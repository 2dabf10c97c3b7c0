//! Data that drivers read without a call: `KUSER_SHARED_DATA` and exported variables.

use crate::common::c::build_at;
use nt_host::{Error, NtHost, Os, Rule};

#[test]
fn every_kind_of_instruction_reads_the_shared_page() {
    for level in ["-O0", "-O2"] {
        let image = build_at(level, "wdm_shared", 0, "DriverEntry", &["ntoskrnl"]);
        let host = NtHost::builder().driver(image).os(Os::Win10_1809).start().expect("DriverEntry");
        let report = host.unload().expect("unload");
        report.assert_clean();
        let expected = "process 1\nnumber f0004563, processors 2\ntypes 1\ntime 1\nbuild 17763 17763, version 10.0\n\
                        bytes ffffff01 0\nfrequency 1, over 1\nroot C:\\\nstring 44 C:\\Windows\nroutine 20, valid 1\n\
                        passed 10000000, ticks 64\n";
        assert_eq!(report.output(), expected, "{level}");
    }
}

#[test]
fn a_write_to_the_shared_page_is_found_at_its_line() {
    let image = build_at("-O0", "wdm_shared", 1, "DriverEntry", &["ntoskrnl"]);
    let Err(Error::Stopped(report)) = NtHost::builder().driver(image).start() else { panic!("no fault") };
    let [finding] = report.findings() else { panic!("{report:?}") };
    assert_eq!(finding.rule, Rule::AccessViolation);
    assert!(finding.detail.contains("writes to 0xfffff78000000260"), "{}", finding.detail);
    let source = include_str!("../../drivers/c/wdm_shared.c");
    let line = (1..).zip(source.lines()).find(|(_, line)| line.contains("/* mark 1 */")).map(|(number, _)| number);
    assert_eq!(finding.location.as_ref().and_then(|location| location.line), line);
}
