//! Registrations of a driver other than devices: driver object extensions, reinitialisation routines and shutdown
//! notifications. Also error log entries.

use std::collections::BTreeMap;

use etw_types::NtStatus;

use crate::kernel::{call_back, kernel, lock};
use crate::layout::{DRIVER_OBJECT, IO_ERROR_LOG_PACKET};
use crate::memory::{Code, GuestPtr};
use crate::routine::{ANY, APC, DISPATCH, NO_RESOURCES, PASSIVE, Routine, done, fail, routine};
use crate::verify;

/// `ERROR_LOG_MAXIMUM_SIZE`.
const LONGEST_ENTRY: u64 = 240;

/// The registrations of a driver.
#[derive(Default)]
pub(crate) struct Registrations {
    /// The extensions of the driver object, by the address that identifies the client.
    extensions: BTreeMap<u64, u64>,
    /// The reinitialisation routines that run after `DriverEntry`, with their contexts.
    again: Vec<(GuestPtr<Code>, u64)>,
}

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: driver, client, size, place for the extension.
    routine!("IoAllocateDriverObjectExtension", APC, |call| {
        let mut registrations = lock(&kernel().registrations);
        if registrations.extensions.contains_key(&call.arg(1)) {
            call.ptr(3).write(0_u64)?;
            return fail(NtStatus::ObjectNameCollision);
        }
        let memory: GuestPtr<u8> = lock(&kernel().pool).try_new_objects(u64::from(call.u32(2)))?;
        registrations.extensions.insert(call.arg(1), memory.address());
        call.ptr(3).write(memory)?;
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("IoGetDriverObjectExtension", DISPATCH, |call| {
        lock(&kernel().registrations).extensions.get(&call.arg(1)).copied().unwrap_or_default()
    }),
    // Arguments: driver, routine, context.
    routine!("IoRegisterDriverReinitialization", PASSIVE, |call| {
        lock(&kernel().registrations).again.push((call.ptr(1), call.arg(2)));
    }),
    routine!("IoRegisterBootDriverReinitialization", PASSIVE, |call| {
        lock(&kernel().registrations).again.push((call.ptr(1), call.arg(2)));
    }),
    routine!("IoRegisterShutdownNotification", PASSIVE, |call| {
        lock(&kernel().io).register("shutdown notification", call.arg(0), call.from);
    })
    .fails(NO_RESOURCES),
    routine!("IoRegisterLastChanceShutdownNotification", PASSIVE, |call| {
        lock(&kernel().io).register("shutdown notification", call.arg(0), call.from);
    })
    .fails(NO_RESOURCES),
    routine!("IoUnregisterShutdownNotification", PASSIVE, |call| {
        lock(&kernel().io).forget("shutdown notification", call.arg(0));
    }),
    // Arguments: device or driver, size.
    routine!("IoAllocateErrorLogEntry", DISPATCH, |call| {
        let size = u64::from(call.u8(1));
        if size == 0 || size > LONGEST_ENTRY { 0 } else { lock(&kernel().pool).object(size) }
    })
    .fails_with_zero(),
    routine!("IoWriteErrorLogEntry", DISPATCH, |call| {
        let entry = call.ptr::<IO_ERROR_LOG_PACKET>(0);
        let (code, status) = (entry.ErrorCode().read()?.as_int(), entry.FinalStatus().read()?.as_int());
        verify::announce(&format!("nt-host: error log: code {code:#010X}, status {status:#010X}"));
        lock(&kernel().pool).free_object(entry.address());
        done(())
    }),
    routine!("IoFreeErrorLogEntry", DISPATCH, |call| lock(&kernel().pool).free_object(call.arg(0))),
    // Windows Vista and all later releases have WDM 6.0.
    routine!("IoIsWdmVersionAvailable", ANY, |call| (call.u8(0), call.u8(1)) <= (6, 0)),
];

/// Runs the reinitialisation routines after `DriverEntry` has succeeded. They may register again, up to 16 times.
pub(crate) fn reinitialize(driver: GuestPtr<DRIVER_OBJECT>) {
    for count in 1_u64..=16 {
        let again = std::mem::take(&mut lock(&kernel().registrations).again);
        if again.is_empty() {
            return;
        }
        for (routine, context) in again {
            call_back("reinitialization routine", PASSIVE, routine, &[driver.address(), context, count]);
        }
    }
}

/// Removes all registrations after the driver was unloaded.
pub(crate) fn forget() {
    let Registrations { extensions, .. } = std::mem::take(&mut *lock(&kernel().registrations));
    for memory in extensions.into_values() {
        lock(&kernel().pool).free_object(memory);
    }
}
