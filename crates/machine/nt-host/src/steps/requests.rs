//! The operations on files that steps and the interface for tests are made of.

use nt_machine::{FileOpen, FileRequest, RequestKind};
use windows_constants::file::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_OPEN, FILE_SYNCHRONOUS_IO_NONALERT, FileDispositionInformation,
    FileNamesInformation, FileRenameInformation,
};

/// The size of the buffer for the entries of a folder.
const ENTRIES: u32 = 1 << 20;

/// Opens a file or a folder.
pub(crate) fn open(path: &str) -> FileOpen {
    FileOpen { path: path.to_owned(), disposition: FILE_OPEN, options: FILE_SYNCHRONOUS_IO_NONALERT, access: 0 }
}

/// Creates a file.
pub(crate) fn create(path: &str) -> FileOpen {
    FileOpen { disposition: FILE_CREATE, ..open(path) }
}

/// Creates a folder.
pub(crate) fn create_folder(path: &str) -> FileOpen {
    FileOpen { options: FILE_SYNCHRONOUS_IO_NONALERT | FILE_DIRECTORY_FILE, ..create(path) }
}

/// Reads at an offset.
pub(crate) fn read(offset: u64, length: u32) -> FileRequest {
    FileRequest { kind: RequestKind::READ, offset, output: length, ..FileRequest::default() }
}

/// Writes at an offset.
pub(crate) fn write(offset: u64, data: &[u8]) -> FileRequest {
    FileRequest { kind: RequestKind::WRITE, offset, input: data.to_vec(), ..FileRequest::default() }
}

/// Queries information of a class.
pub(crate) fn query(class: u32, length: u32) -> FileRequest {
    FileRequest { kind: RequestKind::QUERY_INFORMATION, class, output: length, ..FileRequest::default() }
}

/// Sets information of a class.
pub(crate) fn set(class: u32, input: Vec<u8>) -> FileRequest {
    FileRequest { kind: RequestKind::SET_INFORMATION, class, input, ..FileRequest::default() }
}

/// Gives a file another path.
pub(crate) fn rename(path: &str) -> FileRequest {
    let path = if path.starts_with('\\') { format!(r"\??\C:{path}") } else { path.to_owned() };
    let name: Vec<u8> = path.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let length = u32::try_from(name.len()).unwrap_or(u32::MAX);
    set(FileRenameInformation, [&[0; 16], length.to_le_bytes().as_slice(), &name].concat())
}

/// Marks a file for deletion.
pub(crate) fn delete() -> FileRequest {
    set(FileDispositionInformation, vec![1])
}

/// Lists the names in a folder.
pub(crate) fn list(pattern: &str) -> FileRequest {
    let kind = RequestKind::DIRECTORY_CONTROL;
    let input = pattern.as_bytes().to_vec();
    FileRequest { kind, class: FileNamesInformation, input, output: ENTRIES, ..FileRequest::default() }
}
