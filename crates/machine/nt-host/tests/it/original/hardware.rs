//! A driver with interrupts on both frameworks.

use std::time::Duration;

use nt_host::{Error, Resource, Rule};

use super::{differences, differences_in, driver, original};
use crate::hardware::{ACQUIRE, DISABLE, ENABLE, INFO, LOCK, SYNC, TWICE};

/// A device with a line, one with two messages, and one without an interrupt.
const RESOURCES: [&[Resource]; 3] = [&[Resource::LineInterrupt], &[Resource::MessageInterrupts(2)], &[]];

#[test]
fn interrupts_are_the_same() {
    let Some(framework) = original() else { return };
    for resources in RESOURCES {
        let has_interrupt = !resources.is_empty();
        let builder = resources.iter().fold(driver("kmdf_hardware", 0), |builder, one| builder.resource(*one));
        let found = builder.compare(&framework, |host| {
            host.load()?;
            let device = host.add_device()?;
            let mut results = Vec::new();
            let codes = if has_interrupt { [INFO, LOCK, TWICE, TWICE].as_slice() } else { &[INFO, ENABLE, DISABLE] };
            for code in codes {
                results.push(device.ioctl(*code, &[], 0)?.status.to_string());
                results.push(format!("{:?}", device.interrupt(0).map_err(|error| error.to_string())));
            }
            // Disconnected by the driver, it stays so.
            device.ioctl(DISABLE, &[], 0)?;
            device.sleep()?;
            device.wake()?;
            device.ioctl(INFO, &[], 0)?;
            device.ioctl(ENABLE, &[], 0)?;
            results.push(format!("{:?}", device.interrupt(0).map_err(|error| error.to_string())));
            device.remove()?;
            host.unload()?;
            Ok(results)
        });
        let found = differences_in(found);
        assert!(found.is_empty(), "{resources:?}: {found:#?}");
    }
}

/// The callback that enables the interrupt fails, or the one that disables it.
#[test]
fn devices_whose_interrupts_fail_are_the_same() {
    let Some(framework) = original() else { return };
    for bug in [7, 8] {
        let found = driver("kmdf_hardware", bug).resource(Resource::LineInterrupt).compare(&framework, |host| {
            host.load()?;
            let device = host.add_device()?;
            device.sleep()?;
            device.wake()?;
            host.advance(Duration::from_millis(1))?;
            Ok(Vec::new())
        });
        let found = differences_in(found);
        assert!(found.is_empty(), "{bug}: {found:#?}");
    }
}

/// The same mistakes are found on the original: 1.9 takes the lock of the interrupt without raising the IRQL, and
/// `WdfInterruptSynchronize` reads through NULL.
#[test]
fn the_lock_of_an_interrupt_that_is_not_connected_is_a_finding() {
    let Some(framework) = original() else { return };
    let host = driver("kmdf_hardware", 0).framework(&framework).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.ioctl(ACQUIRE, &[], 0).expect("a reply");
    let Err(Error::Stopped(report)) = device.ioctl(SYNC, &[], 0) else { panic!("a lock") };
    let found: Vec<_> = report.findings().iter().map(|finding| finding.rule).collect();
    assert_eq!(found, [Rule::IrqlTooLow, Rule::IrqlTooLow, Rule::AccessViolation], "{report:#?}");
}

#[test]
fn the_life_of_the_device_is_the_same() {
    let found = differences("kmdf_hardware", |run| {
        let device = run.device()?;
        run.ioctl(&device, INFO, &[])?;
        let removed = device.surprise_remove();
        run.note("removal", removed);
        Ok(())
    });
    assert!(found.is_empty(), "{found:#?}");
}
