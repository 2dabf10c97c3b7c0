//! A HID minidriver under the model of the HID class driver.

use std::path::PathBuf;

use crate::common::c::{Log, build};
use etw_types::NtStatus;
use nt_host::{Device, Error, GapKind, NtHost, Rule};
use windows_constants::hid::{
    IOCTL_HID_GET_COLLECTION_DESCRIPTOR, IOCTL_HID_GET_COLLECTION_INFORMATION, IOCTL_HID_GET_FEATURE,
    IOCTL_HID_GET_INDEXED_STRING, IOCTL_HID_GET_PRODUCT_STRING, IOCTL_HID_GET_SERIALNUMBER_STRING,
    IOCTL_HID_SET_FEATURE,
};

fn image(bug: u32) -> PathBuf {
    build("hid_minidriver", bug, "DriverEntry", &["ntoskrnl", "hidclass"])
}

fn started(bug: u32) -> (NtHost, Device) {
    let host = NtHost::builder().driver(image(bug)).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    (host, device)
}

#[test]
fn reports_and_strings_pass_the_class_driver() {
    let (host, device) = started(0);
    let mut log = Log::default();
    assert_eq!(log.lines(&host), ["start"]);
    let file = device.open().expect("a file");

    // A read waits for the report that a write causes.
    let read = file.begin_read(8).expect("a read");
    assert_eq!(file.write(&[1, 0xAA, 0xBB]).expect("a write").status, NtStatus::Success);
    let answer = read.wait().expect("an answer");
    assert_eq!(answer.status, NtStatus::Success);
    assert_eq!(answer.output, vec![1, 0xAA, 0xBB]);
    // The other way round, the minidriver keeps the report.
    assert_eq!(file.write(&[1, 7, 8]).expect("a write").information, 3);
    assert_eq!(file.read(3).expect("a read").output, [1, 7, 8]);
    assert_eq!(file.read(2).expect("a read").status, NtStatus::InvalidBufferSize);
    assert_eq!(file.write(&[3, 0, 0]).expect("a write").status, NtStatus::InvalidParameter);

    assert_eq!(file.ioctl(IOCTL_HID_SET_FEATURE, &[2, 1, 2, 3, 4], 0).expect("a feature").status, NtStatus::Success);
    assert_eq!(
        file.ioctl_with_output(IOCTL_HID_GET_FEATURE, &[], &[2, 0, 0, 0, 0]).expect("a feature").output,
        [2, 1, 2, 3, 4]
    );
    assert_eq!(
        file.ioctl_with_output(IOCTL_HID_GET_FEATURE, &[], &[1, 0, 0, 0, 0]).expect("a feature").status,
        NtStatus::InvalidParameter
    );

    let text = |code, input: &[u8]| file.ioctl(code, input, 64).expect("a string");
    assert_eq!(
        text(IOCTL_HID_GET_PRODUCT_STRING, &[]).output,
        "Product\0".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>()
    );
    assert_eq!(text(IOCTL_HID_GET_SERIALNUMBER_STRING, &[]).status, NtStatus::InvalidParameter);
    assert_eq!(text(IOCTL_HID_GET_INDEXED_STRING, &3_u32.to_le_bytes()).output, [b'3', 0, 0, 0]);
    assert_eq!(log.lines(&host), ["string 15 in language 409", "string 16 in language 409"]);
    let information = file.ioctl(IOCTL_HID_GET_COLLECTION_INFORMATION, &[], 12).expect("information").output;
    assert_eq!(information, [0, 0, 0, 0, 0, 0, 0x34, 0x12, 0x78, 0x56, 0, 1]);

    // A read that nobody answers is canceled.
    let read = file.begin_read(3).expect("a read");
    read.cancel().expect("a cancellation");
    assert_eq!(read.wait().expect("an answer").status, NtStatus::Cancelled);
    file.close().expect("a close");
    device.remove().expect("removal");
    assert_eq!(log.lines(&host), ["remove"]);
    host.unload().expect("unload").assert_clean();
}

/// The removal of a device closes its files, which cancels what the minidriver pends.
#[test]
fn a_device_with_a_pending_read_is_removed() {
    let (host, device) = started(0);
    let file = device.open().expect("a file");
    let read = file.begin_read(3).expect("a read");
    device.surprise_remove().expect("removal");
    assert_eq!(read.wait().expect("an answer").status, NtStatus::Cancelled);
    host.unload().expect("unload").assert_clean();
}

#[test]
fn what_the_model_lacks_is_a_gap() {
    let (host, device) = started(0);
    let file = device.open().expect("a file");
    assert_eq!(
        file.ioctl(IOCTL_HID_GET_COLLECTION_DESCRIPTOR, &[], 64).expect("an answer").status,
        NtStatus::NotSupported
    );
    drop((file, device));
    let report = host.unload().expect("unload");
    let [gap] = report.gaps() else { panic!("{:#?}", report.gaps()) };
    assert_eq!(gap.detail, "nt-host's HID class driver does not model the control code 0xB0193");
}

/// Each mistake is found where the minidriver makes it.
#[test]
fn wrong_reports_are_found() {
    for (bug, routine, detail) in [
        (1, "IOCTL_HID_READ_REPORT", "completes the request with 2 bytes: its report descriptor says 3"),
        (2, "IOCTL_HID_READ_REPORT", "completes the request with report 9, which its report descriptor does not have"),
        (4, "IOCTL_HID_GET_FEATURE", "completes the request with 500 bytes, but its buffer has 5"),
    ] {
        let (host, device) = started(bug);
        let file = device.open().expect("a file");
        file.write(&[1, 2, 3]).expect("a write");
        if bug == 4 {
            assert_eq!(
                file.ioctl_with_output(IOCTL_HID_GET_FEATURE, &[], &[2, 0, 0, 0, 0]).expect("a feature").output.len(),
                5
            );
        } else {
            assert_eq!(file.read(3).expect("a read").status, NtStatus::Unsuccessful);
        }
        drop((file, device));
        let report = host.unload().expect("unload");
        let [finding] = report.findings() else { panic!("{bug}: {:#?}", report.findings()) };
        assert_eq!(finding.rule, Rule::RequestMisuse);
        assert_eq!(finding.routine.as_deref(), Some(routine));
        assert_eq!(&*finding.detail, detail);
        let symbol = finding.location.as_ref().and_then(|location| location.symbol.as_deref());
        assert_eq!(symbol, Some("Control"), "{finding:#?}");
    }
    // What the minidriver writes behind a report is found when the class driver frees the report.
    let (host, device) = started(9);
    device.ioctl_with_output(IOCTL_HID_GET_FEATURE, &[], &[2, 0, 0, 0, 0]).expect("a feature");
    drop(device);
    let report = host.unload().expect("unload");
    let [finding] = report.findings() else { panic!("{:#?}", report.findings()) };
    let detail = "overwrites byte 5 of a buffer or object of 5 bytes from the system";
    assert_eq!(finding.rule, Rule::PoolOverrun);
    assert_eq!(&*finding.detail, detail);
    let (host, device) = started(5);
    let read = device.open().expect("a file").begin_read(3).expect("a read");
    read.cancel().expect("a cancellation");
    drop((read, device));
    let report = host.unload().expect("unload");
    assert!(report.findings().iter().any(|finding| finding.rule == Rule::RequestNever), "{:#?}", report.findings());
}

#[test]
fn wrong_descriptors_do_not_start_the_device() {
    for (bug, kind, detail, advice) in [
        (3, GapKind::NotStarted, "0xC0000001", "the report descriptor is not valid: a collection does not end"),
        (6, GapKind::NotStarted, "0xC0000001", "the HID descriptor is not valid: [09, 21, 11, 01, 00, 01, 00, 1e, 00]"),
        (7, GapKind::NotAdded, "AddDevice returned 0xC000009A", ""),
    ] {
        let host = NtHost::builder().driver(image(bug)).start().expect("DriverEntry");
        assert!(host.add_device().is_err());
        let report = host.unload().expect("unload");
        assert_eq!(report.findings(), [], "{bug}");
        let [gap] = report.gaps() else { panic!("{bug}: {:#?}", report.gaps()) };
        assert!(gap.kind == kind, "{bug}: {gap:#?}");
        assert!(gap.detail.contains(detail), "{bug}: {gap:#?}");
        assert!(advice.is_empty() || gap.advice.iter().any(|known| known == advice), "{bug}: {gap:#?}");
    }
    let refused = NtHost::builder().driver(image(8)).start();
    assert!(matches!(refused, Err(Error::DriverEntry(NtStatus::RevisionMismatch, ..))), "{refused:?}");
}
