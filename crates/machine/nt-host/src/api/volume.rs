//! The volume: files in memory, which clients use through the driver's minifilter; and the minifilter's ports.

use etw_types::NtStatus;
use nt_machine::{Answer, FileOpen, FileRequest};

use super::NtHost;
use crate::Error;
use crate::steps::requests;
use crate::wire::{Reply, Request};

/// Where an entry of a folder has the length of its name and the name.
const LENGTH_AT: usize = 8;
const NAME_AT: usize = 12;

/// The volume, drive C. Its files are in memory: those that the [`Builder`](super::Builder) names, and those that
/// clients and the driver create.
///
/// ```no_run
/// use nt_host::{FileOpen, FileOperation, FileRequest, NtHost, Port, RequestKind, Volume, VolumeFile};
///
/// let host = NtHost::builder().driver("my_filter.sys").volume_file(r"\dir\a.txt", "hello").start()?;
/// let volume: Volume = host.volume();
/// let file: VolumeFile = volume.open(r"\dir\a.txt")?;
/// assert_eq!(file.read(0, 5)?.output, b"hello");
/// file.write(5, b", world")?;
/// let reading: FileOperation = file.begin_read(0, 64)?;
/// println!("{:?}", reading.wait()?.status);
/// println!("{:?}", file.begin_write(0, b"H")?.wait()?.status);
/// let flush = FileRequest { kind: RequestKind::from_int(9), ..FileRequest::default() };
/// println!("{:?}", file.begin(flush)?.wait()?.status);
/// // FileStandardInformation, and FileEndOfFileInformation.
/// println!("{:?} {:?}", file.query(5, 24)?.output, file.set(20, &3_u64.to_le_bytes())?.status);
/// file.rename(r"\dir\b.txt")?;
/// file.delete()?;
/// file.close()?;
/// println!("{:?}", volume.list(r"\dir")?);
/// volume.create_folder(r"\new")?.close()?;
/// volume.create(r"\new\c.txt")?.close()?;
/// // FILE_OPEN, to read only.
/// let open = FileOpen { path: r"\new\c.txt".into(), disposition: 1, access: 0x0012_0089, ..FileOpen::default() };
/// volume.open_with(open)?.close()?;
///
/// // A program that talks to the minifilter.
/// let port: Port = volume.connect(r"\MyPort", &[])?;
/// port.reply(b"yes")?;
/// println!("{:?} {:?}", port.send(b"status", 64)?.output, port.messages()?);
/// port.close()?;
///
/// // `fltmc detach` and `fltmc attach`.
/// volume.detach()?;
/// volume.attach()?;
/// host.unload()?.assert_clean();
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Volume {
    host: NtHost,
}

/// An open file or folder of the volume. Operations on it pass through the minifilter. An operation that fails is not an
/// error: it returns an [`Answer`] with its status.
#[derive(Clone, Debug)]
pub struct VolumeFile {
    host: NtHost,
    number: u64,
}

/// An operation on a file that was begun and may be pending.
#[derive(Debug)]
pub struct FileOperation {
    host: NtHost,
    number: u64,
}

/// A connection to a communication port of the minifilter.
#[derive(Clone, Debug)]
pub struct Port {
    host: NtHost,
    number: u64,
}

impl NtHost {
    /// Returns the volume.
    #[must_use]
    pub fn volume(&self) -> Volume {
        Volume { host: self.clone() }
    }
}

impl Volume {
    /// Opens a file or a folder that exists.
    ///
    /// # Errors
    ///
    /// Returns the status of the minifilter or of the file system if one refuses. Also fails if the driver stops the
    /// machine.
    pub fn open(&self, path: &str) -> Result<VolumeFile, Error> {
        self.open_with(requests::open(path))
    }

    /// Creates a file.
    ///
    /// # Errors
    ///
    /// Fails like [`Volume::open`], and if the file exists.
    pub fn create(&self, path: &str) -> Result<VolumeFile, Error> {
        self.open_with(requests::create(path))
    }

    /// Creates a folder.
    ///
    /// # Errors
    ///
    /// Fails like [`Volume::create`].
    pub fn create_folder(&self, path: &str) -> Result<VolumeFile, Error> {
        self.open_with(requests::create_folder(path))
    }

    /// Opens or creates a file with the parameters of `NtCreateFile`.
    ///
    /// # Errors
    ///
    /// Fails like [`Volume::open`].
    pub fn open_with(&self, open: FileOpen) -> Result<VolumeFile, Error> {
        match self.host.call(&Request::FileOpen { open })? {
            Reply::FileOpened { file: 0, answer } => Err(Error::Status(answer.status)),
            Reply::FileOpened { file, .. } => Ok(VolumeFile { host: self.host.clone(), number: file }),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Returns the names in a folder, without `.` and `..`.
    ///
    /// # Errors
    ///
    /// Fails like [`Volume::open`], and with the status of the query.
    pub fn list(&self, path: &str) -> Result<Vec<String>, Error> {
        let dir = self.open(path)?;
        let names = dir.list("*");
        dir.close()?;
        names
    }

    /// Detaches the minifilter from the volume.
    ///
    /// # Errors
    ///
    /// Returns the status of the minifilter if it refuses, or if it is not attached.
    pub fn detach(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::FilterAttach { attached: false })
    }

    /// Attaches the minifilter to the volume.
    ///
    /// # Errors
    ///
    /// Returns the status of the minifilter if it refuses, or if it is attached.
    pub fn attach(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::FilterAttach { attached: true })
    }

    /// Connects to a communication port of the minifilter, with the context that a program passes to
    /// `FilterConnectCommunicationPort`.
    ///
    /// # Errors
    ///
    /// Returns the status of the minifilter if it refuses. Also fails if there is no port with this name.
    pub fn connect(&self, port: &str, context: &[u8]) -> Result<Port, Error> {
        match self.host.call(&Request::PortConnect { name: port.to_owned(), context: context.to_vec() })? {
            Reply::Number { number } => Ok(Port { host: self.host.clone(), number }),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

impl VolumeFile {
    /// Reads from the file.
    ///
    /// # Errors
    ///
    /// Fails if the file is not open or the driver stops the machine.
    pub fn read(&self, offset: u64, length: u32) -> Result<Answer, Error> {
        self.begin_read(offset, length)?.wait()
    }

    /// Writes to the file.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<Answer, Error> {
        self.begin_write(offset, data)?.wait()
    }

    /// Gives the file another path.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn rename(&self, path: &str) -> Result<Answer, Error> {
        self.begin(requests::rename(path))?.wait()
    }

    /// Marks the file for deletion. It goes with its last handle.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn delete(&self) -> Result<Answer, Error> {
        self.begin(requests::delete())?.wait()
    }

    /// Queries information of a class of `FILE_INFORMATION_CLASS`.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn query(&self, class: u32, length: u32) -> Result<Answer, Error> {
        self.begin(requests::query(class, length))?.wait()
    }

    /// Sets information of a class of `FILE_INFORMATION_CLASS`.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn set(&self, class: u32, information: &[u8]) -> Result<Answer, Error> {
        self.begin(requests::set(class, information.to_vec()))?.wait()
    }

    /// Returns the names in this folder that match a pattern, without `.` and `..`.
    ///
    /// # Errors
    ///
    /// Returns the status of the query, and fails like [`VolumeFile::read`]. A folder without such names is not an error.
    pub fn list(&self, pattern: &str) -> Result<Vec<String>, Error> {
        let answer = self.begin(requests::list(pattern))?.wait()?;
        match answer.status {
            NtStatus::Success => Ok(names(&answer.output)),
            NtStatus::NoSuchFile | NtStatus::NoMoreFiles => Ok(Vec::new()),
            status => Err(Error::Status(status)),
        }
    }

    /// Begins to read. Returns when the operation is complete or pending.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn begin_read(&self, offset: u64, length: u32) -> Result<FileOperation, Error> {
        self.begin(requests::read(offset, length))
    }

    /// Begins to write.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn begin_write(&self, offset: u64, data: &[u8]) -> Result<FileOperation, Error> {
        self.begin(requests::write(offset, data))
    }

    /// Begins an operation.
    ///
    /// # Errors
    ///
    /// Fails like [`VolumeFile::read`].
    pub fn begin(&self, request: FileRequest) -> Result<FileOperation, Error> {
        match self.host.call(&Request::FileBegin { file: self.number, request })? {
            Reply::Number { number } => Ok(FileOperation { host: self.host.clone(), number }),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Closes the file: the minifilter receives the cleanup and the close.
    ///
    /// # Errors
    ///
    /// Fails if the file is not open or the driver stops the machine.
    pub fn close(self) -> Result<(), Error> {
        self.host.call_for_status(&Request::FileClose { file: self.number })
    }
}

impl FileOperation {
    /// Waits until the operation is completed.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn wait(self) -> Result<Answer, Error> {
        match self.host.call(&Request::FileFinish { number: self.number })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Cancels the operation. Has no effect on one that is completed.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn cancel(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::FileCancel { number: self.number })
    }
}

impl Port {
    /// Sends a message to the minifilter, as `FilterSendMessage` does, and returns its output.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn send(&self, message: &[u8], output: u32) -> Result<Answer, Error> {
        match self.host.call(&Request::PortSend { port: self.number, input: message.to_vec(), output })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Gives the reply to the next message of the minifilter that expects one. Replies are used in order.
    ///
    /// # Errors
    ///
    /// Fails if the port is not connected or the driver stops the machine.
    pub fn reply(&self, reply: &[u8]) -> Result<(), Error> {
        self.host.call_for_status(&Request::PortReply { port: self.number, reply: reply.to_vec() })
    }

    /// Takes the messages that the minifilter has sent with `FltSendMessage`.
    ///
    /// # Errors
    ///
    /// Fails if the port is not connected or the driver stops the machine.
    pub fn messages(&self) -> Result<Vec<Vec<u8>>, Error> {
        match self.host.call(&Request::PortMessages { port: self.number })? {
            Reply::Messages { messages } => Ok(messages),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Closes the connection. The minifilter is told.
    ///
    /// # Errors
    ///
    /// Fails if the port is not connected or the driver stops the machine.
    pub fn close(self) -> Result<(), Error> {
        self.host.call_for_status(&Request::PortClose { port: self.number })
    }
}

/// Returns the names in a buffer of `FILE_NAMES_INFORMATION`.
fn names(buffer: &[u8]) -> Vec<String> {
    let number = |at: usize| buffer.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes) as usize);
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(length) = number(at + LENGTH_AT) {
        let name = buffer.get(at + NAME_AT..).and_then(|rest| rest.get(..length)).unwrap_or_default();
        let units: Vec<u16> = name.as_chunks().0.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        names.push(String::from_utf16_lossy(&units));
        match number(at) {
            None | Some(0) => break,
            Some(next) => at += next,
        }
    }
    names.retain(|name| name != "." && name != "..");
    names
}

#[cfg(test)]
mod tests {
    use super::names;

    fn entry(next: u32, name: &str) -> Vec<u8> {
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let length = u32::try_from(name.len()).expect("a short name");
        let mut entry: Vec<u8> = [next, 0, length].iter().flat_map(|number| number.to_le_bytes()).collect();
        entry.extend(name);
        entry.resize(entry.len().max(next as usize), 0);
        entry
    }

    #[test]
    fn entries_follow_their_links_and_end() {
        let buffer = [entry(16, "."), entry(24, "a.txt"), entry(0, "b")].concat();
        assert_eq!(names(&buffer), ["a.txt", "b"]);
        assert!(names(&[]).is_empty());
        assert!(names(&entry(0xFFFF, "x")[..13]).iter().all(String::is_empty));
    }
}
