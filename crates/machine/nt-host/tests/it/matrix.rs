//! Every call that can fail is made to fail, in every test driver. The driver must return an error or continue, without
//! a finding.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use crate::common;
use crate::common::c;
use etw_types::NtStatus;
use nt_host::{Builder, Device, Error, GapKind, Matrix, NtHost, RegistryKey, RegistryValue, Rule};

/// The number of runs with random failures for each driver. The environment variable `NT_HOST_SEEDS` sets it.
fn seeds() -> u64 {
    std::env::var("NT_HOST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(12)
}

/// Tries every failure while the driver is loaded, gets a device, serves `requests` and timers, and is unloaded.
/// Returns the number of failures tried.
fn survey(builder: Builder, requests: impl Fn(&NtHost, &Device) -> Result<(), Error>) -> u64 {
    let drive = |host: &NtHost| {
        host.load()?;
        let device = host.add_device()?;
        requests(host, &device)?;
        host.advance(Duration::from_millis(2500))?;
        device.remove()?;
        host.unload().map(drop)
    };
    let survey = Matrix::new(builder.trace_all()).seeds(seeds()).run(drive).expect("a driver without failures");
    println!("{survey}");
    survey.assert_clean();
    survey.failures
}

/// Begins all requests, then cancels each one and waits for it.
fn cancel_all(device: &Device, requests: &[(u32, u8)]) -> Result<(), Error> {
    let begun: Result<Vec<_>, Error> =
        requests.iter().map(|(code, number)| device.begin_ioctl(*code, &[*number], 0)).collect();
    for request in begun? {
        request.cancel()?;
        request.wait()?;
    }
    Ok(())
}

#[test]
fn the_sample() {
    let tried = survey(NtHost::builder().driver(common::built("driver_sample.sys")), |host, device| {
        device.ioctl(0x0022_E000, b"hello", 64)?;
        device.ioctl(0x0022_6004, &[], 64)?;
        host.advance(Duration::from_secs(1))
    });
    assert!(tried > 10, "{tried}");
}

#[test]
fn a_kmdf_driver_in_c() {
    survey(c::framework("kmdf"), |_, device| device.ioctl(0x0022_2000, &[1, 2, 3], 4).map(drop));
}

#[test]
fn a_wdm_driver_in_c() {
    survey(c::plain("wdm"), |_, device| device.ioctl(0x0022_2000, b"hello", 64).map(drop));
}

#[test]
fn plug_and_play_power_files_objects_and_keys() {
    survey(c::framework("kmdf_life"), |_, device| {
        for function in [0, 2, 3, 4, 5] {
            device.ioctl(0x0022_2000 | function << 2, b"data", 0)?;
        }
        device.sleep()?;
        device.wake()
    });
}

#[test]
fn queues_and_cancellation() {
    survey(c::framework("kmdf_queues"), |_, device| {
        cancel_all(
            device,
            &[(0x0022_2000, 1), (0x0022_2008, 2), (0x0022_2010, 3), (0x0022_2010, 4), (0x0022_2010, 5)],
        )?;
        let waiting = [device.begin_ioctl(0x0022_2008, &[1], 0)?, device.begin_ioctl(0x0022_2008, &[2], 0)?];
        for function in [18, 25, 17, 26, 20, 21, 23] {
            device.ioctl(0x0022_2000 | function << 2, &[0], 0)?;
        }
        for request in waiting {
            request.cancel()?;
            request.wait()?;
        }
        Ok(())
    });
}

#[test]
fn timers_work_items_and_locks() {
    survey(c::framework("kmdf_time"), |_, device| {
        for function in 0..6 {
            device.ioctl(0x0022_2000 | function << 2, &[], 0)?;
        }
        Ok(())
    });
}

#[test]
fn a_stack_of_devices() {
    survey(c::plain("wdm_stack"), |_, device| {
        device.ioctl(0x0022_2004, &[], 0)?;
        cancel_all(device, &[(0x0022_2000, 0)])?;
        device.sleep()?;
        device.wake()
    });
}

#[test]
fn the_parts_of_the_kernel() {
    let tried = survey(c::plain("wdm_kernel"), |_, device| device.ioctl(0x0022_2000, &[], 256).map(drop));
    assert!(tried > 15, "{tried}");
}

#[test]
fn every_broken_driver_without_its_mistake() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/src/bin");
    let names = fs::read_dir(sources).expect("the drivers").map(|entry| entry.expect("a driver").path());
    let mut tried = 0;
    for source in names.filter(|source| fs::read_to_string(source).expect("its source").contains("buggy()")) {
        let name = source.file_stem().expect("a name").to_string_lossy().into_owned();
        let drive = |host: &NtHost| {
            host.load()?;
            if let Ok(device) = host.add_device() {
                device.ioctl(0x0022_2000, &[], 0)?;
            }
            host.unload().map(drop)
        };
        let matrix = Matrix::new(NtHost::builder().driver(common::clean(&name)).trace_all()).seeds(2);
        let survey = matrix.run(drive).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(survey.broken.is_empty(), "{name}: {survey}");
        tried += survey.failures;
    }
    assert!(tried > 20, "{tried}");
}

/// Loads and unloads a driver.
fn load_and_unload(host: &NtHost) -> Result<(), Error> {
    host.load()?;
    host.unload().map(drop)
}

#[test]
fn a_mistake_of_many_runs_is_reported_once_at_the_drivers_line() {
    let matrix = Matrix::new(NtHost::builder().driver(common::broken("allocation_panic"))).seeds(40);
    let survey = matrix.run(load_and_unload).expect("a driver without failures");
    assert!(survey.broken.len() > 2, "{survey}");
    let mistakes = survey.mistakes();
    let [mistake] = mistakes.as_slice() else { panic!("{survey}") };
    assert_eq!(mistake.first, "ExAllocatePool2@1");
    assert_eq!(mistake.failures, 1);
    assert_eq!(mistake.seeds, survey.broken.len() as u64 - 1);
    // The panic is in alloc.rs, but the user can only change the driver.
    let finding = mistake.finding.expect("a finding");
    assert!(finding.rule == Rule::RustPanic, "{finding}");
    assert!(finding.detail.contains("alloc.rs"), "{finding}");
    let place = finding.location.as_ref().expect("a place");
    let line = common::marked_line("allocation_panic");
    assert!(place.line == line, "{place}");
    assert!(place.file.as_ref().is_some_and(|file| file.ends_with("allocation_panic.rs")), "{place}");
    let text = survey.to_string();
    let reproduce = format!(
        "found with 1 failure and {} seeds, first with ExAllocatePool2@1: reproduce it with run --fail ExAllocatePool2@1",
        mistake.seeds
    );
    assert!(text.contains(&reproduce), "{text}");
    assert!(text.matches("rust-panic").count() == 1, "{text}");
    assert!(text.ends_with("1 distinct mistake"), "{text}");
}

#[test]
fn calls_that_remove_something_do_not_fail() {
    let port = RegistryValue::Text("COM5".into());
    let builder = c::plain("wdm_gaps").registry(RegistryKey::Device, "PortName", port);
    let drive = |host: &NtHost| {
        host.load()?;
        let before = host.fallible_calls()?;
        host.add_device()?.remove()?;
        host.unload()?;
        // DriverEntry registers a routine for processes, and the unload routine removes it with the same function.
        let of = |calls: &[(String, u64)]| calls.iter().find(|(name, _)| name.starts_with("PsSet")).cloned();
        let after = host.fallible_calls()?;
        assert_eq!(of(&before), of(&after));
        assert_eq!(of(&before), Some(("PsSetCreateProcessNotifyRoutineEx".into(), 1)));
        Ok(())
    };
    let survey = Matrix::new(builder).seeds(20).run(drive).expect("a driver without failures");
    assert!(survey.failures > 4, "{survey}");
    survey.assert_clean();
}

#[test]
fn a_matrix_of_a_device_that_does_not_start_is_not_clean() {
    let builder = || c::framework("kmdf").fail_call("WdfIoQueueCreate", NtStatus::InvalidParameter, 1);
    let drive = |host: &NtHost| {
        host.load()?;
        assert!(host.add_device().is_err());
        host.unload().map(drop)
    };
    let survey = Matrix::new(builder()).run(drive).expect("a run to the end");
    assert!(survey.broken.is_empty(), "{survey}");
    assert!(!survey.is_clean(), "{survey}");
    assert_eq!(survey.gaps.iter().map(|gap| gap.kind).collect::<Vec<_>>(), [GapKind::NotAdded]);
    assert!(survey.to_string().ends_with("incomplete: the run without a failure has gaps"), "{survey}");
    Matrix::new(builder().allow(GapKind::NotAdded)).run(drive).expect("a run to the end").assert_clean();
}

/// The path of a driver from the kit's tests. The first call builds these drivers with `cargo xtask build`.
pub(crate) fn kit(name: &str) -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    let kit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../toolchain/wdk-kit/tests/drivers");
    BUILT.get_or_init(|| {
        for workspace in ["kmdf", "wdm"] {
            let output = Command::new(env!("CARGO"))
                .args(["run", "--quiet", "--package", "xtask", "--", "build", "--manifest-path"])
                .arg(kit.join(workspace).join("Cargo.toml"))
                .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."))
                .output()
                .expect("cargo");
            assert!(output.status.success(), "{workspace}: {}", String::from_utf8_lossy(&output.stderr));
        }
    });
    common::built(name)
}

#[test]
fn the_kits_echo_driver() {
    survey(NtHost::builder().driver(kit("kit_echo.sys")), |_, device| {
        device.write(b"hello")?;
        device.read(5)?;
        device.ioctl(0x0022_2000, &[], 0).map(drop)
    });
}

/// The driver copies as many bytes as were written. Microsoft's core/fxmemorybufferapi.cpp refuses a copy of none.
#[test]
fn the_kits_echo_driver_has_nothing_to_read_before_a_write() {
    let host = NtHost::builder().driver(kit("kit_echo.sys")).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    assert_eq!(device.read(5).expect("a reply").status, NtStatus::InvalidParameter);
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}

#[test]
fn the_kits_timer_driver() {
    survey(NtHost::builder().driver(kit("kit_timer.sys")), |host, _| host.advance(Duration::from_secs(5)));
}

#[test]
fn the_kits_wdm_driver() {
    survey(NtHost::builder().driver(kit("kit_wdm.sys")), |_, device| device.ioctl(0x0022_2004, &[], 8).map(drop));
}
