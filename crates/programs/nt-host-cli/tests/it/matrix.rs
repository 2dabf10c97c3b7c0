//! `nt-host matrix`.

use std::process::Command;

use test_support::drivers::built;

#[test]
fn every_call_that_can_fail_may_fail() {
    let output = Command::new(env!("CARGO_BIN_EXE_nt-host"))
        .arg("matrix")
        .arg(built("driver_sample.sys"))
        .args(["--ioctl", "22E000:68656c6c6f", "--ioctl", "226004"])
        .output()
        .expect("the command");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
