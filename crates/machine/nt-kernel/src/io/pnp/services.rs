//! Requests to the Plug and Play manager, and routines that a framework imports and few other drivers call.

use etw_types::NtStatus;
use nt_processor::image;
use nt_processor::layout::{DEVICE_OBJECT, DRIVER_OBJECT, FILE_OBJECT, IRP, UNICODE_STRING};
use nt_processor::memory::{GuestPtr, Opaque};
use nt_verifier::routine::{APC, DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, routines};
use nt_verifier::verify::gap;

use crate::io::pnp;
use crate::{kernel, lock};

routines! { pub(super) ROUTINES;
    #[irql(DISPATCH)]
    fn IoInvalidateDeviceRelations(physical: GuestPtr<DEVICE_OBJECT>, relations: u32) {
        pnp::invalidate_relations(physical, relations);
    }

    #[irql(DISPATCH)]
    fn IoInvalidateDeviceState(device: GuestPtr<DEVICE_OBJECT>) {
        pnp::invalidate_state(device);
    }

    #[irql(DISPATCH)]
    fn IoRequestDeviceEject(physical: GuestPtr<DEVICE_OBJECT>) {
        pnp::eject(physical);
    }

    /// The host's devices have no DMA. A driver must handle NULL.
    #[irql(PASSIVE), fails_with_zero]
    fn IoGetDmaAdapter(
        _physical: Ignored<GuestPtr<DEVICE_OBJECT>>,
        _description: Ignored<GuestPtr<Opaque>>,
        _registers: Ignored<GuestPtr<u32>>,
    ) -> GuestPtr<Opaque> {
        gap::note("the driver asked for a DMA adapter: nt-host has none, and no option adds one".to_owned());
        GuestPtr::NULL
    }

    /// The number is only compared with that of events.
    #[irql(DISPATCH)]
    fn IoWMIDeviceObjectToProviderId(device: GuestPtr<DEVICE_OBJECT>) -> u32 {
        device.address() as u32
    }

    /// The caller frees the buffer of the string.
    #[irql(APC), fails(NO_RESOURCES)]
    fn IoQueryFullDriverPath(&call, driver: GuestPtr<DRIVER_OBJECT>, path: GuestPtr<UNICODE_STRING>) -> Outcome {
        let Some(name) = image::name_at(driver.DriverStart().read()?.address()) else {
            return fail(NtStatus::InvalidParameter);
        };
        let units: Vec<u16> = format!(r"\SystemRoot\System32\drivers\{name}").encode_utf16().collect();
        let size = units.len() as u16 * 2;
        let memory = lock(&kernel().pool).allocate(size.into(), *b"IoFp", true, call.from);
        let Some(buffer) = memory.map(GuestPtr::<u16>::new) else { return fail(NO_RESOURCES) };
        buffer.write_all(&units)?;
        path.set(size, size, buffer)?;
        done(())
    }

    /// Files are opened by clients that have no process object.
    #[irql(DISPATCH), fixed]
    fn IoGetInitiatorProcess(_file: Ignored<GuestPtr<FILE_OBJECT>>) -> GuestPtr<Opaque> {
        GuestPtr::NULL
    }

    #[irql(DISPATCH)]
    fn PoSetSystemWake(irp: GuestPtr<IRP>) {
        if let Some(request) = lock(&kernel().io).requests.get_mut(&irp) {
            request.wakes = true;
        }
    }

    #[irql(DISPATCH)]
    fn PoGetSystemWake(irp: GuestPtr<IRP>) -> bool {
        lock(&kernel().io).requests.get(&irp).is_some_and(|request| request.wakes)
    }

    /// Driver Verifier is off.
    #[irql(DISPATCH), fixed]
    fn VfIsRuleClassEnabled(_class: Ignored<u32>) -> bool {
        false
    }
}
