//! Registrations of a driver other than devices: driver object extensions, reinitialisation routines and shutdown
//! notifications. Also error log entries.

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, DRIVER_OBJECT, IO_ERROR_LOG_PACKET};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_processor::sorted::SortedMap;
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify;
use windows_constants::device::ERROR_LOG_LIMIT_SIZE;

use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::{Kernel, call_back, kernel, lock};

/// The registrations of a driver.
#[derive(Default)]
pub(crate) struct Registrations {
    /// The extensions of the driver object, by the address that identifies the client.
    extensions: SortedMap<u64, u64>,
    /// The reinitialisation routines that run after `DriverEntry`, with their contexts.
    again: Vec<(GuestPtr<Code>, u64)>,
}

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn IoAllocateDriverObjectExtension(
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        client: GuestPtr<Opaque>,
        size: u32,
        place: Out<GuestPtr<u8>>,
    ) -> Outcome {
        let Kernel { pool, registrations, .. } = kernel();
        let mut registrations = lock(registrations);
        if registrations.extensions.contains_key(&client.address()) {
            place.set(GuestPtr::NULL)?;
            return fail(NtStatus::ObjectNameCollision);
        }
        let memory: GuestPtr<u8> = lock(pool).try_new_objects(size.into())?;
        registrations.extensions.insert(client.address(), memory.address());
        place.set(memory)?;
        done(())
    }

    #[irql(DISPATCH)]
    fn IoGetDriverObjectExtension(
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        client: GuestPtr<Opaque>,
    ) -> Option<GuestPtr<u8>> {
        lock(&kernel().registrations).extensions.get(&client.address()).copied().map(GuestPtr::new)
    }

    #[irql(PASSIVE)]
    fn IoRegisterDriverReinitialization(
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) {
        lock(&kernel().registrations).again.push((routine, context.address()));
    }

    #[irql(PASSIVE)]
    fn IoRegisterBootDriverReinitialization(
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) {
        lock(&kernel().registrations).again.push((routine, context.address()));
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoRegisterShutdownNotification(&call, device: GuestPtr<DEVICE_OBJECT>) -> NtStatus {
        lock(&kernel().io).register("shutdown notification", device.address(), call.from);
        NtStatus::Success
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoRegisterLastChanceShutdownNotification(&call, device: GuestPtr<DEVICE_OBJECT>) -> NtStatus {
        lock(&kernel().io).register("shutdown notification", device.address(), call.from);
        NtStatus::Success
    }

    #[irql(PASSIVE)]
    fn IoUnregisterShutdownNotification(device: GuestPtr<DEVICE_OBJECT>) {
        lock(&kernel().io).forget("shutdown notification", device.address());
    }

    /// The routine is never called: there are no boot drivers.
    #[irql(PASSIVE), fails_with_zero]
    fn IoRegisterBootDriverCallback(
        &call,
        routine: GuestPtr<Code>,
        _context: Ignored<GuestPtr<Opaque>>,
    ) -> KernelHandle {
        object::open("boot driver callback", routine.address(), call.from).unwrap_or_default()
    }

    #[irql(APC)]
    fn IoUnregisterBootDriverCallback(registration: KernelHandle) {
        object::close(registration);
    }

    #[irql(DISPATCH), fails_with_zero]
    fn IoAllocateErrorLogEntry(_object: Ignored<GuestPtr<Opaque>>, size: u8) -> GuestPtr<u8> {
        let size = u64::from(size);
        if size == 0 || size > ERROR_LOG_LIMIT_SIZE { GuestPtr::NULL } else { GuestPtr::new(lock(&kernel().pool).object(size)) }
    }

    #[irql(DISPATCH)]
    fn IoWriteErrorLogEntry(entry: GuestPtr<IO_ERROR_LOG_PACKET>) -> Result<(), Fault> {
        let code = entry.ErrorCode().read()?.as_int();
        let status = entry.FinalStatus().read()?.as_int();
        verify::announce(&format!("nt-host: error log: code {code:#010X}, status {status:#010X}"));
        lock(&kernel().pool).free_object(entry.address());
        Ok(())
    }

    #[irql(DISPATCH)]
    fn IoFreeErrorLogEntry(entry: GuestPtr<Opaque>) {
        lock(&kernel().pool).free_object(entry.address());
    }

    /// Windows Vista and all later releases have WDM 6.0.
    #[irql(ANY)]
    fn IoIsWdmVersionAvailable(major: u8, minor: u8) -> bool {
        (major, minor) <= (6, 0)
    }
}

/// Runs the reinitialisation routines after `DriverEntry` has succeeded. They may register again, up to 16 times.
pub fn reinitialize(driver: GuestPtr<DRIVER_OBJECT>) {
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
pub fn forget() {
    let Kernel { pool, registrations, .. } = kernel();
    let Registrations { extensions, .. } = std::mem::take(&mut *lock(registrations));
    for memory in extensions.into_values() {
        lock(pool).free_object(memory);
    }
}
