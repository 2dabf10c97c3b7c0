//! An open device: what a client gets from `CreateFile`.

use nt_machine::{Answer, IoRequest, RequestKind};

use super::{NtHost, PendingRequest};
use crate::Error;
use crate::wire::{Reply, Request};

/// An open device. Its driver sees the cleanup and the close when [`File::close`] is called, when the device goes, or when
/// the driver is unloaded.
///
/// ```no_run
/// use nt_host::{Device, File, NtHost, PendingRequest};
///
/// let host = NtHost::builder().driver("my_driver.sys").start()?;
/// let device: Device = host.add_device()?;
/// device.write(b"whole")?;
///
/// let file: File = device.open()?;
/// file.write(b"abc")?;
/// file.internal_ioctl(0x0022_0003, &[], 0)?;
/// let reading: PendingRequest = file.begin_read(64)?;
/// let writing = file.begin_write(b"def")?;
/// reading.cancel()?;
/// println!("{:?} {:?}", reading.wait()?.status, writing.wait()?.status);
/// file.close()?;
///
/// // The same without a file of one's own.
/// device.begin_read(64)?.cancel()?;
/// device.begin_write(b"ghi")?.wait()?;
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct File {
    host: NtHost,
    number: u64,
}

impl NtHost {
    /// Opens a device of the driver by its name or a symbolic link, as `CreateFile` does: `\\.\Name`, `\??\Name`, `\Device\Name`.
    /// What follows the name is the name of the file, which is for the driver.
    ///
    /// # Errors
    ///
    /// With `STATUS_OBJECT_NAME_NOT_FOUND` if the name leads nowhere, with the driver's status if it refuses, and if the
    /// driver stops the machine.
    pub fn open(&self, name: &str) -> Result<File, Error> {
        self.open_with(&Request::OpenName { name: name.to_owned() })
    }

    pub(super) fn open_with(&self, request: &Request) -> Result<File, Error> {
        match self.ask(request)? {
            Reply::Number { number } => Ok(File { host: self.clone(), number }),
            reply => Err(self.unexpected(reply)),
        }
    }
}

impl File {
    /// Sends a control request and waits for its end.
    ///
    /// # Errors
    ///
    /// If the file is not open any more, or the driver stops the machine. A request that fails is an [`Answer`].
    pub fn ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<Answer, Error> {
        self.begin(control(code, input, output))?.wait()
    }

    /// Sends an internal control request, as another driver does, and waits for its end.
    ///
    /// # Errors
    ///
    /// As for [`File::ioctl`].
    pub fn internal_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<Answer, Error> {
        let kind = RequestKind::INTERNAL_DEVICE_CONTROL;
        self.begin(IoRequest { kind, ..control(code, input, output) })?.wait()
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// As for [`File::ioctl`].
    pub fn read(&self, length: u32) -> Result<Answer, Error> {
        self.begin(read(length))?.wait()
    }

    /// Writes.
    ///
    /// # Errors
    ///
    /// As for [`File::ioctl`].
    pub fn write(&self, data: &[u8]) -> Result<Answer, Error> {
        self.begin(write(data))?.wait()
    }

    /// Begins a control request: returns when the driver has it, not when it has ended.
    ///
    /// # Errors
    ///
    /// As for [`File::ioctl`].
    pub fn begin_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<PendingRequest, Error> {
        self.begin(control(code, input, output))
    }

    /// Begins to read.
    ///
    /// # Errors
    ///
    /// As for [`File::ioctl`].
    pub fn begin_read(&self, length: u32) -> Result<PendingRequest, Error> {
        self.begin(read(length))
    }

    /// Begins to write.
    ///
    /// # Errors
    ///
    /// As for [`File::ioctl`].
    pub fn begin_write(&self, data: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(write(data))
    }

    /// Closes the file.
    ///
    /// # Errors
    ///
    /// If it is not open any more, or the driver stops the machine.
    pub fn close(self) -> Result<(), Error> {
        self.host.ask_status(&Request::Close { file: self.number })
    }

    pub(crate) fn begin(&self, request: IoRequest) -> Result<PendingRequest, Error> {
        match self.host.ask(&Request::BeginOn { file: self.number, request })? {
            Reply::Number { number } => Ok(PendingRequest::new(self.host.clone(), number)),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

pub(super) fn control(code: u32, input: &[u8], output: u32) -> IoRequest {
    IoRequest { kind: RequestKind::DEVICE_CONTROL, code, input: input.to_vec(), output }
}

pub(super) fn read(length: u32) -> IoRequest {
    IoRequest { kind: RequestKind::READ, output: length, ..IoRequest::default() }
}

pub(super) fn write(data: &[u8]) -> IoRequest {
    IoRequest { kind: RequestKind::WRITE, input: data.to_vec(), ..IoRequest::default() }
}
