//! The only volume: files in memory, which drivers and clients can create, read and write.
//!
//! It is drive C, with the folders of Windows and the files that a test describes (`tree`). Requests of clients
//! pass through minifilters first (`filter`); those of `ZwCreateFile` and its relatives do not.

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT};
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Outcome, fail};
use windows_constants::device::FILE_DEVICE_DISK;
use windows_constants::file::{FILE_DELETE_ON_CLOSE, FILE_USE_FILE_POINTER_POSITION, FILE_WRITE_TO_END_OF_FILE};

use super::file_object::new_file;
pub use super::tree::{Listed, Size, Volume};
use crate::case::folded;
use crate::ex::handle::KernelHandle;
use crate::ex::object::{self, Lifetime};
use crate::ex::paths::canonical;
use crate::io::device::Owner;
use crate::io::device::names::rest_behind;
use crate::io::device::stack;
use crate::{Kernel, kernel, lock};

/// The device of the volume, and other names for its root and its folder of Windows.
pub const DEVICE: &str = r"\Device\HarddiskVolume1";
const DRIVE: &str = r"\??\C:";
/// The volume's drive letter.
pub(super) const LETTER: &str = "C:";
const SYSTEM_ROOT: &str = r"\SystemRoot";
const WINDOWS: &str = r"\Windows";
/// The size of what a file system keeps for an open file, in words. Drivers only compare its address.
const STREAM: u64 = 16;
/// The high part of a special offset, whose low part is `FILE_WRITE_TO_END_OF_FILE` or `FILE_USE_FILE_POINTER_POSITION`.
const SPECIAL: u32 = u32::MAX;

/// The functions that run after the last handle and the last reference of a file are released.
const FILE: Lifetime = Lifetime { last_handle: closed, last_reference: freed };

/// Returns the path on the volume that a name leads to, as the name spells it.
pub fn path(name: &str) -> Option<String> {
    let name = canonical(name);
    let below = |base: &str, dir: &str| rest_behind(&name, base).map(|rest| format!("{dir}{rest}"));
    let path = below(DRIVE, "").or_else(|| below(DEVICE, "")).or_else(|| below(SYSTEM_ROOT, WINDOWS))?;
    // The name without a path is the volume itself, not a file.
    let trimmed = path.trim_end_matches('\\');
    (!path.is_empty()).then(|| if trimmed.is_empty() { r"\".to_owned() } else { trimmed.to_owned() })
}

/// Returns the volume's device.
pub fn device() -> Outcome<GuestPtr<DEVICE_OBJECT>> {
    let known = lock(&kernel().io).devices.iter().find(|device| device.name == DEVICE).map(|device| device.object);
    if let Some(device) = known {
        return Ok(device);
    }
    let device = stack::new_device(DEVICE, Owner::Other)?;
    device.DeviceType().write(FILE_DEVICE_DISK)?;
    Ok(device)
}

/// Creates a file object for a path, before anything is opened.
pub fn new_object(path: &str) -> Outcome<GuestPtr<FILE_OBJECT>> {
    new_file(device()?, path)
}

/// Creates or opens a file for a file object. Returns what was done.
pub fn open(file: GuestPtr<FILE_OBJECT>, path: &str, disposition: u32, options: u32) -> Outcome<u64> {
    let Kernel { io, pool, .. } = kernel();
    let done = lock(io).volume.create(path, disposition, options)?;
    let address = file.address();
    lock(io).volume.open.insert(address, folded(path));
    let mut stream = lock(io).volume.stream(address).unwrap_or_default();
    if stream.is_null() {
        stream = lock(pool).try_new_objects::<u64>(STREAM)?.cast();
    }
    let mut io = lock(io);
    if let Some(node) = io.volume.of_file(address) {
        node.stream = stream;
        node.goes |= options & FILE_DELETE_ON_CLOSE != 0;
    }
    drop(io);
    file.FsContext().write(stream)?;
    Ok(done)
}

/// Creates or opens a file. Returns a handle to it, and what was done.
pub(super) fn create(path: &str, disposition: u32, options: u32, from: u64) -> Outcome<(KernelHandle, u64)> {
    let file = new_object(path)?;
    let done =
        open(file, path, disposition, options).inspect_err(|_| lock(&kernel().pool).free_object(file.address()))?;
    object::manage(file.address(), FILE);
    Ok((object::open("file", file.address(), from)?, done))
}

/// Returns the offset of a transfer, from the place of the offset: the position of the file object if there is none.
pub fn offset(file: GuestPtr<FILE_OBJECT>, place: GuestPtr<u64>) -> Outcome<u64> {
    let offset = place
        .non_null()
        .map_or(Ok(u64::from(SPECIAL) << 32 | u64::from(FILE_USE_FILE_POINTER_POSITION)), GuestPtr::read)?;
    match ((offset >> 32) as u32, offset as u32) {
        (SPECIAL, FILE_USE_FILE_POINTER_POSITION) => Ok(file.CurrentByteOffset().read()?),
        (SPECIAL, FILE_WRITE_TO_END_OF_FILE) => {
            Ok(lock(&kernel().io).volume.size(file.address()).map_or(0, |size| size.end))
        }
        (high, _) if high >> 31 != 0 => fail(NtStatus::InvalidParameter),
        _ => Ok(offset),
    }
}

/// Reads from a file. Moves its position.
pub(super) fn read(file: GuestPtr<FILE_OBJECT>, place: GuestPtr<u64>, length: u32) -> Outcome<Vec<u8>> {
    let offset = offset(file, place)?;
    let bytes = lock(&kernel().io).volume.read(file.address(), offset, length)?;
    file.CurrentByteOffset().write(offset + bytes.len() as u64)?;
    Ok(bytes)
}

/// Writes to a file. Moves its position.
pub(super) fn write(file: GuestPtr<FILE_OBJECT>, place: GuestPtr<u64>, bytes: &[u8]) -> Outcome {
    let offset = offset(file, place)?;
    lock(&kernel().io).volume.write(file.address(), offset, bytes)?;
    Ok(file.CurrentByteOffset().write(offset + bytes.len() as u64)?)
}

/// Called when the last handle of a file is closed.
pub fn closed(file: u64) {
    let volume = &mut lock(&kernel().io).volume;
    let Some(path) = volume.open.get(&file).cloned() else { return };
    let is_last = volume.open.values().filter(|known| **known == path).count() == 1;
    if is_last && volume.node(&path).is_some_and(|node| node.goes) {
        volume.nodes.remove(&path);
    }
}

/// Called when the last reference to a file is gone.
fn freed(file: u64) {
    forget(file);
    lock(&kernel().pool).free_object(file);
}

/// Forgets an open file.
pub fn forget(file: u64) {
    let volume = &mut lock(&kernel().io).volume;
    volume.open.remove(&file);
    volume.scans.remove(&file);
}
