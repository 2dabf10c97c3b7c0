//! The names and properties of devices.

use etw_types::NtStatus;
use nt_kernel::io::device::interface::{property, store};
use nt_kernel::kernel;
use nt_processor::layout::{DEVICE_OBJECT, WDF_OBJECT_ATTRIBUTES};
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Ignored, NO_RESOURCES, Outcome, PASSIVE, done, fail, functions};

use crate::device::init;
use crate::device::{self, Device, with_device};
use crate::object::{self, created};
use crate::target::{self, Target};
use crate::{Handle, memory, misc};

const NOT_FOUND: NtStatus = NtStatus::ObjectNameNotFound;

functions! { pub(crate) FUNCTIONS;
    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfDeviceQueryProperty(
        device: Handle,
        property: i32,
        length: u32,
        buffer: GuestPtr<u8>,
        result_length: GuestPtr<u32>,
    ) -> Outcome {
        device::refuse_control(device)?;
        store(&value(device, property)?, buffer, length, result_length)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfFdoInitQueryProperty(
        init: Handle,
        property: i32,
        length: u32,
        buffer: GuestPtr<u8>,
        result_length: GuestPtr<u32>,
    ) -> Outcome {
        store(&value(init, property)?, buffer, length, result_length)
    }

    #[irql(PASSIVE), fails(NOT_FOUND)]
    fn WdfIoTargetQueryTargetProperty(
        target: Handle,
        property: i32,
        length: u32,
        buffer: GuestPtr<u8>,
        result_length: GuestPtr<u32>,
    ) -> Outcome {
        store(&value(target, property)?, buffer, length, result_length)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceAllocAndQueryProperty(
        &call,
        device: Handle,
        property: i32,
        _pool: Ignored<i32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        device::refuse_control(device)?;
        created(memory::with_bytes(call, attributes, &value(device, property)?), place)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfFdoInitAllocAndQueryProperty(
        &call,
        init: Handle,
        property: i32,
        _pool: Ignored<i32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(memory::with_bytes(call, attributes, &value(init, property)?), place)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfIoTargetAllocAndQueryTargetProperty(
        &call,
        target: Handle,
        property: i32,
        _pool: Ignored<i32>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
        place: GuestPtr<Handle>,
    ) -> Outcome {
        created(memory::with_bytes(call, attributes, &value(target, property)?), place)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDeviceRetrieveDeviceName(device: Handle, string: Handle) -> Outcome {
        let name = with_device(device, |device| device.init.name.clone());
        if name.is_empty() {
            return fail(NtStatus::InvalidDeviceState);
        }
        misc::set_string(string, &name.encode_utf16().collect::<Vec<u16>>())?;
        done(())
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn WdfDriverRetrieveVersionString(driver: Handle, string: Handle) -> Outcome {
        object::needs_driver(driver);
        let text = format!("Kernel Mode Driver Framework {}", kernel().config.os.kmdf());
        misc::set_string(string, &text.encode_utf16().collect::<Vec<u16>>())?;
        done(())
    }
}

/// Returns the physical device of a device, init structure or I/O target.
fn physical(handle: Handle) -> GuestPtr<DEVICE_OBJECT> {
    if object::is::<Target>(handle) {
        target::physical(handle)
    } else if object::is::<Device>(handle) {
        with_device(handle, |device| device.init.physical)
    } else {
        init::with_init(handle, |init| init.physical)
    }
}

/// Returns a `DEVICE_REGISTRY_PROPERTY` of the physical device of a device, init structure or I/O target.
fn value(handle: Handle, number: i32) -> Outcome<Vec<u8>> {
    property(physical(handle), number.cast_unsigned()).ok_or(NOT_FOUND.into())
}
