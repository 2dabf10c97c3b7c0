//! The file system below all minifilters: performs an operation on the volume's files.

use etw_types::NtStatus;
use nt_kernel::io::listing::{self, Query};
use nt_kernel::io::{file_info, mdl, volume};
use nt_kernel::{kernel, lock};
use nt_processor::layout::{FLT_IO_PARAMETER_BLOCK, IO_STATUS_BLOCK, MDL, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Failure, Outcome, fail};

use super::major;
use super::state::{Data, File, state};

/// `FO_CLEANUP_COMPLETE`, a flag of a file object.
pub(super) const CLEANED_UP: u32 = 0x4000;
/// `IRP_MN_QUERY_DIRECTORY`.
pub(super) const QUERY_DIRECTORY: u8 = 1;
/// `SL_RESTART_SCAN`, `SL_RETURN_SINGLE_ENTRY`.
pub(super) const RESTART_SCAN: u8 = 1;
const SINGLE_ENTRY: u8 = 2;
/// The classes of information about a volume.
const FS_VOLUME: u32 = 1;
const FS_SIZE: u32 = 3;
const FS_DEVICE: u32 = 4;
const FS_ATTRIBUTE: u32 = 5;
const FS_FULL_SIZE: u32 = 7;
/// `FILE_DEVICE_DISK`.
const DISK: u64 = 7;
/// `FILE_CASE_PRESERVED_NAMES | FILE_UNICODE_ON_DISK`, and the longest name.
const ATTRIBUTES: u32 = 0x6;
const LONGEST_NAME: u32 = 255;
/// The clusters of the volume and the sectors of a cluster.
const CLUSTERS: u64 = 0x10_0000;
const SECTORS: u64 = 8;
/// The size of a sector in bytes.
pub(super) const SECTOR: u16 = 512;

/// The status and `IoStatus.Information`.
type Result2 = (NtStatus, u64);

/// Performs an operation. Returns whether it opened the file.
pub(super) fn perform(data: Data) -> Result<bool, Fault> {
    let iopb = data.Iopb().read()?.read()?;
    let result = match iopb.MajorFunction {
        major::CREATE => create(&iopb),
        major::READ => read(&iopb),
        major::WRITE => write(&iopb),
        major::QUERY_INFORMATION => query(&iopb),
        major::SET_INFORMATION => set(&iopb),
        major::DIRECTORY_CONTROL if iopb.MinorFunction == QUERY_DIRECTORY => list(&iopb),
        major::QUERY_VOLUME_INFORMATION => describe_volume(&iopb),
        major::FLUSH_BUFFERS => Ok((NtStatus::Success, 0)),
        major::CLEANUP => {
            clean_up(iopb.TargetFileObject);
            Ok((NtStatus::Success, 0))
        }
        major::CLOSE => {
            close(iopb.TargetFileObject);
            Ok((NtStatus::Success, 0))
        }
        _ => fail(NtStatus::InvalidDeviceRequest),
    };
    let (status, information) = match result {
        Ok(result) => result,
        Err(Failure::Status(status)) => (status, 0),
        Err(Failure::Fault(fault)) => return Err(fault),
    };
    data.IoStatus().write(IO_STATUS_BLOCK { Status: status, Padding: 0, Information: information })?;
    Ok(iopb.MajorFunction == major::CREATE && status.is_success())
}

fn word(iopb: &FLT_IO_PARAMETER_BLOCK, index: usize) -> u64 {
    iopb.Parameters.get(index).copied().unwrap_or_default()
}

/// Returns the path that a file object that is not open names.
pub(super) fn path_to_open(file: File) -> Result<String, Fault> {
    let name = file.FileName().text()?;
    let Some(related) = file.RelatedFileObject().read()?.non_null() else {
        let trimmed = name.trim_end_matches('\\');
        return Ok(if trimmed.is_empty() { r"\".to_owned() } else { trimmed.to_owned() });
    };
    let dir = lock(&kernel().io).volume.path_of(related.address()).unwrap_or_default();
    Ok(format!("{}\\{}", dir.trim_end_matches('\\'), name.trim_matches('\\')).trim_end_matches('\\').to_owned())
}

fn create(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let options = word(iopb, 1) as u32;
    let file = iopb.TargetFileObject;
    let path = path_to_open(file)?;
    let done = volume::open(file, &path, options >> 24, options & 0x00FF_FFFF)?;
    Ok((NtStatus::Success, done))
}

/// Returns the buffer of a transfer: the one that the MDL describes, or the address.
fn buffer(list: u64, address: u64) -> Result<GuestPtr<u8>, Fault> {
    match GuestPtr::<MDL>::new(list).non_null() {
        Some(list) => mdl::start(list),
        None => Ok(GuestPtr::new(address)),
    }
}

fn read(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let (length, offset) = (word(iopb, 0) as u32, word(iopb, 2));
    let bytes = lock(&kernel().io).volume.read(iopb.TargetFileObject.address(), offset, length)?;
    buffer(word(iopb, 4), word(iopb, 3))?.write_all(&bytes)?;
    let count = bytes.len() as u64;
    iopb.TargetFileObject.CurrentByteOffset().write(offset + count)?;
    Ok((NtStatus::Success, count))
}

fn write(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let (length, offset) = (word(iopb, 0) & u64::from(u32::MAX), word(iopb, 2));
    let bytes = buffer(word(iopb, 4), word(iopb, 3))?.array(length).read()?;
    lock(&kernel().io).volume.write(iopb.TargetFileObject.address(), offset, &bytes)?;
    iopb.TargetFileObject.CurrentByteOffset().write(offset + length)?;
    Ok((NtStatus::Success, length))
}

fn query(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let file = iopb.TargetFileObject;
    let size = lock(&kernel().io).volume.size(file.address()).ok_or(NtStatus::InvalidParameter)?;
    let (status, bytes) = file_info::query(file, word(iopb, 1) as u32, size, word(iopb, 0) as u32)?;
    GuestPtr::<u8>::new(word(iopb, 2)).write_all(&bytes)?;
    Ok((status, bytes.len() as u64))
}

fn set(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let bytes = GuestPtr::<u8>::new(word(iopb, 4)).array(word(iopb, 0) & u64::from(u32::MAX)).read()?;
    let status = file_info::set(iopb.TargetFileObject, word(iopb, 1) as u32, &bytes)?;
    if status.is_success() && matches!(word(iopb, 1) as u32, file_info::RENAME | file_info::RENAME_EX) {
        state().cached.remove(&iopb.TargetFileObject);
    }
    Ok((status, 0))
}

fn list(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let query = Query {
        pattern: GuestPtr::<UNICODE_STRING>::new(word(iopb, 1)).text()?,
        class: word(iopb, 2) as u32,
        is_single: iopb.OperationFlags & SINGLE_ENTRY != 0,
        restarts: iopb.OperationFlags & RESTART_SCAN != 0,
    };
    let place = buffer(word(iopb, 5), word(iopb, 4))?;
    listing::list(iopb.TargetFileObject.address(), &query, place, word(iopb, 0) as u32)
}

fn describe_volume(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let geometry = SECTORS | u64::from(SECTOR) << 32;
    let bytes = match word(iopb, 1) as u32 {
        // The time, the serial number and the length of the label, whether there are object identifiers.
        FS_VOLUME => [words(&[0, 0x1234_5678]), vec![0; 8]].concat(),
        FS_SIZE => words(&[CLUSTERS, CLUSTERS, geometry]),
        FS_FULL_SIZE => words(&[CLUSTERS, CLUSTERS, CLUSTERS, geometry]),
        FS_DEVICE => words(&[DISK]),
        FS_ATTRIBUTE => {
            let name: Vec<u8> = "NTFS".encode_utf16().flat_map(u16::to_le_bytes).collect();
            let numbers = [ATTRIBUTES, LONGEST_NAME, name.len() as u32];
            numbers.iter().flat_map(|number| number.to_le_bytes()).chain(name).collect()
        }
        _ => return fail(NtStatus::InvalidInfoClass),
    };
    let room = word(iopb, 0) as u32 as usize;
    let fitting = bytes.get(..room).unwrap_or(&bytes);
    GuestPtr::<u8>::new(word(iopb, 2)).write_all(fitting)?;
    let status = if fitting.len() < bytes.len() { NtStatus::BufferOverflow } else { NtStatus::Success };
    Ok((status, fitting.len() as u64))
}

/// Handles the end of the last handle of a file.
pub(super) fn clean_up(file: File) {
    volume::closed(file.address());
    // The file object is the host's, so the access succeeds.
    let _ = file.Flags().change(|flags| flags | CLEANED_UP);
}

/// Handles the end of the last reference to a file.
pub(super) fn close(file: File) {
    volume::forget(file.address());
    state().cached.remove(&file);
}
