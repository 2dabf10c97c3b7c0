//! The only volume: files in memory, which a driver can create, read and write, such as a log.
//!
//! It is drive C, with the folders of Windows and no files. Requests do not become IRPs, because no driver of this host
//! could filter them.

use std::collections::BTreeMap;

use etw_types::NtStatus;

use super::device::Owner;
use super::names::rest_behind;
use super::open::new_file;
use super::stack;
use crate::kernel::ex::object::{self, KernelHandle, Lifetime};
use crate::kernel::ex::paths::{canonical, parent};
use crate::kernel::{kernel, lock};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT};
use crate::memory::GuestPtr;
use crate::routine::{Outcome, fail};

/// The device of the volume, and other names for its root and its folder of Windows.
const DEVICE: &str = r"\Device\HarddiskVolume1";
const DRIVE: &str = r"\??\C:";
const SYSTEM_ROOT: &str = r"\SystemRoot";
const WINDOWS: &str = r"\Windows";
/// The folders that exist from the start.
const FOLDERS: [&str; 7] = [
    r"\",
    r"\Windows",
    r"\Windows\System32",
    r"\Windows\System32\drivers",
    r"\Windows\System32\LogFiles",
    r"\Windows\Temp",
    r"\Users",
];
/// The size of a cluster, of which a file has a whole number.
const CLUSTER: u64 = 0x1000;
/// The maximum size of a file.
const LARGEST: u64 = 1 << 30;
/// The high part of a special offset, and its low parts: the end of the file, and the position of the file object.
const SPECIAL: u32 = u32::MAX;
const AT_END: u32 = u32::MAX;
const AT_POSITION: u32 = 0xFFFF_FFFE;

/// `FILE_DIRECTORY_FILE`, `FILE_NON_DIRECTORY_FILE`, `FILE_DELETE_ON_CLOSE`.
const DIRECTORY: u32 = 0x1;
const NO_DIRECTORY: u32 = 0x40;
const DELETE_ON_CLOSE: u32 = 0x1000;

/// The result of opening a file: the values of `IO_STATUS_BLOCK.Information`.
const SUPERSEDED: u64 = 0;
const OPENED: u64 = 1;
const CREATED: u64 = 2;
const OVERWRITTEN: u64 = 3;

/// A file or a folder.
#[derive(Debug, Default)]
struct Node {
    /// The contents; `None` for a folder.
    data: Option<Vec<u8>>,
    /// The number of bytes that are reserved for it.
    reserved: u64,
    /// Whether it goes with its last handle.
    goes: bool,
}

/// The files, by their path in lower case, and the paths of open file objects.
#[derive(Debug, Default)]
pub(super) struct Volume {
    nodes: BTreeMap<String, Node>,
    open: BTreeMap<u64, String>,
}

/// Information about a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    pub(super) end: u64,
    reserved: u64,
    pub(super) is_folder: bool,
    pub(super) goes: bool,
}

impl Size {
    /// Returns the number of bytes that the file takes.
    pub(super) const fn allocated(self) -> u64 {
        let size = if self.end > self.reserved { self.end } else { self.reserved };
        size.next_multiple_of(CLUSTER)
    }
}

/// The functions that run after the last handle and the last reference of a file are released.
const FILE: Lifetime = Lifetime { last_handle: closed, last_reference: freed };

/// Returns the path on the volume that a name leads to, in lower case.
pub(super) fn path(name: &str) -> Option<String> {
    let name = canonical(name);
    let below = |base: &str, folder: &str| rest_behind(&name, base).map(|rest| format!("{folder}{rest}"));
    let path = below(DRIVE, "").or_else(|| below(DEVICE, "")).or_else(|| below(SYSTEM_ROOT, WINDOWS))?;
    // The name without a path is the volume itself, not a file.
    let path = path.to_ascii_lowercase();
    let trimmed = path.trim_end_matches('\\');
    (!path.is_empty()).then(|| if trimmed.is_empty() { r"\".to_owned() } else { trimmed.to_owned() })
}

/// Returns the volume's device.
fn device() -> Outcome<GuestPtr<DEVICE_OBJECT>> {
    let known = lock(&kernel().io).devices.iter().find(|device| device.name == DEVICE).map(|device| device.object);
    Ok(match known {
        Some(device) => device,
        None => stack::new_device(DEVICE, Owner::Other)?,
    })
}

impl Volume {
    fn node(&mut self, path: &str) -> Option<&mut Node> {
        if self.nodes.is_empty() {
            self.nodes.extend(FOLDERS.map(|folder| (folder.to_ascii_lowercase(), Node::default())));
        }
        self.nodes.get_mut(path)
    }

    fn of_file(&mut self, file: u64) -> Option<&mut Node> {
        let path = self.open.get(&file)?.clone();
        self.node(&path)
    }

    /// Creates or opens a file. Returns what was done.
    fn create(&mut self, path: &str, disposition: u32, options: u32) -> Result<u64, NtStatus> {
        let wants_folder = options & DIRECTORY != 0;
        if let Some(node) = self.node(path) {
            match (&mut node.data, disposition) {
                // FILE_CREATE.
                (_, 2) => return Err(NtStatus::ObjectNameCollision),
                (Some(_), _) if wants_folder => return Err(NtStatus::NotADirectory),
                (None, _) if options & NO_DIRECTORY != 0 => return Err(NtStatus::FileIsADirectory),
                // FILE_SUPERSEDE, FILE_OVERWRITE, FILE_OVERWRITE_IF.
                (Some(data), 0 | 4 | 5) => {
                    data.clear();
                    node.reserved = 0;
                    return Ok(if disposition == 0 { SUPERSEDED } else { OVERWRITTEN });
                }
                (None, 0 | 4 | 5) => return Err(NtStatus::InvalidParameter),
                _ => return Ok(OPENED),
            }
        }
        if self.node(parent(path)).is_none_or(|above| above.data.is_some()) {
            return Err(NtStatus::ObjectPathNotFound);
        }
        // FILE_OPEN, FILE_OVERWRITE.
        if matches!(disposition, 1 | 4) {
            return Err(NtStatus::ObjectNameNotFound);
        }
        let data = (!wants_folder).then(Vec::new);
        self.nodes.insert(path.to_owned(), Node { data, ..Node::default() });
        Ok(CREATED)
    }

    /// Returns the size of an open file.
    pub(super) fn size(&mut self, file: u64) -> Option<Size> {
        let node = self.of_file(file)?;
        let end = node.data.as_ref().map_or(0, Vec::len) as u64;
        Some(Size { end, reserved: node.reserved, is_folder: node.data.is_none(), goes: node.goes })
    }

    /// Sets the end of an open file.
    pub(super) fn set_end(&mut self, file: u64, end: u64) -> NtStatus {
        match self.of_file(file).and_then(|node| node.data.as_mut()) {
            Some(data) if end <= LARGEST => {
                data.resize(end as usize, 0);
                NtStatus::Success
            }
            Some(_) => NtStatus::DiskFull,
            None => NtStatus::InvalidParameter,
        }
    }

    /// Sets the number of bytes that are reserved for an open file. Its end is not after them.
    pub(super) fn reserve(&mut self, file: u64, size: u64) -> NtStatus {
        let end = self.size(file).map_or(0, |known| known.end.min(size));
        let status = if size > LARGEST { NtStatus::DiskFull } else { self.set_end(file, end) };
        if let Some(node) = self.of_file(file).filter(|_| status.is_success()) {
            node.reserved = size;
        }
        status
    }

    /// Makes an open file go with its last handle, or not.
    pub(super) fn set_goes(&mut self, file: u64, goes: bool) {
        if let Some(node) = self.of_file(file) {
            node.goes = goes;
        }
    }

    /// Returns whether a file object belongs to the volume.
    pub(super) fn has(&self, file: u64) -> bool {
        self.open.contains_key(&file)
    }

    /// Returns up to `length` bytes of an open file.
    fn read(&mut self, file: u64, offset: u64, length: u32) -> Result<Vec<u8>, NtStatus> {
        let Some(data) = self.of_file(file).and_then(|node| node.data.as_ref()) else {
            return Err(NtStatus::InvalidDeviceRequest);
        };
        let rest = usize::try_from(offset).ok().and_then(|at| data.get(at..)).unwrap_or_default();
        if rest.is_empty() && length != 0 {
            return Err(NtStatus::EndOfFile);
        }
        Ok(rest.get(..length as usize).unwrap_or(rest).to_vec())
    }

    /// Writes bytes to an open file.
    fn write(&mut self, file: u64, offset: u64, bytes: &[u8]) -> Result<(), NtStatus> {
        let Some(data) = self.of_file(file).and_then(|node| node.data.as_mut()) else {
            return Err(NtStatus::InvalidDeviceRequest);
        };
        let end = offset.saturating_add(bytes.len() as u64);
        if end > LARGEST {
            return Err(NtStatus::DiskFull);
        }
        data.resize(data.len().max(end as usize), 0);
        if let Some(place) = data.get_mut(offset as usize..end as usize) {
            place.copy_from_slice(bytes);
        }
        Ok(())
    }

    /// Deletes a file that is not open.
    pub(super) fn delete(&mut self, path: &str) -> NtStatus {
        if self.node(path).is_none() {
            return NtStatus::ObjectNameNotFound;
        }
        if self.open.values().any(|known| known == path) {
            return NtStatus::SharingViolation;
        }
        self.nodes.remove(path);
        NtStatus::Success
    }
}

/// Creates or opens a file. Returns a handle to it, and what was done.
pub(super) fn create(path: &str, disposition: u32, options: u32, from: u64) -> Outcome<(KernelHandle, u64)> {
    let done = lock(&kernel().io).volume.create(path, disposition, options)?;
    let file = new_file(device()?, path)?.address();
    let mut io = lock(&kernel().io);
    io.volume.open.insert(file, path.to_owned());
    if options & DELETE_ON_CLOSE != 0 {
        io.volume.set_goes(file, true);
    }
    drop(io);
    object::manage(file, FILE);
    Ok((object::open("file", file, from)?, done))
}

/// Returns the offset of a transfer, from the place of the offset: the position of the file object if there is none.
fn offset(file: GuestPtr<FILE_OBJECT>, place: GuestPtr<u64>) -> Outcome<u64> {
    let offset = place.non_null().map_or(Ok(u64::from(SPECIAL) << 32 | u64::from(AT_POSITION)), GuestPtr::read)?;
    match ((offset >> 32) as u32, offset as u32) {
        (SPECIAL, AT_POSITION) => Ok(file.CurrentByteOffset().read()?),
        (SPECIAL, AT_END) => Ok(lock(&kernel().io).volume.size(file.address()).map_or(0, |size| size.end)),
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
fn closed(file: u64) {
    let volume = &mut lock(&kernel().io).volume;
    let Some(path) = volume.open.get(&file).cloned() else { return };
    let is_last = volume.open.values().filter(|known| **known == path).count() == 1;
    if is_last && volume.node(&path).is_some_and(|node| node.goes) {
        volume.nodes.remove(&path);
    }
}

/// Called when the last reference to a file is gone.
fn freed(file: u64) {
    lock(&kernel().io).volume.open.remove(&file);
    lock(&kernel().pool).free_object(file);
}
