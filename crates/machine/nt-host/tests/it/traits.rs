//! Malformed traits: each kind gets the status that Windows is known to return.

use std::fs;

use crate::common;
use etw_types::NtStatus;
use nt_host::{Error, GapKind, NtHost};

#[test]
fn each_malformed_kind_gets_its_status() {
    let statuses = [
        ('0', NtStatus::Success),
        ('1', NtStatus::InvalidParameter),
        ('2', NtStatus::FileCorruptError),
        ('3', NtStatus::FileCorruptError),
        ('4', NtStatus::FileCorruptError),
        ('5', NtStatus::Unsuccessful),
        ('6', NtStatus::InvalidParameter),
        ('7', NtStatus::InvalidParameter),
        ('9', NtStatus::InvalidDeviceRequest),
    ];
    for (variant, expected) in statuses {
        let path = common::folder().join(format!("traits_{variant}.sys"));
        fs::copy(common::broken("traits"), &path).expect("a copy of the driver");
        let host = NtHost::builder().driver(&path).allow(GapKind::NotLoaded).prepare().expect("a driver");
        let status = match host.load() {
            Ok(()) => NtStatus::Success,
            Err(Error::DriverEntry(status, _)) => status,
            Err(error) => panic!("{variant}: {error}"),
        };
        assert_eq!(status, expected, "{variant}");
        host.report().assert_clean();
    }
}
