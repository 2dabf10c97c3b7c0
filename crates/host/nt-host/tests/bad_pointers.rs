//! Addresses that are not there, passed to a routine: a finding names the routine and the address, and the host lives. That
//! is so in a debug build of the host, whose own checks would otherwise end the process that runs the driver.

mod common;

use std::fs;

use nt_host::{Error, NtHost, Report, Rule};

/// Loads the driver under a name that ends with a character; the report, and whether the driver ended the run.
fn run(variant: char) -> (Report, bool) {
    let path = common::folder().join(format!("bad_pointer_{variant}.sys"));
    fs::copy(common::broken("bad_pointer"), &path).expect("a copy of the driver");
    let host = NtHost::builder().driver(&path).prepare().expect("a driver");
    let stopped = match host.load() {
        Ok(()) => {
            host.unload().expect("the driver goes");
            false
        }
        Err(Error::Stopped(_)) => true,
        Err(error) => panic!("{variant}: {error}"),
    };
    (host.report(), stopped)
}

#[test]
fn an_address_that_is_not_there_is_a_finding_of_the_routine_that_got_it() {
    let addresses = [
        ('0', "writes to 0x0"),
        ('1', "writes to 0x1"),
        ('2', "writes to 0x1003"),
        ('3', "writes to 0x7fffffffeffd"),
        ('4', "uses an address that no processor accepts"),
        ('5', "writes to 0xffffffffffffffff"),
        ('6', "writes to 0xfffffffffffffff9"),
        ('7', "writes to 0xffff800000000001"),
    ];
    for (variant, detail) in addresses {
        let (report, stopped) = run(variant);
        assert!(stopped, "{variant}: {:#?}", report.findings());
        let [finding] = report.findings() else { panic!("{variant}: {:#?}", report.findings()) };
        assert_eq!((finding.rule, finding.routine.as_deref()), (Rule::AccessViolation, Some("KeInitializeEvent")));
        assert_eq!(finding.detail, detail, "{variant}");
    }
}

#[test]
fn an_address_that_is_not_aligned_works_as_on_the_processor() {
    let (report, stopped) = run('9');
    assert!(!stopped, "{:#?}", report.findings());
    report.assert_clean();
}
