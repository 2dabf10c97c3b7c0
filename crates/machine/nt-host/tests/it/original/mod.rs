//! The project's KMDF drivers on Microsoft's own framework, version 1.9, compared with the imitation. The tests run if the
//! environment variable `WDK_ETW_FRAMEWORK` names the folder with its `Wdf01000.sys`, or if `nt-host framework` keeps it.

mod hardware;
mod loader;
mod rust;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::c::{FRAMEWORK, build, build_for_1_9, temporary};
use crate::idle::SCENARIOS;
use crate::kmdf_filters;
use crate::requirements::{self, FAILED_TO_REMOVE, VARIANTS, with_resources};
use etw_types::NtStatus;
use nt_host::{Below, Builder, Device, Difference, Error, Frameworks, NtHost, Report, RequestKind};

/// Returns the file of Microsoft's framework, without a loader beside it, or says that the test is skipped.
fn original() -> Option<PathBuf> {
    let in_cache = || Frameworks::in_cache()?.find("1.9");
    let named = std::env::var_os("WDK_ETW_FRAMEWORK").map(PathBuf::from);
    let framework = named.map(|path| file_in(&path, "wdf01000.sys").unwrap_or(path)).or_else(in_cache);
    if framework.is_none() {
        eprintln!(
            "skipped: WDK_ETW_FRAMEWORK does not name a folder with Microsoft's Wdf01000.sys of version 1.9, and the cache \
             does not have it"
        );
    }
    framework
}

/// Returns the file with this name, in any case, in a folder.
fn file_in(folder: &Path, name: &str) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.map(|file| file.expect("a file").path());
    files.into_iter().find(|path| path.file_name().is_some_and(|found| found.eq_ignore_ascii_case(name)))
}

/// A driver that was built for KMDF 1.33, with the image that adapts it to 1.9.
fn driver(name: &str, bug: u32) -> Builder {
    adapted(NtHost::builder().driver(build(name, bug, "FxDriverEntry", &FRAMEWORK)))
}

fn adapted(builder: Builder) -> Builder {
    builder.with(build("adapter", 0, "DriverEntry", &["ntoskrnl", "WdfLdr"]))
}

/// The results of a run with one device.
struct Run {
    host: NtHost,
    results: Vec<String>,
}

impl Run {
    fn device(&mut self) -> Result<Device, Error> {
        self.host.add_device()
    }

    fn ioctl(&mut self, device: &Device, code: u32, input: &[u8]) -> Result<(), Error> {
        let reply = device.ioctl(code, input, 64)?;
        self.results.push(format!("{code:#X}: {} {:?}", reply.status, reply.output));
        Ok(())
    }

    fn note(&mut self, what: &str, result: Result<(), Error>) {
        self.results.push(format!("{what}: {}", result.err().map_or("ok".to_owned(), |error| error.to_string())));
    }
}

/// Runs the steps on both frameworks, between load and unload, and returns where they differ.
fn differences(name: &str, steps: impl FnMut(&mut Run) -> Result<(), Error>) -> Vec<String> {
    differences_with(name, 0, steps)
}

/// As [`differences`], for a variant of the driver.
fn differences_with(name: &str, bug: u32, mut steps: impl FnMut(&mut Run) -> Result<(), Error>) -> Vec<String> {
    let Some(framework) = original() else { return Vec::new() };
    differences_in(driver(name, bug).compare(framework, |host| {
        host.load()?;
        let mut run = Run { host: host.clone(), results: Vec::new() };
        steps(&mut run)?;
        host.unload()?;
        Ok(run.results)
    }))
}

fn differences_in(found: Result<Vec<Difference>, Error>) -> Vec<String> {
    found.expect("both runs").iter().map(ToString::to_string).collect()
}

#[test]
fn the_life_of_a_device_is_the_same() {
    let found = differences("kmdf_life", |run| {
        for _ in 0..2 {
            let device = run.device()?;
            run.ioctl(&device, 0x0022_2000, &[])?;
            device.sleep()?;
            device.wake()?;
            let removed = device.remove();
            run.note("removal", removed);
        }
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_device_that_gets_other_resources_stops_and_starts_in_the_same_way() {
    let found = differences("kmdf_life", |run| {
        let device = run.device()?;
        let balanced = device.rebalance();
        run.note("rebalance", balanced);
        run.ioctl(&device, 0x0022_2000, &[])?;
        let removed = device.remove();
        run.note("removal", removed);
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn a_surprise_removal_is_the_same() {
    let found = differences("kmdf_life", |run| {
        let device = run.device()?;
        run.ioctl(&device, 0x0022_2000, &[])?;
        let removed = device.surprise_remove();
        run.note("removal", removed);
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn timers_waits_locks_and_parents_are_the_same() {
    let found = differences("kmdf_time", |run| {
        let device = run.device()?;
        // All orders of the driver; the second one, which stops the timers, comes later.
        for function in [0, 2, 3, 4, 5, 6, 7] {
            run.ioctl(&device, 0x0022_2000 + 4 * function, &[])?;
            run.host.advance(Duration::from_millis(160))?;
        }
        run.ioctl(&device, 0x0022_2004, &[])?;
        let removed = device.remove();
        run.note("removal", removed);
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn queues_hold_present_and_cancel_requests_in_the_same_way() {
    const fn code(function: u32) -> u32 {
        0x0022_2000 | function << 2
    }
    let found = differences("kmdf_queues", |run| {
        let device = run.device()?;
        // Held, then canceled or released; forwarded to a manual queue, and retrieved from it.
        let request = device.begin_ioctl(code(0), &[5], 0)?;
        request.cancel()?;
        run.results.push(request.wait()?.status.to_string());
        let request = device.begin_ioctl(code(0), &[6], 0)?;
        run.ioctl(&device, code(16), &[0])?;
        run.results.push(request.wait()?.status.to_string());
        let requests: Vec<_> =
            (1..=3).map(|number| device.begin_ioctl(code(2), &[number], 0)).collect::<Result<_, _>>()?;
        for function in [26, 18, 17, 17, 17, 17, 27] {
            run.ioctl(&device, code(function), &[0])?;
        }
        for request in requests {
            run.results.push(request.wait()?.status.to_string());
        }
        // A request in a queue that is canceled, and one in a queue that is purged.
        for cancels in [true, false] {
            let request = device.begin_ioctl(code(2), &[7], 0)?;
            if cancels {
                request.cancel()?;
            } else {
                run.ioctl(&device, code(23), &[0])?;
            }
            run.results.push(request.wait()?.status.to_string());
        }
        let removed = device.remove();
        run.note("removal", removed);
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn requests_to_the_device_below_are_the_same() {
    let below = |code, milliseconds| Below {
        device: None,
        kind: Some(RequestKind::DEVICE_CONTROL),
        code: Some(code),
        status: NtStatus::Success,
        output: vec![1, 2, 3, 4],
        delay: Duration::from_millis(milliseconds),
    };
    let Some(framework) = original() else { return };
    let builder =
        (0..5).fold(driver("kmdf_target", 0), |builder, function| builder.below(below(0x0022_2000 + 4 * function, 20)));
    let found = builder.compare(framework, |host| {
        host.load()?;
        let device = host.add_device()?;
        let codes = (0..5).map(|function| 0x0022_2000 + 4 * function);
        let results =
            codes.map(|code| Ok(device.ioctl(code, &[], 64)?.status.to_string())).collect::<Result<_, Error>>()?;
        device.remove()?;
        host.unload()?;
        Ok(results)
    });
    let found = differences_in(found);
    assert!(found.is_empty(), "{found:#?}");
}

/// The driver completes a request twice, never, and so on. On the original, its verifier or nt-host finds the mistakes.
#[test]
fn mistakes_are_found_on_the_original_too() {
    let Some(framework) = original() else { return };
    for bug in 0..=6 {
        let builder = driver("kmdf_broken", bug).framework(&framework);
        let run = |builder: Builder| -> Result<Report, Error> {
            let host = builder.start()?;
            let device = host.add_device()?;
            device.ioctl(0x0022_2000, &[7; 8], 4)?;
            host.unload()
        };
        let report = match run(builder.framework_verifier()) {
            Ok(report) => report,
            Err(Error::Stopped(report)) => *report,
            Err(error) => panic!("{bug}: {error}"),
        };
        assert_eq!(report.findings().is_empty(), bug == 0, "{bug}: {report:#?}");
    }
}

#[test]
fn states_and_failures_of_a_device_are_the_same() {
    let found = differences("kmdf_states", |run| {
        let device = run.device()?;
        run.ioctl(&device, 0x0022_2004, &[])?;
        device.sleep()?;
        run.ioctl(&device, 0x0022_2004, &[])?;
        device.wake()?;
        run.ioctl(&device, 0x0022_2004, &[])?;
        // The driver reports that the device has failed.
        run.ioctl(&device, 0x0022_2008, &[])?;
        run.host.advance(Duration::from_millis(1))
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn states_while_a_device_is_stopped_and_restarted_are_the_same() {
    let found = differences_with("kmdf_states", 4, |run| {
        let device = run.device()?;
        device.rebalance()?;
        run.ioctl(&device, 0x0022_2004, &[])?;
        device.remove()
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn children_come_and_go_in_the_same_way() {
    let found = differences("kmdf_bus", |run| {
        let device = run.device()?;
        for (code, number) in [(0x0022_2000, 7_u32), (0x0022_2008, 0), (0x0022_2004, 7), (0x0022_2008, 0)] {
            run.ioctl(&device, code, &number.to_le_bytes())?;
        }
        // The bus itself is not missing, a child is, and it is missing only once; then the names of device interfaces.
        for (code, number) in
            [(0x0022_2014, 0_u32), (0x0022_2000, 7), (0x0022_2014, 7), (0x0022_2014, 7), (0x0022_2018, 0)]
        {
            run.ioctl(&device, code, &number.to_le_bytes())?;
        }
        let removed = device.remove();
        run.note("removal", removed);
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn devices_sleep_while_they_are_idle_in_the_same_way() {
    for (name, bug, steps) in SCENARIOS {
        let found = differences_with("kmdf_idle", bug, |run| {
            let device = run.device()?;
            steps(&run.host, &device)
        });
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

/// 1.9 has a mistake: if the driver fails to remove the resources that it added, the framework completes the IRP although it has
/// called `IoSetCompletionRoutineEx`. The published sources of 1.33 call that routine later.
#[test]
fn drivers_change_what_a_device_requires_in_the_same_way() {
    let Some(framework) = original() else { return };
    for (bug, has_resources) in VARIANTS.into_iter().map(|bug| (bug, true)).chain([(0, false)]) {
        let builder = driver("kmdf_requirements", bug);
        let builder = if has_resources { with_resources(builder) } else { builder };
        let found = builder.compare(&framework, |host| {
            host.load()?;
            let results = requirements::steps(host);
            host.unload()?;
            Ok(results)
        });
        let is_mistake = |difference: &Difference| {
            difference.aspect == "findings about other images"
                && difference.is_original
                && difference.line.to_ascii_lowercase().starts_with("request-misuse iofcompleterequest wdf01000.sys+")
        };
        let (mistakes, found): (Vec<_>, Vec<_>) = found.expect("both runs").into_iter().partition(is_mistake);
        assert!(found.is_empty(), "{bug}, {has_resources}: {found:#?}");
        assert_eq!(mistakes.len(), usize::from(FAILED_TO_REMOVE.contains(&bug)), "{bug}: {mistakes:#?}");
    }
}

/// The clients of a callout driver and minifilter see the same, and its objects live as long.
#[test]
fn a_driver_that_filters_connections_and_files_is_the_same() {
    let Some(framework) = original() else { return };
    let found = adapted(kmdf_filters::builder(0)).compare(framework, |host| {
        host.load()?;
        let results = kmdf_filters::steps(host)?;
        host.unload()?.assert_clean();
        Ok(results)
    });
    let found = differences_in(found);
    assert!(found.is_empty(), "{found:#?}");
}

/// A driver that was built for 1.9 needs no adapter.
#[test]
fn a_driver_that_was_built_for_1_9_binds_to_it() {
    let Some(framework) = original() else { return };
    same_with_the_driver_for_1_9(&framework);
}

/// Runs the scenarios of power states with the driver that was built for 1.9.
fn same_with_the_driver_for_1_9(framework: &Path) {
    for (name, bug, steps) in SCENARIOS.into_iter().filter(|(_, bug, _)| *bug == 0) {
        let builder = NtHost::builder().driver(build_for_1_9("kmdf_idle", bug));
        let found = builder.compare(framework, |host| {
            host.load()?;
            let device = host.add_device()?;
            steps(host, &device)?;
            host.unload()?.assert_clean();
            Ok(Vec::new())
        });
        let found = differences_in(found);
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[test]
fn the_original_is_kept_by_its_version() {
    let Some(framework) = original() else { return };
    let frameworks = Frameworks::new(temporary("frameworks"));
    let version = frameworks.add(framework).expect("a framework");
    assert_eq!(version.as_str(), "1.9");
    assert_eq!(frameworks.list().len(), 1);
    assert!(frameworks.find(&version).is_some_and(|file| file.is_file()));
    frameworks.remove(&version).expect("removed");
    assert!(frameworks.list().is_empty());
}
