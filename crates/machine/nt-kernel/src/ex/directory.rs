//! The object manager's directories and symbolic links.

use etw_types::NtStatus;
use nt_processor::layout::{OBJECT_ATTRIBUTES, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, Opaque};
use nt_verifier::routine::{APC, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};

use super::handle::KernelHandle;
use super::namespace::{self, DIRECTORY};
use super::object;
use crate::{Kernel, kernel, lock};

/// The size of `OBJECT_DIRECTORY_INFORMATION`: the strings of name and type.
const ENTRY: u64 = 0x20;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn ZwCreateDirectoryObject(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    ) -> Outcome<NtStatus> {
        let (object, status) = namespace::create(attributes, DIRECTORY, call.from, namespace::new_directory)?;
        place.set(object::open_counted(DIRECTORY, object, call.from)?)?;
        done(status)
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwOpenDirectoryObject(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    ) -> Outcome {
        let object = namespace::open(attributes, DIRECTORY)?;
        place.set(object::open(DIRECTORY, object, call.from)?)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn ZwQueryDirectoryObject(
        handle: KernelHandle,
        buffer: GuestSlice<u8>,
        single: bool,
        restart: bool,
        position: GuestPtr<u32>,
        length: Out<u32>,
    ) -> Outcome<NtStatus> {
        match object::of_kind(handle, DIRECTORY) {
            Some(directory) => query_directory(directory, buffer, single, restart, position, length),
            None => fail(NtStatus::InvalidHandle),
        }
    }

    #[irql(PASSIVE)]
    fn ZwMakeTemporaryObject(handle: KernelHandle) -> Outcome {
        set_permanent(handle, false)
    }

    #[irql(PASSIVE)]
    fn ZwMakePermanentObject(handle: KernelHandle) -> Outcome {
        set_permanent(handle, true)
    }

    #[irql(APC)]
    fn ObMakeTemporaryObject(object: GuestPtr<Opaque>) {
        lock(&kernel().objects).set_permanent(object.address(), false);
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwOpenSymbolicLinkObject(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
    ) -> Outcome {
        let Kernel { io, objects, .. } = kernel();
        let name = attributes.ObjectName().read()?.text()?;
        let found = lock(io).links.iter().find(|link| link.is_called(&name)).cloned();
        let Some(link) = found else { return fail(NtStatus::ObjectNameNotFound) };
        let object = lock(objects).link(link.name, link.target);
        place.set(object::open("symbolic link", object, call.from)?)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn ZwQuerySymbolicLinkObject(
        handle: KernelHandle,
        target: GuestPtr<UNICODE_STRING>,
        length: Out<u32>,
    ) -> Outcome {
        match object::of_kind(handle, "symbolic link") {
            Some(link) => query_link(link, target, length),
            None => fail(NtStatus::InvalidHandle),
        }
    }
}

fn set_permanent(handle: KernelHandle, permanent: bool) -> Outcome {
    let Some(object) = object::by_handle(handle) else { return fail(NtStatus::InvalidHandle) };
    lock(&kernel().objects).set_permanent(object, permanent);
    Ok(())
}

/// Stores the entries of a directory from the position on, all that have room or a single one.
fn query_directory(
    directory: u64,
    buffer: GuestSlice<u8>,
    single: bool,
    restart: bool,
    position: GuestPtr<u32>,
    length: Out<u32>,
) -> Outcome<NtStatus> {
    let (buffer, room) = (buffer.start(), buffer.len());
    let first = if restart { 0 } else { position.read()? };
    let children = namespace::children(directory)?;
    let left = children.get(first as usize..).unwrap_or_default();
    if left.is_empty() {
        length.set_if_wanted(0)?;
        return fail(NtStatus::NoMoreEntries);
    }
    // An entry of zeros ends the list, and the strings follow it.
    let size_of = |(name, kind): &(String, &str)| ENTRY + bytes(name) + bytes(kind);
    let mut count = 0;
    let mut needed = ENTRY;
    for entry in left.iter().take(if single { 1 } else { left.len() }) {
        let sum = needed + size_of(entry);
        if sum > room {
            break;
        }
        (count, needed) = (count + 1, sum);
    }
    if count == 0 {
        length.set_if_wanted((ENTRY + left.first().map_or(0, size_of)) as u32)?;
        return fail(NtStatus::BufferTooSmall);
    }
    length.set_if_wanted(needed as u32)?;
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

/// Stores the target of a link. `length` receives its size with a terminator.
fn query_link(link: u64, place: GuestPtr<UNICODE_STRING>, length: Out<u32>) -> Outcome {
    let target = lock(&kernel().objects).target(link);
    let units: Vec<u16> = target.encode_utf16().collect();
    let size = units.len() as u32 * 2;
    length.set_if_wanted(size + 2)?;
    if u32::from(place.MaximumLength().read()?) < size {
        return fail(NtStatus::BufferTooSmall);
    }
    let buffer: GuestPtr<u16> = place.Buffer().read()?;
    buffer.write_all(&units)?;
    place.Length().write(size as u16)?;
    Ok(())
}
