//! Drivers in Rust: the sample, those of the kit, and those on `wdk-kmdf`.

use std::path::PathBuf;
use std::time::Duration;

use etw_types::NtStatus;
use nt_host::{Below, Builder, Device, Error, Matrix, NtHost, RequestKind, Resource};

use super::{adapted, original};
use crate::common;
use crate::kmdf::{code, driver, lifetimes};
use crate::matrix::kit;

/// The results of a run.
type Results = Result<Vec<String>, Error>;

/// Loads the driver, adds a device, performs the steps, removes the device and unloads the driver on both frameworks.
/// Everything must be the same.
fn same(builder: Builder, mut steps: impl FnMut(&NtHost, &Device) -> Results) {
    let Some(framework) = original() else { return };
    let found = adapted(builder).compare(framework, |host| {
        host.load()?;
        let device = host.add_device()?;
        let mut results = steps(host, &device)?;
        results.push(format!("{:?}", device.remove().map_err(|error| error.to_string())));
        host.unload()?;
        Ok(results)
    });
    let found: Vec<String> = found.expect("both runs").iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{found:#?}");
}

fn built(image: PathBuf) -> Builder {
    NtHost::builder().driver(image)
}

fn control(device: &Device, requests: &[(u32, &[u8])]) -> Results {
    let reply = |(code, input): &(u32, &[u8])| {
        device.ioctl(*code, input, 64).map(|reply| format!("{code:#X}: {} {:?}", reply.status, reply.output))
    };
    requests.iter().map(reply).collect()
}

#[test]
fn the_drivers_of_the_kit_are_the_same() {
    if original().is_none() {
        return;
    }
    for name in ["kit_echo.sys", "kit_timer.sys"] {
        same(built(kit(name)), |host, device| {
            let mut results = vec![device.read(8)?.status.to_string(), device.write(b"hello")?.status.to_string()];
            let reply = device.read(8)?;
            results.push(format!("{} {:?}", reply.status, reply.output));
            results.push(device.ioctl(0x0022_2000, &[], 8)?.status.to_string());
            host.advance(Duration::from_secs(3))?;
            Ok(results)
        });
    }
}

/// The events and callbacks of the sample's whole life: nine control requests, timer ticks, sleep and wake-up.
#[test]
fn the_sample_writes_the_same_events() {
    if original().is_none() {
        return;
    }
    let echo = 0x0022_E000;
    let statistics = 0x0022_6004;
    let statuses = 0x0022_600C;
    let unknown = 0x0022_2FFC;
    let mut events = 0;
    same(built(common::built("driver_sample.sys")), |host, device| {
        let mut results = control(device, &[(echo, b"hello"), (statistics, b""), (statuses, b""), (unknown, b"")])?;
        host.advance(Duration::from_millis(2500))?;
        results.extend(control(device, &[(echo, b""), (echo, &[7; 64]), (statistics, b"")])?);
        device.sleep()?;
        device.wake()?;
        results.extend(control(device, &[(echo, b"again"), (statistics, b"")])?);
        assert_eq!(results.len(), 9);
        // As results, the events are compared in the order of the whole trace, and not only in that of each thread.
        let mut decoder = host.decoder();
        let written = host.trace().events()?;
        events = written.len();
        results.extend(written.iter().map(|event| decoder.decode(&event.as_ref()).to_string()));
        Ok(results)
    });
    assert!(events > 20, "{events} events");
}

#[test]
fn the_echo_driver_is_the_same() {
    if original().is_none() {
        return;
    }
    for name in ["kmdf_echo.sys", "kmdf_echo_raw.sys"] {
        same(built(driver(name)), |host, device| {
            let mut results = vec![device.read(8)?.status.to_string()];
            let write = device.begin_write(b"hello")?;
            host.advance(Duration::from_millis(100))?;
            results.push(write.wait()?.status.to_string());
            let first = device.begin_read(64)?;
            let second = device.begin_read(2)?;
            second.cancel()?;
            results.push(second.wait()?.status.to_string());
            device.sleep()?;
            results.push(format!("{:?}", first.wait()?.output));
            device.wake()?;
            Ok(results)
        });
    }
}

/// The devices of the driver have children, and all callbacks: the children go after the last request of their parent.
#[test]
fn children_go_with_their_parents_in_the_same_order() {
    let Some(framework) = original() else { return };
    for surprise in [false, true] {
        let found = adapted(built(driver("kmdf_misuse.sys"))).compare(&framework, |host| {
            host.load()?;
            let devices = [host.add_device()?, host.add_device()?];
            let mut results = control(&devices[0], &[(code(0), b"input")])?;
            devices[1].sleep()?;
            devices[1].wake()?;
            for device in devices {
                let removed = if surprise { device.surprise_remove() } else { device.remove() };
                results.push(format!("{:?}", removed.map_err(|error| error.to_string())));
            }
            host.unload()?;
            Ok(results)
        });
        let found: Vec<String> = found.expect("both runs").iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "{surprise}: {found:#?}");
    }
}

/// What the driver tries on the original with one device: wrong replies, types, names and sizes.
#[test]
fn the_driver_that_misuses_the_crate_is_clean_on_the_original() {
    let Some(framework) = original() else { return };
    let host = adapted(built(driver("kmdf_misuse.sys"))).framework(framework).start().expect("DriverEntry");
    let first = host.add_device().expect("a device");
    let second = host.add_device().expect("a device");
    let ask = |device: &Device, code| device.ioctl(code, b"input", 32).expect("a reply");
    // Nothing, too much, dropped, moved, nested locks, wrong types, reused input, abandoned output, all attempts, overruns.
    for (function, expected) in [
        (0, NtStatus::Success),
        (1, NtStatus::Success),
        (2, NtStatus::Cancelled),
        (3, NtStatus::Success),
        (6, NtStatus::Success),
        (8, NtStatus::InvalidDeviceRequest),
        (10, NtStatus::InvalidDeviceRequest),
        (11, NtStatus::Success),
        (15, NtStatus::Success),
        (16, NtStatus::Success),
    ] {
        let reply = ask(&second, code(function));
        assert_eq!(reply.status, expected, "{function}: {}", host.report().output());
        assert!(function != 15 || reply.output == [0; 4], "{}", host.report().output());
    }
    first.remove().expect("removal");
    second.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// Handles of the first device are kept, and used for the second one while the first lives and after it is gone.
#[test]
fn handles_that_outlive_their_device_do_nothing_on_the_original() {
    let Some(framework) = original() else { return };
    let host = adapted(built(driver("kmdf_misuse.sys"))).framework(framework).start().expect("DriverEntry");
    let first = host.add_device().expect("a device");
    let second = host.add_device().expect("a device");
    let ask = |device: &Device, code| device.ioctl(code, b"input", 32).expect("a reply");
    assert_eq!(ask(&first, code(7)).status, NtStatus::Success);
    for device in [Some(first), None] {
        assert!(ask(&second, code(9)).status.is_error(), "a queue of another device");
        let kept = second.begin_ioctl(code(12), &[], 0).expect("a request");
        kept.cancel().expect("a cancellation");
        assert_eq!(kept.wait().expect("a reply").status, NtStatus::Cancelled);
        device.map(Device::remove).transpose().expect("removal");
    }
    second.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

/// Calls of the kernel that the driver makes itself fail; those of the framework do not.
#[test]
fn the_echo_driver_is_clean_on_the_original_whatever_fails() {
    let Some(framework) = original() else { return };
    let survey = Matrix::new(adapted(built(driver("kmdf_echo.sys"))).framework(framework)).run(|host| {
        host.load()?;
        let device = host.add_device()?;
        let write = device.begin_write(b"hello")?;
        host.advance(Duration::from_millis(100))?;
        write.wait()?;
        device.remove()?;
        host.unload().map(drop)
    });
    survey.expect("a run to the end").assert_clean();
}

#[test]
fn the_driver_for_control_requests_is_the_same() {
    let Some(framework) = original() else { return };
    let found = adapted(built(driver("kmdf_ioctl.sys"))).compare(framework, |host| {
        host.load()?;
        let file = host.open(r"\\.\NONPNP")?;
        // Direct input, direct output, buffered, neither.
        let codes = (0..4).map(|method: u32| 40001 << 16 | (0x900 + method) << 2 | [1, 2, 0, 3][method as usize]);
        let mut results = Vec::new();
        for (code, input) in codes.flat_map(|code| [(code, b"hello".as_slice()), (code, b"")]) {
            let reply = file.ioctl(code, input, 64)?;
            results.push(format!("{code:#X}: {} {:?}", reply.status, reply.output));
        }
        results.push(format!("{:?}", file.read(64)?.output));
        file.close()?;
        host.unload()?;
        Ok(results)
    });
    let found: Vec<String> = found.expect("both runs").iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{found:#?}");
}

/// Queues, targets, requests of its own, the registry, a child that another thread starts, idle power, sleep.
#[test]
fn the_driver_that_uses_most_of_the_crate_is_the_same() {
    if original().is_none() {
        return;
    }
    let below = |code, status, output: &[u8]| Below {
        device: None,
        kind: Some(RequestKind::DEVICE_CONTROL),
        code: Some(code),
        status,
        output: output.to_vec(),
        delay: Duration::from_millis(10),
    };
    let builder = built(driver("kmdf_tour.sys"))
        .resource(Resource::LineInterrupt)
        .resource(Resource::MessageInterrupts(1))
        .below(below(code(3), NtStatus::NotSupported, &[]))
        .below(below(code(4), NtStatus::Success, b"below"))
        .below(below(code(8), NtStatus::Success, b"mine"));
    same(builder, |host, device| {
        let waiting = device.begin_ioctl(code(0), &[], 16)?;
        let mut results = control(device, &[1, 1, 2, 2, 3, 4, 5, 6, 7, 8].map(|function| (code(function), &b""[..])))?;
        results.push(format!("{:?}", waiting.wait()?.output));
        device.sleep()?;
        device.wake()?;
        // Another thread starts and removes the child.
        let file = device.open()?;
        for function in [9, 10] {
            results.push(file.ioctl(code(function), b"", 64)?.status.to_string());
            host.advance(Duration::from_millis(1))?;
        }
        file.close()?;
        Ok(results)
    });
}

/// Devices that are removed or deleted while their callbacks need them, and a filter above each kind of device: what the driver sees
/// is the same, and it finds its values.
#[test]
fn the_driver_that_uses_what_is_gone_is_the_same() {
    let Some(framework) = original() else { return };
    let found = adapted(lifetimes::builder()).compare(framework, |host| {
        host.load()?;
        let mut results = lifetimes::remove_while_a_request_is_sent(host)?;
        results.extend(lifetimes::delete_in_work(host)?);
        results.extend(lifetimes::delete_in_queue(host)?);
        for lower in 1..=3 {
            results.push(format!("{:?}", lifetimes::filter(host, lower)?));
        }
        host.unload()?;
        Ok(results)
    });
    let found: Vec<String> = found.expect("both runs").iter().map(ToString::to_string).collect();
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_driver_that_uses_what_is_gone_is_clean_on_the_original() {
    let Some(framework) = original() else { return };
    let host = adapted(lifetimes::builder()).framework(framework).start().expect("DriverEntry");
    lifetimes::remove_while_a_request_is_sent(&host).expect("a removal");
    lifetimes::delete_in_work(&host).expect("a deletion");
    lifetimes::delete_in_queue(&host).expect("a deletion");
    for lower in 1..=3 {
        lifetimes::filter(&host, lower).expect("a filter");
    }
    host.unload().expect("unload").assert_clean();
}

#[test]
fn a_control_device_that_is_never_deleted_does_not_drop_its_value_on_the_original() {
    let Some(framework) = original() else { return };
    let host = adapted(lifetimes::builder()).framework(framework).start().expect("DriverEntry");
    let (lines, rules) = lifetimes::forget(&host).expect("the steps");
    assert_eq!(lines, ["forgotten cleaned up, memory true"], "{rules:?}");
}
