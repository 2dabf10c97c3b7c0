//! Device interfaces: how clients find a device.

use etw_types::{Guid, NtStatus};
use nt_kernel::io::device::interface::link;
use nt_processor::layout::{GUID, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};

use crate::device::{self, Interface, with_device};
use crate::pnp::states::PnpState;
use crate::{Handle, misc};

functions! { pub(crate) FUNCTIONS;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceCreateDeviceInterface(
        device: Handle,
        class: GuestPtr<GUID>,
        reference: Option<GuestPtr<UNICODE_STRING>>,
    ) -> Outcome {
        let interface = read(class, reference)?;
        device::refuse_control(device)?;
        with_device(device, |device| device.interfaces.push(interface));
        done(())
    }

    #[irql(PASSIVE), fixed]
    fn WdfDeviceSetDeviceInterfaceState(
        device: Handle,
        _class: Ignored<GuestPtr<GUID>>,
        _reference: Ignored<GuestPtr<UNICODE_STRING>>,
        _enabled: Ignored<bool>,
    ) {
        device::check(device);
    }

    #[irql(PASSIVE), fixed]
    fn WdfDeviceSetDeviceInterfaceStateEx(
        device: Handle,
        _class: Ignored<GuestPtr<GUID>>,
        _reference: Ignored<GuestPtr<UNICODE_STRING>>,
        _enabled: Ignored<bool>,
    ) {
        device::check(device);
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceRetrieveDeviceInterfaceString(
        device: Handle,
        class: GuestPtr<GUID>,
        reference: Option<GuestPtr<UNICODE_STRING>>,
        string: Handle,
    ) -> Outcome {
        let wanted = read(class, reference)?;
        device::refuse_control(device)?;
        with_device(device, |device| {
            if !device.interfaces.contains(&wanted) {
                return fail(NtStatus::ObjectNameNotFound);
            }
            // Windows names the interfaces of a child when it knows the child (`shared/support/km/fxdeviceinterfacekm.cpp`).
            let is_unknown = !device.init.parent.is_null() && device.pnp_state == PnpState::INIT;
            if is_unknown { fail(NtStatus::InvalidDeviceState) } else { done(()) }
        })?;
        let name: Vec<u16> = link(wanted.class, &wanted.reference).encode_utf16().collect();
        misc::set_string(string, &name)?;
        done(())
    }
}

/// Reads the class and the reference string of an interface. No reference string is the same as an empty one.
fn read(class: GuestPtr<GUID>, reference: Option<GuestPtr<UNICODE_STRING>>) -> Result<Interface, Fault> {
    let class: Guid = class.id()?;
    let reference = reference.map(GuestPtr::<UNICODE_STRING>::text).transpose()?.unwrap_or_default();
    Ok(Interface { class, reference })
}
