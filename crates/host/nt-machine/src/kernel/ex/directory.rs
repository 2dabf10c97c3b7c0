//! The object manager's directories and symbolic links, as far as drivers use them.

use etw_types::NtStatus;

use super::object;
use crate::kernel::{kernel, lock};
use crate::layout::{OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::GuestPtr;
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
    // Arguments: pointer to the handle, access, attributes.
    routine!("ZwOpenDirectoryObject", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
        let Some(index) = DIRECTORIES.iter().position(|known| known.eq_ignore_ascii_case(&name)) else {
            return fail(NtStatus::ObjectNameNotFound);
        };
        call.ptr(0).write(object::open("directory", index as u64 + 1, call.from)?)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    routine!("ZwOpenSymbolicLinkObject", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(2).ObjectName().read()?.text()?;
        let found = lock(&kernel().io).links.iter().find(|link| link.is_called(&name)).cloned();
        let Some(link) = found else { return fail(NtStatus::ObjectNameNotFound) };
        let object = lock(&kernel().objects).link(link.name, link.target);
        call.ptr(0).write(object::open("symbolic link", object, call.from)?)?;
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
