//! Information about files of the [volume]: the classes of `FILE_INFORMATION_CLASS` that its files have.

use etw_types::NtStatus;
use nt_processor::layout::FILE_OBJECT;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Outcome, fail};
use windows_constants::file::{
    FILE_ATTRIBUTE_DIRECTORY, FILE_ATTRIBUTE_NORMAL, FILE_RENAME_REPLACE_IF_EXISTS, FileAccessInformation,
    FileAlignmentInformation, FileAllInformation, FileAllocationInformation, FileAttributeTagInformation,
    FileBasicInformation, FileBothDirectoryInformation, FileDirectoryInformation, FileDispositionInformation,
    FileDispositionInformationEx, FileEaInformation, FileEndOfFileInformation, FileFullDirectoryInformation,
    FileIdBothDirectoryInformation, FileIdFullDirectoryInformation, FileInternalInformation, FileModeInformation,
    FileNameInformation, FileNamesInformation, FileNetworkOpenInformation, FileNormalizedNameInformation,
    FilePositionInformation, FileRenameInformation, FileRenameInformationEx, FileStandardInformation,
};
use windows_constants::security::FILE_ALL_ACCESS;

use super::volume::{self, Listed, Size};
use crate::ex::paths::parent;
use crate::{Kernel, kernel, lock};

/// The handle of the folder, the length of the name and the name in `FILE_RENAME_INFORMATION`.
const NAME_LENGTH_AT: usize = 16;
const NEW_NAME_AT: usize = 20;

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

const fn attributes(size: Size) -> u32 {
    if size.is_dir { FILE_ATTRIBUTE_DIRECTORY } else { FILE_ATTRIBUTE_NORMAL }
}

/// Returns information of a class, as much as fits, and the status.
pub fn query(file: GuestPtr<FILE_OBJECT>, class: u32, size: Size, room: u32) -> Outcome<(NtStatus, Vec<u8>)> {
    let mut information = describe(file, class, size)?;
    if information.len() <= room as usize {
        return Ok((NtStatus::Success, information));
    }
    // Only a name may be cut.
    let least = match class {
        FileNameInformation | FileNormalizedNameInformation => 4,
        FileAllInformation => 100,
        _ => usize::MAX,
    };
    if (room as usize) < least {
        return fail(NtStatus::InfoLengthMismatch);
    }
    information.truncate(room as usize);
    Ok((NtStatus::BufferOverflow, information))
}

/// Returns information about a file of the volume.
fn describe(file: GuestPtr<FILE_OBJECT>, class: u32, size: Size) -> Outcome<Vec<u8>> {
    let all = |classes: &[u32]| -> Outcome<Vec<u8>> {
        let parts: Result<Vec<_>, _> = classes.iter().map(|class| describe(file, *class, size)).collect();
        Ok(parts?.concat())
    };
    Ok(match class {
        // Four times, attributes.
        FileBasicInformation => bytes(&[0, 0, 0, 0, attributes(size).into()]),
        // The allocated size, the end, the number of links, whether it is being deleted, whether it is a folder.
        FileStandardInformation => {
            let rest = 1 | u64::from(size.goes) << 32 | u64::from(size.is_dir) << 40;
            bytes(&[size.allocated(), size.end, rest])
        }
        FileInternalInformation => bytes(&[file.FsContext().read()?.address()]),
        FileEaInformation | FileModeInformation | FileAlignmentInformation => vec![0; 4],
        FileAccessInformation => FILE_ALL_ACCESS.to_le_bytes().to_vec(),
        FileNameInformation | FileNormalizedNameInformation => {
            let path = lock(&kernel().io).volume.path_of(file.address()).unwrap_or_default();
            let name: Vec<u8> = path.encode_utf16().flat_map(u16::to_le_bytes).collect();
            [(name.len() as u32).to_le_bytes().to_vec(), name].concat()
        }
        FilePositionInformation => bytes(&[file.CurrentByteOffset().read()?]),
        FileAllInformation => all(&[
            FileBasicInformation,
            FileStandardInformation,
            FileInternalInformation,
            FileEaInformation,
            FileAccessInformation,
            FilePositionInformation,
            FileModeInformation,
            FileAlignmentInformation,
            FileNameInformation,
        ])?,
        // Four times, the allocated size, the end, attributes.
        FileNetworkOpenInformation => bytes(&[0, 0, 0, 0, size.allocated(), size.end, attributes(size).into()]),
        FileAttributeTagInformation => bytes(&[attributes(size).into()]),
        _ => return fail(NtStatus::InvalidInfoClass),
    })
}

/// Changes a file of the volume. Returns the status.
pub fn set(file: GuestPtr<FILE_OBJECT>, class: u32, information: &[u8]) -> Outcome<NtStatus> {
    let Kernel { io, .. } = kernel();
    let word = information.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let short = NtStatus::InfoLengthMismatch;
    Ok(match (class, word) {
        (FileBasicInformation, _) => NtStatus::Success,
        (FileDispositionInformation | FileDispositionInformationEx, _) => match information.first() {
            // The lowest bit of the flags has the same meaning.
            Some(goes) => lock(io).volume.dispose(file.address(), *goes & 1 != 0),
            None => short,
        },
        (FileRenameInformation | FileRenameInformationEx, Some(flags)) => match new_path(file, information) {
            Some(path) => {
                lock(io).volume.rename(file.address(), &path, flags & u64::from(FILE_RENAME_REPLACE_IF_EXISTS) != 0)
            }
            None => short,
        },
        (FilePositionInformation, Some(position)) => {
            file.CurrentByteOffset().write(position)?;
            NtStatus::Success
        }
        (FileEndOfFileInformation, Some(end)) => lock(io).volume.set_end(file.address(), end),
        (FileAllocationInformation, Some(size)) => lock(io).volume.reserve(file.address(), size),
        (
            FilePositionInformation
            | FileEndOfFileInformation
            | FileAllocationInformation
            | FileRenameInformation
            | FileRenameInformationEx,
            None,
        ) => short,
        _ => NtStatus::InvalidInfoClass,
    })
}

/// Returns the path in `FILE_RENAME_INFORMATION`.
fn new_path(file: GuestPtr<FILE_OBJECT>, information: &[u8]) -> Option<String> {
    let length = information.get(NAME_LENGTH_AT..NEW_NAME_AT)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    let name = information.get(NEW_NAME_AT..)?.get(..length as usize)?;
    let units: Vec<u16> = name.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
    destination(file.address(), &String::from_utf16_lossy(&units))
}

/// Returns the path that a file gets by a name: a full one, or one in the file's own folder.
pub fn destination(file: u64, name: &str) -> Option<String> {
    if name.starts_with('\\') {
        return Some(volume::path(name).unwrap_or_else(|| name.to_owned()));
    }
    let path = lock(&kernel().io).volume.path_of(file)?;
    Some(format!("{}\\{name}", parent(&path).trim_end_matches('\\')))
}

/// Returns an entry of a folder in a class of directory information, without the link to the next entry.
pub fn entry(class: u32, listed: &Listed) -> Result<Vec<u8>, NtStatus> {
    let name: Vec<u8> = listed.name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = name.len() as u32;
    if class == FileNamesInformation {
        return Ok([vec![0; 8], length.to_le_bytes().to_vec(), name].concat());
    }
    // Where the name begins, after the members that all classes have and those of this one.
    let name_at = match class {
        FileDirectoryInformation => 64,
        FileFullDirectoryInformation => 68,
        FileBothDirectoryInformation => 94,
        FileIdFullDirectoryInformation => 80,
        FileIdBothDirectoryInformation => 104,
        _ => return Err(NtStatus::InvalidInfoClass),
    };
    let size = listed.size;
    // The link and the index, four times, the end, the allocated size, attributes and the length of the name.
    let last = u64::from(attributes(size)) | u64::from(length) << 32;
    let mut entry = bytes(&[0, 0, 0, 0, 0, size.end, size.allocated(), last]);
    entry.resize(name_at, 0);
    entry.extend(name);
    Ok(entry)
}

/// Stores entries in a buffer. Returns the number of entries and of bytes.
pub fn store(buffer: GuestPtr<u8>, room: u32, entries: &[Vec<u8>]) -> Result<(usize, u64), Fault> {
    let mut at = 0_u64;
    let mut last = None;
    let mut end = 0;
    let mut count = 0;
    for entry in entries {
        if at + entry.len() as u64 > room.into() {
            break;
        }
        buffer.at(at).write_all(entry)?;
        if let Some(last) = last {
            buffer.at(last).cast::<u32>().write((at - last) as u32)?;
        }
        (last, end, count) = (Some(at), at + entry.len() as u64, count + 1);
        at = end.next_multiple_of(8);
    }
    Ok((count, end))
}
