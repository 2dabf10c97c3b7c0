//! `--os`: releases that load a driver, and those that refuse it.

use std::process::Command;

use nt_host::Os;
use test_support::drivers::built;

#[test]
fn a_release_that_refuses_a_driver_is_named_with_both_versions_and_the_first_that_does_not() {
    let sample = built("driver_sample.sys");
    let run = |os: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(&sample).args(["--os", os]).output();
        let output = output.expect("the command");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for os in ["win7", "win10-1709", "server2016", "6.3"] {
        let (code, text) = run(os);
        assert_eq!(code, Some(1), "{os}: {text}");
        let has = os.parse::<Os>().expect("a release").kmdf();
        for part in [
            "not loaded, 0xC000000D STATUS_INVALID_PARAMETER",
            "built for KMDF 1.33 and needs KMDF 1.25 or later",
            &format!("has KMDF {has}"),
            "the first release with KMDF 1.25 is win10-1803 (Windows 10 1803, build 17134)",
        ] {
            assert!(text.contains(part), "{os}: no `{part}` in {text}");
        }
    }
    for os in ["win10-1803", "server2019", "win10", "17763", "10.0.19041"] {
        assert_eq!(run(os).0, Some(0), "{os}");
    }
}
