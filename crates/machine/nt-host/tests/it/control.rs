//! Control devices: opened by name or symbolic link, with several handles at a time and every kind of request.

use crate::common::c::{Log, plain};
use etw_types::NtStatus;
use nt_host::{Error, GapKind, NtHost};

/// Loads the driver. Some requests of these tests are not meant to reach it.
fn start() -> (NtHost, Log) {
    (plain("wdm_control").allow(GapKind::NotReached).start().expect("DriverEntry"), Log::default())
}

#[test]
fn a_device_is_opened_by_its_name_and_by_each_spelling_of_its_link() {
    let (host, mut log) = start();
    let names = [r"\Device\CControl", r"\\.\CControl", r"\??\ccontrol", r"\DosDevices\CControl", r"\GLOBAL??\CCONTROL"];
    for (number, name) in (1..).zip(names) {
        host.open(name).expect(name).close().expect("a close");
        let expected =
            [format!("create {number} '', 1 references"), format!("cleanup {number}"), format!("close {number}")];
        assert_eq!(log.lines(&host), expected);
    }
    let file = host.open(r"\\.\CControl\a\file").expect("a name behind the device's");
    assert_eq!(log.lines(&host), [r"create 6 '\a\file', 1 references"]);
    file.close().expect("a close");
    for (name, status) in [
        (r"\\.\CControl2", NtStatus::ObjectNameNotFound),
        (r"\Device\Nothing", NtStatus::ObjectNameNotFound),
        (r"\\.\CControl\deny", NtStatus::AccessDenied),
    ] {
        match host.open(name) {
            Err(Error::Status(refused)) => assert_eq!(refused, status, "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
    host.unload().expect("unload").assert_clean();
}

#[test]
fn several_handles_have_their_own_contexts_and_go_before_the_driver() {
    let (host, mut log) = start();
    let first = host.open(r"\\.\CControl").expect("a file");
    let second = host.open(r"\\.\CControl").expect("a file");
    assert_eq!(log.lines(&host)[1], "create 2 '', 2 references");
    assert_eq!(second.read(3).expect("a reply").output, [2, 2, 2]);
    assert_eq!(first.read(2).expect("a reply").output, [1, 1]);
    assert_eq!(first.write(&[9, 8]).expect("a reply").information, 2);
    assert_eq!(first.ioctl(0x0022_2000, &[], 0).expect("a reply").status, NtStatus::Success);
    assert_eq!(second.internal_ioctl(0x0022_0003, &[], 0).expect("a reply").status, NtStatus::Success);
    let lines = ["write 2 of 9", "control 222000 of 14, thread 1", "control 220003 of 15, thread 1"];
    assert_eq!(log.lines(&host), lines);
    first.clone().close().expect("a close");
    assert!(matches!(first.read(1), Err(Error::Status(NtStatus::InvalidHandle))), "a closed file");
    log.lines(&host);
    // The host closes the handle that is still open before it unloads the driver.
    host.unload().expect("unload").assert_clean();
    assert_eq!(log.lines(&host), ["cleanup 2", "close 2"]);
}

#[test]
fn an_exclusive_device_is_open_once() {
    let (host, _) = start();
    let file = host.open(r"\\.\CExclusive").expect("a file");
    assert!(matches!(host.open(r"\\.\CExclusive"), Err(Error::Status(NtStatus::AccessDenied))), "a second handle");
    file.close().expect("a close");
    host.open(r"\\.\CExclusive").expect("a file").close().expect("a close");
    host.unload().expect("unload").assert_clean();
}
