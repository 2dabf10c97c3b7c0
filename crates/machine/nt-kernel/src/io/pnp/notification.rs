//! Plug-and-play notifications: a test requests the removal of a device of another driver. Notifications of other
//! categories are never sent.

use etw_types::NtStatus;
use nt_processor::layout::{DRIVER_OBJECT, FILE_OBJECT, TARGET_DEVICE_REMOVAL_NOTIFICATION};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, routines};
use windows_constants::plug_play::EventCategoryTargetDeviceChange;

use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::ex::{Notified, TargetEvent};
use crate::io::device::{self, names};
use crate::{Kernel, call_back, kernel, lock};

/// A routine that is notified about the device of a file.
#[derive(Clone, Copy)]
pub struct Registered {
    handle: KernelHandle,
    file: GuestPtr<FILE_OBJECT>,
    routine: GuestPtr<Code>,
    context: u64,
}

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn IoRegisterPlugPlayNotification(
        &call,
        category: i32,
        _flags: Ignored<u32>,
        data: GuestPtr<Opaque>,
        _driver: Ignored<GuestPtr<DRIVER_OBJECT>>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        let handle = object::open("notification", routine.address(), call.from)?;
        if category == EventCategoryTargetDeviceChange {
            // A registration has a reference to the file object, which the driver may close before it is notified.
            object::reference(data.address(), call.from);
            let file = data.cast();
            let context = context.address();
            lock(&kernel().plug_play).push(Registered { handle, file, routine, context });
        }
        place.set(handle)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn IoUnregisterPlugPlayNotification(registration: KernelHandle) -> NtStatus {
        unregister(registration)
    }

    #[irql(PASSIVE)]
    fn IoUnregisterPlugPlayNotificationEx(registration: KernelHandle) -> NtStatus {
        unregister(registration)
    }
}

fn unregister(handle: KernelHandle) -> NtStatus {
    let gone: Vec<Registered> =
        lock(&kernel().plug_play).extract_if(.., |registered| registered.handle == handle).collect();
    for Registered { file, .. } in gone {
        object::dereference(file.address());
    }
    object::close(handle)
}

/// Removes all registrations after the driver was unloaded.
pub fn forget() {
    lock(&kernel().plug_play).clear();
}

/// Calls the routines that are registered for files of the device with this name.
pub fn raise(device: &str, event: TargetEvent) -> Result<Notified, Fault> {
    let Kernel { plug_play, pool, .. } = kernel();
    let mut notified = Notified::default();
    let registered = lock(plug_play).clone();
    for Registered { handle, file, routine, context } in registered {
        // A routine may have removed this registration, and with it the last reference to the file object.
        if !lock(plug_play).iter().any(|known| known.handle == handle) {
            continue;
        }
        let name = device::name_of_others(file.DeviceObject().read()?);
        if !name.is_some_and(|name| names::are_same(&name, device)) {
            continue;
        }
        let Some(notification) = lock(pool).new_object::<TARGET_DEVICE_REMOVAL_NOTIFICATION>().non_null() else {
            return Ok(Notified { status: NO_RESOURCES, ..notified });
        };
        notification.write(TARGET_DEVICE_REMOVAL_NOTIFICATION {
            Version: 1,
            Size: size_of::<TARGET_DEVICE_REMOVAL_NOTIFICATION>() as u16,
            Event: event.id().to_bytes_le(),
            Padding: 0,
            FileObject: file,
        })?;
        let arguments = [notification.address(), context];
        let status = call_back("plug-and-play notification", PASSIVE, routine, &arguments) as u32;
        lock(pool).free_object(notification.address());
        notified.add(NtStatus::from_int(status));
    }
    Ok(notified)
}
