//! The steps that open devices and send requests, and requests that cannot be sent.

use std::process::{Command, Output};

use test_support::drivers::c::build;

fn command(arguments: &[&str]) -> Output {
    let image = build("wdm_control", 0, "DriverEntry", &["ntoskrnl"]);
    Command::new(env!("CARGO_BIN_EXE_nt-host")).arg("run").arg(image).args(arguments).output().expect("the command")
}

/// The output of the command without the hexadecimal values of statuses.
fn text(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_inclusive(' ').filter(|word| !(word.starts_with("0x") && word.len() == 11)).collect()
}

#[test]
fn the_command_opens_devices_and_sends_every_kind_of_request() {
    let steps =
        r"--open \\.\CControl --open \Device\CControl --read 2 --handle 1 --read 1 --write 07 --wait 10ms --close";
    let more = ["--handle", "2", "--internal-ioctl", "220003", "--ioctl", "222000"];
    let output = command(&steps.split(' ').chain(more).collect::<Vec<_>>());
    let text = text(&output);
    for line in [
        r"open \\.\CControl: handle 1",
        r"open \Device\CControl: handle 2",
        "read: STATUS_SUCCESS 0202",
        "read: STATUS_SUCCESS 01",
        "write: STATUS_SUCCESS",
        "internal ioctl 00220003: STATUS_SUCCESS",
        "ioctl 00222000: STATUS_SUCCESS",
        "  | close 1",
        "  | close 2",
    ] {
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
    }
    assert_eq!(output.status.code(), Some(0), "{text}");
}

#[test]
fn a_request_that_could_not_be_sent_makes_a_run_incomplete() {
    for (arguments, line, end, code) in [
        (
            vec!["--open", r"\\.\Nobody", "--read", "1"],
            "read: not sent: STATUS_INVALID_HANDLE",
            r"incomplete: open \\.\Nobody did not reach the driver",
            4,
        ),
        (
            vec!["--no-device", "--ioctl", "222000"],
            "ioctl 00222000: not sent: STATUS_NO_SUCH_DEVICE",
            "incomplete: ioctl 00222000 did not reach the driver: there is no device",
            4,
        ),
        // The driver refuses, so the open has reached it. What follows cannot.
        (vec!["--open", r"\\.\CControl\deny"], r"open \\.\CControl\deny: STATUS_ACCESS_DENIED", ": clean", 0),
        (
            vec!["--open", r"\\.\CControl\deny", "--read", "1"],
            "read: not sent: STATUS_INVALID_HANDLE",
            "incomplete: read did not reach the driver: the device is not open",
            4,
        ),
        (vec!["--close"], "close: STATUS_INVALID_HANDLE", "incomplete: close did not reach the driver", 4),
    ] {
        let output = command(&arguments);
        let text = text(&output);
        assert!(text.lines().any(|known| known == line), "{line}\n{text}");
        assert!(text.contains(end), "{text}");
        assert_eq!(output.status.code(), Some(code), "{text}");
    }
    let json = String::from_utf8_lossy(&command(&["--open", r"\\.\Nobody", "--json"]).stdout).into_owned();
    assert!(json.contains("\"sent\":false"), "{json}");
    assert!(json.contains("\"result\":\"incomplete\""), "{json}");
}
