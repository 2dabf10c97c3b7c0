//! The object manager's directories, names and symbolic links, as far as drivers use them.

use etw_types::NtStatus;

use super::object;
use crate::kernel::{kernel, lock};
use crate::layout::{DRIVER_OBJECT, FILE_OBJECT, OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{Call, Outcome, PASSIVE, Routine, done, fail, routine};

/// Directories that every Windows has.
const DIRECTORIES: [&str; 14] = [
    r"\",
    r"\??",
    r"\ArcName",
    r"\BaseNamedObjects",
    r"\Callback",
    r"\Device",
    r"\Driver",
    r"\FileSystem",
    r"\GLOBAL??",
    r"\KernelObjects",
    r"\KnownDlls",
    r"\ObjectTypes",
    r"\RPC Control",
    r"\Security",
];

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: object, buffer for the information, its size, pointer to the length.
    routine!("ObQueryNameString", PASSIVE, query_name).fails(NtStatus::InvalidParameter),
    // Arguments: name, attributes, access state, access, type, mode, context, pointer to the object.
    routine!("ObReferenceObjectByName", PASSIVE, |call| {
        let name = call.ptr::<UNICODE_STRING>(0).text()?;
        let Some(object) = named(&name)? else { return fail(NtStatus::ObjectNameNotFound) };
        object::reference(object, call.from);
        call.ptr(7).write(object)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    // Arguments: pointer to the handle, access, attributes.
    routine!("ZwOpenDirectoryObject", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
        let Some(index) = DIRECTORIES.iter().position(|known| known.eq_ignore_ascii_case(&name)) else {
            return fail(NtStatus::ObjectNameNotFound);
        };
        call.ptr(0).write(object::open("directory", index as u64 + 1, call.from))?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    routine!("ZwOpenSymbolicLinkObject", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
        let found = lock(&kernel().io).links.iter().find(|link| link.is_called(&name)).cloned();
        let Some(link) = found else { return fail(NtStatus::ObjectNameNotFound) };
        let object = lock(&kernel().objects).link(link.name, link.target);
        call.ptr(0).write(object::open("symbolic link", object, call.from))?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    routine!("ZwQuerySymbolicLinkObject", PASSIVE, query_link),
];

/// Arguments: handle, string for the target, pointer to its length including the terminator.
fn query_link(call: &Call) -> Outcome {
    let Some(object) = object::of_kind(call.kernel_handle(0), "symbolic link") else {
        return fail(NtStatus::InvalidHandle);
    };
    let target = lock(&kernel().objects).target(object);
    let units: Vec<u16> = target.encode_utf16().collect();
    let (place, size) = (call.ptr::<UNICODE_STRING>(1), units.len() as u32 * 2);
    call.ptr::<u32>(2).write_if(size + 2)?;
    if u32::from(place.MaximumLength().read()?) < size {
        return fail(NtStatus::BufferTooSmall);
    }
    let buffer: GuestPtr<u16> = place.Buffer().read()?;
    buffer.write_all(&units)?;
    place.Length().write(size as u16)?;
    Ok(())
}

/// Returns the object with a name in the object manager's directories: the driver or a device.
fn named(name: &str) -> Result<Option<u64>, Fault> {
    let (driver, device) = {
        let io = lock(&kernel().io);
        let device = io.devices.iter().find(|device| !device.name.is_empty() && device.name.eq_ignore_ascii_case(name));
        (io.driver, device.map(|device| device.object.address()))
    };
    let own = driver.DriverName().text()?;
    Ok(if own.eq_ignore_ascii_case(name) { Some(driver.address()) } else { device })
}

/// Returns the name of an object; empty if it has none.
fn name_of(object: u64) -> Result<String, Fault> {
    let (driver, devices): (GuestPtr<DRIVER_OBJECT>, Vec<(u64, String)>) = {
        let io = lock(&kernel().io);
        (io.driver, io.devices.iter().map(|device| (device.object.address(), device.name.clone())).collect())
    };
    let device = |wanted: u64| devices.iter().find(|(object, _)| *object == wanted).map(|(_, name)| name.clone());
    if object == driver.address() {
        return driver.DriverName().text();
    }
    if let Some(name) = device(object) {
        return Ok(name);
    }
    let file = GuestPtr::<FILE_OBJECT>::new(object);
    if lock(&kernel().objects).is_managed(object) && file.Type().read()? == object::FILE_TYPE {
        let of = device(file.DeviceObject().read()?.address()).unwrap_or_default();
        return Ok(format!("{of}{}", file.FileName().text()?));
    }
    Ok(String::new())
}

fn query_name(call: &Call) -> Outcome {
    let units: Vec<u16> = name_of(call.arg(0))?.encode_utf16().chain([0]).collect();
    let (string, bytes) = (call.ptr::<UNICODE_STRING>(1), units.len() as u16 * 2);
    // An object without a name has an empty string without a buffer.
    let (text, needed) = if units.len() == 1 { (0, 16) } else { (bytes, 16 + u32::from(bytes)) };
    call.ptr(3).write(needed)?;
    if call.u32(2) < needed {
        return fail(NtStatus::InfoLengthMismatch);
    }
    if text == 0 {
        string.set(0, 0, GuestPtr::NULL)?;
        return Ok(());
    }
    let place = string.after::<u16>();
    place.write_all(&units)?;
    string.set(text - 2, text, place)?;
    Ok(())
}
