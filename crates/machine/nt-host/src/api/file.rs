//! An open device: what `CreateFile` returns to a client.

use nt_machine::{Answer, Below, IoRequest, RequestKind};

use super::{NtHost, PendingRequest};
use crate::Error;
use crate::wire::{Reply, Request};

/// An open device. The driver receives the cleanup and the close when [`File::close`] is called, when the device is
/// removed, or when the driver is unloaded.
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
/// // The device can open a file for each request.
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
    /// Opens a device of the driver by its name or a symbolic link, as `CreateFile` does: `\\.\Name`, `\??\Name`,
    /// `\Device\Name`. The rest of the name is the name of the file, which is passed to the driver.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_OBJECT_NAME_NOT_FOUND` if there is no device with this name, and the driver's status if it
    /// refuses. Also fails if the driver stops the machine.
    pub fn open(&self, name: &str) -> Result<File, Error> {
        self.open_with(&Request::OpenName { name: name.to_owned() })
    }

    /// Sends requests at the same time, each on a thread of its own. Returns their results when all are completed.
    ///
    /// ```no_run
    /// use nt_host::{IoRequest, NtHost, RequestKind};
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let device = host.add_device()?;
    /// let (first, second) = (device.open()?, device.open()?);
    /// let request = IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x0022_2000, input: vec![1], output: 16, ..IoRequest::default() };
    /// let answers = host.together(&[(&first, request.clone()), (&second, request)])?;
    /// assert!(answers.iter().all(|answer| answer.status.is_success()));
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn together(&self, requests: &[(&File, IoRequest)]) -> Result<Vec<Answer>, Error> {
        self.interleave(0, requests)
    }

    /// Like [`together`](Self::together), but the threads take turns: only one of them runs at a time, and at some of the
    /// driver's calls another one continues. The schedule decides at which, so a race happens each time or never. Threads at
    /// `DISPATCH_LEVEL` are not interrupted. DPCs, work items and the driver's own threads run beside them. With the
    /// schedule 0, all threads run at the same time.
    ///
    /// ```no_run
    /// use nt_host::{IoRequest, NtHost, RequestKind};
    ///
    /// let request = IoRequest { kind: RequestKind::DEVICE_CONTROL, code: 0x0022_2000, input: vec![1], output: 16, ..IoRequest::default() };
    /// for schedule in 1..100 {
    ///     let host = NtHost::builder().driver("my_driver.sys").start()?;
    ///     let device = host.add_device()?;
    ///     let (first, second) = (device.open()?, device.open()?);
    ///     host.interleave(schedule, &[(&first, request.clone()), (&second, request.clone())])?;
    ///     host.unload()?.assert_clean();
    /// }
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn interleave(&self, schedule: u32, requests: &[(&File, IoRequest)]) -> Result<Vec<Answer>, Error> {
        let requests = requests.iter().map(|(file, request)| (file.number, request.clone())).collect();
        match self.call(&Request::Together { requests, schedule })? {
            Reply::Together { answers } => Ok(answers),
            reply => Err(self.unexpected(reply)),
        }
    }

    /// Makes a call of the driver fail: the `call`-th from now, counted from 1 over all routines that can fail.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let device = host.add_device()?;
    /// host.fail_next(2)?;
    /// // The length at offset 4 grows after the driver has checked it.
    /// host.change_next(4, 0x1000)?;
    /// println!("{:?}", device.ioctl(0x0022_2003, &[0; 16], 64)?.status);
    /// host.unload()?.assert_clean();
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn fail_next(&self, call: u64) -> Result<(), Error> {
        self.call_for_status(&Request::FailNext { call })
    }

    /// Makes four bytes of the next input with the method `METHOD_NEITHER` change to `value` after the driver's first read of
    /// them, as a program can change its memory at any time. A driver that reads them twice gets both values. See
    /// [`fail_next`](Self::fail_next) for an example.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn change_next(&self, offset: u32, value: u32) -> Result<(), Error> {
        self.call_for_status(&Request::ChangeNext { offset, value })
    }

    /// Sets how the next request completes that the driver sends to the device below it or to another driver's device. `answer`
    /// also says to which requests it applies; without a device, to those of every device. Several answers are used one after
    /// the other, before those of [`Builder::below`](crate::Builder::below). `None` forgets those that are left.
    ///
    /// ```no_run
    /// use std::time::Duration;
    ///
    /// use etw_types::NtStatus;
    /// use nt_host::{Below, NtHost};
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let device = host.add_device()?;
    /// let (status, output) = (NtStatus::Success, vec![0xFF; 16]);
    /// host.answer_next(Some(Below { device: None, kind: None, code: None, status, output, delay: Duration::ZERO }))?;
    /// println!("{:?}", device.ioctl(0x0022_2000, &[0; 16], 64)?.status);
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn answer_next(&self, answer: Option<Below>) -> Result<(), Error> {
        self.call_for_status(&Request::AnswerNext { answer })
    }

    pub(super) fn open_with(&self, request: &Request) -> Result<File, Error> {
        match self.call(request)? {
            Reply::Number { number } => Ok(File { host: self.clone(), number }),
            reply => Err(self.unexpected(reply)),
        }
    }
}

impl File {
    /// Sends a control request and waits until it is completed.
    ///
    /// # Errors
    ///
    /// Fails if the file is no longer open or the driver stops the machine. A request that fails is not an error: it
    /// returns an [`Answer`] with its status.
    pub fn ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<Answer, Error> {
        self.begin(control(code, input, output))?.wait()
    }

    /// Like [`ioctl`](Self::ioctl), with data in the output buffer: `METHOD_IN_DIRECT` and `METHOD_OUT_DIRECT` give the driver the
    /// buffer as `MdlAddress`, `METHOD_NEITHER` as `UserBuffer`.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let file = host.add_device()?.open()?;
    /// // METHOD_IN_DIRECT: a header as input, and the data to send in the other buffer.
    /// let answer = file.ioctl_with_output(0x0022_2001, &[1, 0, 0, 0], b"data")?;
    /// // As another driver sends it.
    /// let other = file.internal_ioctl_with_output(0x0022_2001, &[1, 0, 0, 0], b"data")?;
    /// // Without waiting for the end of the request.
    /// let last = file.begin_ioctl_with_output(0x0022_2001, &[1, 0, 0, 0], b"data")?.wait()?;
    /// println!("{:?} {:?} {:?}", answer.status, other.status, last.status);
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`]. Returns [`Error::OutputLost`] for a `METHOD_BUFFERED` code: such a driver never gets what the output
    /// buffer holds.
    pub fn ioctl_with_output(&self, code: u32, input: &[u8], output: &[u8]) -> Result<Answer, Error> {
        self.begin(control_with_output(code, input, output)?)?.wait()
    }

    /// Sends an internal control request, as another driver does, and waits until it is completed.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn internal_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<Answer, Error> {
        let kind = RequestKind::INTERNAL_DEVICE_CONTROL;
        self.begin(IoRequest { kind, ..control(code, input, output) })?.wait()
    }

    /// Like [`internal_ioctl`](Self::internal_ioctl), with data in the output buffer.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl_with_output`].
    pub fn internal_ioctl_with_output(&self, code: u32, input: &[u8], output: &[u8]) -> Result<Answer, Error> {
        let kind = RequestKind::INTERNAL_DEVICE_CONTROL;
        self.begin(IoRequest { kind, ..control_with_output(code, input, output)? })?.wait()
    }

    /// Sends a read request and waits until it is completed.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn read(&self, length: u32) -> Result<Answer, Error> {
        self.begin(read(length))?.wait()
    }

    /// Sends a write request and waits until it is completed.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn write(&self, data: &[u8]) -> Result<Answer, Error> {
        self.begin(write(data))?.wait()
    }

    /// Begins a control request. Returns when the driver has received it, not when it is completed.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn begin_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<PendingRequest, Error> {
        self.begin(control(code, input, output))
    }

    /// Begins a control request with data in the output buffer.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl_with_output`].
    pub fn begin_ioctl_with_output(&self, code: u32, input: &[u8], output: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(control_with_output(code, input, output)?)
    }

    /// Begins a read request.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn begin_read(&self, length: u32) -> Result<PendingRequest, Error> {
        self.begin(read(length))
    }

    /// Begins a write request.
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn begin_write(&self, data: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(write(data))
    }

    /// Closes the file.
    ///
    /// # Errors
    ///
    /// Fails if the file is no longer open or the driver stops the machine.
    pub fn close(self) -> Result<(), Error> {
        self.host.call_for_status(&Request::Close { file: self.number })
    }

    /// Begins a request of any kind, as [`Device::begin`](crate::Device::begin) does.
    ///
    /// ```no_run
    /// use nt_host::{File, IoRequest, RequestKind};
    ///
    /// # fn read(file: &File) -> Result<(), nt_host::Error> {
    /// let request = IoRequest { kind: RequestKind::READ, output: 64, ..IoRequest::default() };
    /// assert!(file.begin(request)?.wait()?.status.is_success());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`File::ioctl`].
    pub fn begin(&self, request: IoRequest) -> Result<PendingRequest, Error> {
        match self.host.call(&Request::BeginOn { file: self.number, request })? {
            Reply::Number { number } => Ok(PendingRequest::new(self.host.clone(), number)),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

pub(super) fn control(code: u32, input: &[u8], output: u32) -> IoRequest {
    IoRequest { kind: RequestKind::DEVICE_CONTROL, code, input: input.to_vec(), output, ..IoRequest::default() }
}

/// Returns a control request with data in its output buffer.
pub(super) fn control_with_output(code: u32, input: &[u8], output: &[u8]) -> Result<IoRequest, Error> {
    let room = u32::try_from(output.len()).map_err(|_| Error::Usage("the output buffer has 4 GiB or more".into()))?;
    let request = IoRequest { output_data: output.to_vec(), ..control(code, input, room) };
    if request.sends_output() { Ok(request) } else { Err(Error::OutputLost(code)) }
}

pub(super) fn read(length: u32) -> IoRequest {
    IoRequest { kind: RequestKind::READ, output: length, ..IoRequest::default() }
}

pub(super) fn write(data: &[u8]) -> IoRequest {
    IoRequest { kind: RequestKind::WRITE, input: data.to_vec(), ..IoRequest::default() }
}
