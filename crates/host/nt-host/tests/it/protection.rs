//! What the loader sets up: the security cookie, Control Flow Guard, section protection, GS and CR8 (the IRQL).

use crate::common::c::build_with;
use nt_host::{Error, NtHost, Report, Rule};

const OUTPUT: &str = "cookie 1\nindirect 42\nearly 7\nself 1\nthread 1\nirql 20\n";

fn run(bug: u32) -> Report {
    let flags = ["-O0", "-Xclang", "-cfguard"];
    let image = build_with(&flags, "guard", bug, "DriverEntry", &["ntoskrnl", "BufferOverflowFastFailK"]);
    let host = NtHost::builder().driver(image).prepare().expect("a driver");
    match host.load().and_then(|()| host.unload().map(drop)) {
        Ok(()) | Err(Error::Stopped(_)) => host.report(),
        Err(error) => panic!("{error}"),
    }
}

fn marked(mark: u32) -> Option<u32> {
    let source = include_str!("../../drivers/c/guard.c");
    let mark = format!("/* mark {mark} */");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

#[test]
fn an_image_finds_what_the_loader_fills_in() {
    let report = run(0);
    report.assert_clean();
    assert_eq!(report.output(), OUTPUT);
}

#[test]
fn sections_have_their_rights_and_no_others() {
    for (bug, what) in [(1, "constants"), (2, "code"), (4, "what was discarded"), (5, "data as code")] {
        let report = run(bug);
        let [finding] = report.findings() else { panic!("{what}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, Rule::AccessViolation, "{what}");
        assert!(finding.detail.starts_with("image+0x"), "{what}: {}", finding.detail);
        let places = finding.place.iter().chain(&finding.stack);
        let lines: Vec<_> = places.filter_map(|place| place.line).collect();
        // The marked line is the place itself, or its caller if the driver calls data or discarded code.
        assert!(lines.iter().take(2).any(|line| Some(*line) == marked(bug)), "{what}: {lines:?}");
    }
}

#[test]
fn a_wrong_cookie_ends_the_driver() {
    let report = run(3);
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!((finding.rule, finding.detail.as_str()), (Rule::FastFail, "__fastfail(2): stack cookie check"));
    assert_eq!(
        finding.stack.last().or(finding.place.as_ref()).and_then(|place| place.symbol.as_deref()),
        Some("DriverEntry")
    );
}
