//! The file system below all minifilters: performs an operation on the volume's files.

use etw_types::NtStatus;
use nt_kernel::io::file::listing::{self, Query};
use nt_kernel::io::file::{info, volume};
use nt_kernel::io::mdl;
use nt_kernel::{kernel, lock};
use nt_processor::layout::{FLT_IO_PARAMETER_BLOCK, IO_STATUS_BLOCK, MDL, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Failure, Outcome, fail};
use windows_constants::device::FILE_DEVICE_DISK;
use windows_constants::file::{
    FILE_CASE_PRESERVED_NAMES, FILE_UNICODE_ON_DISK, FO_CLEANUP_COMPLETE, FileFsAttributeInformation,
    FileFsDeviceInformation, FileFsFullSizeInformation, FileFsSizeInformation, FileFsVolumeInformation,
    FileRenameInformation, FileRenameInformationEx,
};
use windows_constants::request::{
    IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE, IRP_MJ_DIRECTORY_CONTROL, IRP_MJ_FLUSH_BUFFERS,
    IRP_MJ_QUERY_INFORMATION, IRP_MJ_QUERY_VOLUME_INFORMATION, IRP_MJ_READ, IRP_MJ_SET_INFORMATION, IRP_MJ_WRITE,
    IRP_MN_QUERY_DIRECTORY, SL_RESTART_SCAN, SL_RETURN_SINGLE_ENTRY,
};

use super::state::{Data, File, state};

/// The attributes of the file system.
const ATTRIBUTES: u32 = FILE_CASE_PRESERVED_NAMES | FILE_UNICODE_ON_DISK;
/// The longest name, in characters.
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
        IRP_MJ_CREATE => create(&iopb),
        IRP_MJ_READ => read(&iopb),
        IRP_MJ_WRITE => write(&iopb),
        IRP_MJ_QUERY_INFORMATION => query(&iopb),
        IRP_MJ_SET_INFORMATION => set(&iopb),
        IRP_MJ_DIRECTORY_CONTROL if iopb.MinorFunction == IRP_MN_QUERY_DIRECTORY => list(&iopb),
        IRP_MJ_QUERY_VOLUME_INFORMATION => describe_volume(&iopb),
        IRP_MJ_FLUSH_BUFFERS => Ok((NtStatus::Success, 0)),
        IRP_MJ_CLEANUP => {
            clean_up(iopb.TargetFileObject);
            Ok((NtStatus::Success, 0))
        }
        IRP_MJ_CLOSE => {
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
    Ok(iopb.MajorFunction == IRP_MJ_CREATE && status.is_success())
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
    let length = word(iopb, 0) as u32;
    let offset = word(iopb, 2);
    let bytes = lock(&kernel().io).volume.read(iopb.TargetFileObject.address(), offset, length)?;
    buffer(word(iopb, 4), word(iopb, 3))?.write_all(&bytes)?;
    let count = bytes.len() as u64;
    iopb.TargetFileObject.CurrentByteOffset().write(offset + count)?;
    Ok((NtStatus::Success, count))
}

fn write(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let length = word(iopb, 0) & u64::from(u32::MAX);
    let offset = word(iopb, 2);
    let bytes = buffer(word(iopb, 4), word(iopb, 3))?.array(length).read()?;
    lock(&kernel().io).volume.write(iopb.TargetFileObject.address(), offset, &bytes)?;
    iopb.TargetFileObject.CurrentByteOffset().write(offset + length)?;
    Ok((NtStatus::Success, length))
}

fn query(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let file = iopb.TargetFileObject;
    let size = lock(&kernel().io).volume.size(file.address()).ok_or(NtStatus::InvalidParameter)?;
    let (status, bytes) = info::query(file, word(iopb, 1) as u32, size, word(iopb, 0) as u32)?;
    GuestPtr::<u8>::new(word(iopb, 2)).write_all(&bytes)?;
    Ok((status, bytes.len() as u64))
}

fn set(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let bytes = GuestPtr::<u8>::new(word(iopb, 4)).array(word(iopb, 0) & u64::from(u32::MAX)).read()?;
    let status = info::set(iopb.TargetFileObject, word(iopb, 1) as u32, &bytes)?;
    if status.is_success() && matches!(word(iopb, 1) as u32, FileRenameInformation | FileRenameInformationEx) {
        state().cached.remove(&iopb.TargetFileObject);
    }
    Ok((status, 0))
}

fn list(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let query = Query {
        pattern: GuestPtr::<UNICODE_STRING>::new(word(iopb, 1)).text()?,
        class: word(iopb, 2) as u32,
        is_single: iopb.OperationFlags & SL_RETURN_SINGLE_ENTRY != 0,
        restarts: iopb.OperationFlags & SL_RESTART_SCAN != 0,
    };
    let place = buffer(word(iopb, 5), word(iopb, 4))?;
    listing::list(iopb.TargetFileObject.address(), &query, place, word(iopb, 0) as u32)
}

fn describe_volume(iopb: &FLT_IO_PARAMETER_BLOCK) -> Outcome<Result2> {
    let words = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let geometry = SECTORS | u64::from(SECTOR) << 32;
    let bytes = match word(iopb, 1) as u32 {
        // The time, the serial number and the length of the label, whether there are object identifiers.
        FileFsVolumeInformation => [words(&[0, 0x1234_5678]), vec![0; 8]].concat(),
        FileFsSizeInformation => words(&[CLUSTERS, CLUSTERS, geometry]),
        FileFsFullSizeInformation => words(&[CLUSTERS, CLUSTERS, CLUSTERS, geometry]),
        FileFsDeviceInformation => words(&[FILE_DEVICE_DISK.into()]),
        FileFsAttributeInformation => {
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
    let _ = file.Flags().change(|flags| flags | FO_CLEANUP_COMPLETE);
}

/// Handles the end of the last reference to a file.
pub(super) fn close(file: File) {
    volume::forget(file.address());
    state().cached.remove(&file);
}
