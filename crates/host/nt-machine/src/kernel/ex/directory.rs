//! The object manager's directories and symbolic links.

use etw_types::NtStatus;

use super::namespace::{self, DIRECTORY};
use super::object;
use crate::kernel::{kernel, lock};
use crate::layout::{OBJECT_ATTRIBUTES, UNICODE_STRING};
use crate::memory::{Fault, GuestPtr};
use crate::routine::{APC, Call, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};

/// The size of `OBJECT_DIRECTORY_INFORMATION`: the strings of name and type.
const ENTRY: u64 = 0x20;

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: pointer to the handle, access, attributes.
    routine!("ZwCreateDirectoryObject", PASSIVE, |call| {
        let (object, status) = namespace::create(call.ptr(2), DIRECTORY, call.from, namespace::new_directory)?;
        call.ptr(0).write(object::open_counted(DIRECTORY, object, call.from)?)?;
        done(status)
    })
    .fails(NO_RESOURCES),
    routine!("ZwOpenDirectoryObject", PASSIVE, |call| {
        let object = namespace::open(call.ptr(2), DIRECTORY)?;
        call.ptr(0).write(object::open(DIRECTORY, object, call.from)?)?;
        done(())
    })
    .fails(NtStatus::ObjectNameNotFound),
    // Arguments: handle, buffer, its length, whether to return one entry, whether to restart, place of the position,
    // place for the length.
    routine!("ZwQueryDirectoryObject", PASSIVE, query_directory),
    routine!("ZwMakeTemporaryObject", PASSIVE, |call| set_permanent(call, false)),
    routine!("ZwMakePermanentObject", PASSIVE, |call| set_permanent(call, true)),
    routine!("ObMakeTemporaryObject", APC, |call| lock(&kernel().objects).set_permanent(call.arg(0), false)),
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

fn set_permanent(call: &Call, permanent: bool) -> Outcome {
    let Some(object) = object::by_handle(call.kernel_handle(0)) else { return fail(NtStatus::InvalidHandle) };
    lock(&kernel().objects).set_permanent(object, permanent);
    Ok(())
}

fn query_directory(call: &Call) -> Outcome<NtStatus> {
    let Some(directory) = object::of_kind(call.kernel_handle(0), DIRECTORY) else {
        return fail(NtStatus::InvalidHandle);
    };
    let (buffer, room, single) = (call.ptr::<u8>(1), u64::from(call.u32(2)), call.is(3));
    let (position, length) = (call.ptr::<u32>(5), call.ptr::<u32>(6));
    let first = if call.is(4) { 0 } else { position.read()? };
    let children = namespace::children(directory)?;
    let left = children.get(first as usize..).unwrap_or_default();
    if left.is_empty() {
        length.write_if(0)?;
        return fail(NtStatus::NoMoreEntries);
    }
    // An entry of zeros ends the list, and the strings follow it.
    let size_of = |(name, kind): &(String, &str)| ENTRY + bytes(name) + bytes(kind);
    let (mut count, mut needed) = (0, ENTRY);
    for entry in left.iter().take(if single { 1 } else { left.len() }) {
        let sum = needed + size_of(entry);
        if sum > room {
            break;
        }
        (count, needed) = (count + 1, sum);
    }
    if count == 0 {
        length.write_if((ENTRY + left.first().map_or(0, size_of)) as u32)?;
        return fail(NtStatus::BufferTooSmall);
    }
    length.write_if(needed as u32)?;
    let entries = left.get(..count).unwrap_or_default();
    buffer.array(needed).fill(0)?;
    let mut text = buffer.at(ENTRY * (count as u64 + 1));
    for (index, (name, kind)) in (0..).zip(entries) {
        for (offset, part) in [(0, name.as_str()), (ENTRY / 2, *kind)] {
            put(buffer.at(index * ENTRY + offset).cast(), part, text.cast())?;
            text = text.at(bytes(part));
        }
    }
    position.write(first + count as u32)?;
    done(if count == left.len() || single { NtStatus::Success } else { NtStatus::MoreEntries })
}

/// Returns the size of a string with its terminator.
fn bytes(text: &str) -> u64 {
    (text.encode_utf16().count() as u64 + 1) * 2
}

/// Stores a string, whose text is at `place`.
fn put(string: GuestPtr<UNICODE_STRING>, text: &str, place: GuestPtr<u16>) -> Result<(), Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    place.write_all(&units)?;
    let length = units.len() as u16 * 2;
    string.set(length, length + 2, place)
}

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
