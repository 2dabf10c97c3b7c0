//! What the loader sets up: the security cookie, Control Flow Guard, section protection, GS and CR8 (the IRQL).

use crate::common::c::{build_with, plain};
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
    for (bug, what, verb, reason) in [
        (1, "constants", "writes to", "is read-only"),
        (2, "code", "writes to", "is read-only"),
        (4, "what was discarded", "executes", "was discarded after DriverEntry"),
        (5, "data as code", "executes", "is not executable"),
    ] {
        let report = run(bug);
        let [finding] = report.findings() else { panic!("{what}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, if bug == 5 { Rule::NoExecute } else { Rule::AccessViolation }, "{what}");
        let detail = &finding.detail;
        assert!(detail.starts_with(&format!("{verb} image+0x")), "{what}: {detail}");
        assert!(detail.ends_with(&format!(", which {reason}")), "{what}: {detail}");
        let places = finding.location.iter().chain(&finding.stack);
        let lines: Vec<_> = places.filter_map(|location| location.line).collect();
        // The marked line is the place itself, or its caller if the driver calls data or discarded code.
        assert!(lines.iter().take(2).any(|line| Some(*line) == marked(bug)), "{what}: {lines:?}");
    }
}

#[test]
fn a_wrong_cookie_ends_the_driver() {
    let report = run(3);
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::FastFail);
    assert_eq!(finding.detail.as_str(), "__fastfail(2): stack cookie check");
    assert_eq!(
        finding.stack.last().or(finding.location.as_ref()).and_then(|location| location.symbol.as_deref()),
        Some("DriverEntry")
    );
}

/// Has `wdm_execute` execute code in memory of this kind.
fn execute(kind: u32) -> Result<u32, Box<Report>> {
    let host = plain("wdm_execute").start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    match device.ioctl(0x0022_2000 + kind * 4, &[], 4) {
        Ok(reply) => {
            host.unload().expect("unload").assert_clean();
            Ok(u32::from_le_bytes(reply.output.try_into().expect("four bytes")))
        }
        Err(Error::Stopped(report)) => Err(report),
        Err(error) => panic!("{error}"),
    }
}

/// Microsoft's code analysis (C30029, C30030) lists what allocates executable memory.
#[test]
fn code_runs_in_memory_that_is_executable_on_windows() {
    let kinds =
        ["NonPagedPool", "POOL_FLAG_NON_PAGED_EXECUTE", "a device", "MmMapIoSpaceEx", "a mapping", "many others"];
    for (kind, name) in (0..).zip(kinds) {
        assert_eq!(execute(kind).expect(name), 42, "{name}");
    }
}

#[test]
fn code_in_memory_that_is_not_executable_is_a_finding_with_its_place() {
    let pool = "executes byte 0 of an allocation of 64 bytes with tag Test, which is not executable";
    let device = "executes byte 0 of an allocation of 4096 bytes with tag MmIo, which is not executable";
    let stack = "on the kernel stack, which is not executable";
    for (kind, end) in [(6, pool), (7, pool), (8, pool), (9, device), (10, pool), (11, stack), (12, "executable")] {
        let report = execute(kind).expect_err("a finding");
        let [finding] = report.findings() else { panic!("{kind}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, Rule::NoExecute, "{kind}");
        assert!(finding.detail.starts_with("executes "), "{}", finding.detail);
        assert!(finding.detail.ends_with(end), "{}", finding.detail);
        let source: Vec<&str> = include_str!("../../drivers/c/wdm_execute.c").lines().collect();
        let lines = finding.location.iter().chain(&finding.stack).filter_map(|location| location.line);
        let mut texts = lines.map(|line| source.get(line as usize - 1).copied().unwrap_or_default());
        assert!(texts.any(|text| text.ends_with("/* executed */")), "{kind}: {finding:#?}");
    }
}

#[test]
fn instructions_in_pool_are_imitated_or_found_as_in_the_image() {
    assert_eq!(execute(13).expect("the IRQL"), 42);
    let report = execute(14).expect_err("a finding");
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    assert_eq!(finding.rule, Rule::IllegalInstruction);
    assert!(finding.detail.starts_with("syscall"), "{}", finding.detail);
}
