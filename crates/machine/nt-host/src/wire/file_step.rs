//! The steps of clients that use files of the volume or communication ports, and the operations that they are made of.

use nt_machine::{FileOpen, FileRequest, RequestKind};
use windows_constants::file::{
    FILE_CREATE, FILE_DIRECTORY_FILE, FILE_OPEN, FILE_SYNCHRONOUS_IO_NONALERT, FileDispositionInformation,
    FileNamesInformation, FileRenameInformation,
};

use super::Wire;
use super::declare::messages;
use crate::text::hexadecimal;

/// The size of the buffer for the entries of a folder.
const ENTRIES: u32 = 1 << 20;

messages! {
    /// A step of a client that uses a file or a port. There is one of each, and reads and writes continue where the last one
    /// ended.
    ///
    /// ```
    /// use nt_host::FileStep;
    ///
    /// let step = FileStep::Query { class: 5, length: 24 };
    /// assert_eq!((step.word(), step.text().as_str(), step.name()), ("query", "query:5/24", None));
    /// assert!(step.open().is_none());
    /// assert_eq!(step.request(0).expect("an operation on the open file").output, 24);
    /// ```
    #[expect(missing_docs, reason = "the documentation of a step names its values")]
    pub FileStep {
        /// Opens a file or a folder.
        Open { path: String } = 1,
        /// Creates a file.
        Create { path: String } = 2,
        /// Creates a folder.
        Folder { path: String } = 3,
        /// Reads from the file.
        Read { length: u32 } = 4,
        /// Writes to the file.
        Write { data: Vec<u8> } = 5,
        /// Queries information of a class.
        Query { class: u32, length: u32 } = 6,
        /// Sets information of a class.
        Set { class: u32, data: Vec<u8> } = 7,
        /// Renames the file.
        Rename { path: String } = 8,
        /// Marks the file for deletion.
        Delete {} = 9,
        /// Lists the folder.
        List { pattern: String } = 10,
        /// Closes the file.
        Close {} = 11,
        /// Attaches the minifilter to the volume.
        Attach {} = 12,
        /// Detaches the minifilter.
        Detach {} = 13,
        /// Connects to a communication port.
        Connect { name: String } = 14,
        /// Sends a message.
        Send { data: Vec<u8>, output: u32 } = 15,
        /// Gives the reply to the minifilter's next message.
        Reply { data: Vec<u8> } = 16,
        /// Closes the connection to the port.
        Disconnect {} = 17,
    }
}

impl Eq for FileStep {}

impl FileStep {
    /// The number of bytes of a read, of a query and of the output of a message, unless they are given.
    pub const LENGTH: u32 = 4096;

    /// Returns how the step opens a file.
    #[must_use]
    pub fn open(&self) -> Option<FileOpen> {
        match self {
            Self::Open { path } => Some(open(path)),
            Self::Create { path } => Some(create(path)),
            Self::Folder { path } => Some(create_folder(path)),
            _ => None,
        }
    }

    /// Returns the operation of the step on the open file.
    #[must_use]
    pub fn request(&self, position: u64) -> Option<FileRequest> {
        match self {
            Self::Read { length } => Some(read(position, *length)),
            Self::Write { data } => Some(write(position, data)),
            Self::Query { class, length } => Some(query(*class, *length)),
            Self::Set { class, data } => Some(set(*class, data.clone())),
            Self::Rename { path } => Some(rename(path)),
            Self::Delete {} => Some(delete()),
            Self::List { pattern } => Some(list(pattern)),
            _ => None,
        }
    }

    /// Returns the name of the step on the command line.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Open { .. } => "open",
            Self::Create { .. } => "create",
            Self::Folder { .. } => "folder",
            Self::Read { .. } => "read",
            Self::Write { .. } => "write",
            Self::Query { .. } => "query",
            Self::Set { .. } => "set",
            Self::Rename { .. } => "rename",
            Self::Delete {} => "delete",
            Self::List { .. } => "list",
            Self::Close {} => "close",
            Self::Attach {} => "attach",
            Self::Detach {} => "detach",
            Self::Connect { .. } => "connect",
            Self::Send { .. } => "send",
            Self::Reply { .. } => "reply",
            Self::Disconnect {} => "disconnect",
        }
    }

    /// Returns the path, the pattern or the name of the port.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::List { pattern } => Some(pattern),
            Self::Connect { name } => Some(name),
            _ => self.path(),
        }
    }

    /// Returns the path of the file that the step opens, or that the file gets.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Open { path } | Self::Create { path } | Self::Folder { path } | Self::Rename { path } => Some(path),
            _ => None,
        }
    }

    /// Returns this path, to change it.
    pub(crate) const fn path_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Open { path } | Self::Create { path } | Self::Folder { path } | Self::Rename { path } => Some(path),
            _ => None,
        }
    }

    /// Returns the data that the step sends.
    pub(super) const fn data(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Write { data } | Self::Set { data, .. } | Self::Send { data, .. } | Self::Reply { data } => {
                Some(data)
            }
            _ => None,
        }
    }

    /// Returns the data that the step sends, to change it.
    pub(super) const fn data_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Write { data } | Self::Set { data, .. } | Self::Send { data, .. } | Self::Reply { data } => {
                Some(data)
            }
            _ => None,
        }
    }

    /// Returns the step as the command line has it.
    #[must_use]
    pub fn text(&self) -> String {
        let word = self.word();
        match self {
            Self::Write { data } | Self::Reply { data } | Self::Send { data, output: Self::LENGTH }
                if is_text(data) =>
            {
                format!("{word}:{}", String::from_utf8_lossy(data))
            }
            Self::Write { data } | Self::Reply { data } => format!("{word}-hex:{}", hexadecimal(data)),
            Self::Send { data, output } => format!("{word}-hex:{}/{output}", hexadecimal(data)),
            Self::Read { length } => format!("{word}:{length}"),
            Self::Query { class, length } => format!("{word}:{class}/{length}"),
            Self::Set { class, data } => format!("{word}:{class}:{}", hexadecimal(data)),
            _ => self.name().map_or_else(|| word.to_owned(), |name| format!("{word}:{name}")),
        }
    }
}

/// Returns whether data can be written as text on the command line.
fn is_text(data: &[u8]) -> bool {
    data.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

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
    let (kind, input) = (RequestKind::DIRECTORY_CONTROL, pattern.as_bytes().to_vec());
    FileRequest { kind, class: FileNamesInformation, input, output: ENTRIES, ..FileRequest::default() }
}
