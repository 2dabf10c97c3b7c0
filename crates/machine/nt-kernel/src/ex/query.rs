//! Information about objects: their names, types and counts.

use etw_types::NtStatus;
use nt_processor::layout::{DRIVER_OBJECT, FILE_OBJECT, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, Opaque};
use nt_verifier::routine::{APC, Outcome, PASSIVE, done, fail, routines};
use windows_constants::device::IO_TYPE_FILE;
use windows_constants::object::{ObjectBasicInformation, ObjectNameInformation, ObjectTypeInformation};

use super::handle::KernelHandle;
use super::namespace::type_name;
use super::object::{self};
use crate::{Kernel, kernel, lock};

/// The sizes of `PUBLIC_OBJECT_BASIC_INFORMATION` and `PUBLIC_OBJECT_TYPE_INFORMATION`.
const BASIC_SIZE: u32 = 56;
const TYPE_SIZE: u32 = 0x68;

routines! { pub(super) ROUTINES;
    #[irql(APC), fails(NtStatus::InvalidParameter)]
    fn ObQueryNameString(
        object: GuestPtr<Opaque>,
        information: GuestPtr<UNICODE_STRING>,
        room: u32,
        length: GuestPtr<u32>,
    ) -> Outcome {
        string(&name_of(object.address())?, information, 16, (room, length))
    }

    #[irql(PASSIVE)]
    fn ZwQueryObject(
        handle: KernelHandle,
        class: i32,
        information: GuestPtr<u32>,
        room: u32,
        length: GuestPtr<u32>,
    ) -> Outcome {
        query(handle, class, information, room, length)
    }
}

fn query(handle: KernelHandle, class: i32, place: GuestPtr<u32>, room: u32, length: GuestPtr<u32>) -> Outcome {
    let Some((kind, object)) = object::kind_and_object(handle) else {
        return fail(NtStatus::InvalidHandle);
    };
    match class {
        ObjectBasicInformation => {
            length.write_if(BASIC_SIZE)?;
            if room < BASIC_SIZE {
                return fail(NtStatus::InfoLengthMismatch);
            }
            // Attributes, access, handles, pointers. While the routine runs, it has a reference itself.
            let (handles, pointers) = object::counts(object);
            place.array(BASIC_SIZE.into()).start().cast::<[u32; 14]>().zero()?;
            place.at(2).write(handles)?;
            place.at(3).write(pointers + 1)?;
            done(())
        }
        ObjectNameInformation => string(&name_of(object)?, place.cast(), 16, (room, length)),
        ObjectTypeInformation => string(type_name(kind), place.cast(), TYPE_SIZE, (room, length)),
        _ => fail(NtStatus::InvalidInfoClass),
    }
}

/// Stores a structure of `size` bytes that begins with a string, and the text behind it. `room` is the size of the buffer,
/// and where its required size is stored.
fn string(text: &str, string: GuestPtr<UNICODE_STRING>, size: u32, room: (u32, GuestPtr<u32>)) -> Outcome {
    let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
    let bytes = units.len() as u16 * 2;
    // An object without a name has an empty string without a buffer.
    let needed = if units.len() == 1 { size } else { size + u32::from(bytes) };
    room.1.write_if(needed)?;
    if room.0 < needed {
        return fail(NtStatus::InfoLengthMismatch);
    }
    string.cast::<u8>().array(size.into()).fill(0)?;
    if units.len() > 1 {
        let place = string.cast::<u8>().at(size.into()).cast::<u16>();
        place.write_all(&units)?;
        string.set(bytes - 2, bytes, place)?;
    }
    Ok(())
}

/// Returns the name of an object; empty if it has none.
fn name_of(object: u64) -> Result<String, Fault> {
    let Kernel { io, objects, .. } = kernel();
    let (driver, devices): (GuestPtr<DRIVER_OBJECT>, Vec<(u64, String)>) = {
        let io = lock(io);
        (io.driver, io.devices.iter().map(|device| (device.object.address(), device.name.clone())).collect())
    };
    let device = |wanted: u64| devices.iter().find(|(object, _)| *object == wanted).map(|(_, name)| name.clone());
    if object == driver.address() {
        return driver.DriverName().text();
    }
    if let Some(name) = device(object) {
        return Ok(name);
    }
    let (path, is_file) = lock(objects).path_or_file(object);
    let file = GuestPtr::<FILE_OBJECT>::new(object);
    if is_file && file.Type().read()? == IO_TYPE_FILE {
        let of = device(file.DeviceObject().read()?.address()).unwrap_or_default();
        return Ok(format!("{of}{}", file.FileName().text()?));
    }
    Ok(path.unwrap_or_default())
}
