//! A device of the driver, as a client uses it.

use etw_types::NtStatus;
use nt_machine::{Answer, IoRequest, WmiRequest};

use super::NtHost;
use super::file::{self, File};
use crate::Error;
use crate::wire::{Reply, Request};

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    host: NtHost,
    number: u64,
}

impl Device {
    pub(super) const fn new(host: NtHost, number: u64) -> Self {
        Self { host, number }
    }

    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// Sends a control request: opens the device, sends the request, and closes the device.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine. A request that fails is not an error: it returns an [`Answer`] with its
    /// status. If the request does not reach the driver, [`Answer::reached`] is `false`, and the report has a gap.
    pub fn ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<Answer, Error> {
        self.send(file::control(code, input, output))
    }

    /// Like [`ioctl`](Self::ioctl), with data in the output buffer; see [`File::ioctl_with_output`].
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let device = host.add_device()?;
    /// let answer = device.ioctl_with_output(0x0022_2001, &[1, 0, 0, 0], b"data")?;
    /// let other = device.begin_ioctl_with_output(0x0022_2001, &[1, 0, 0, 0], b"data")?.wait()?;
    /// println!("{:?} {:?}", answer.status, other.status);
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`Device::ioctl`]. Returns [`Error::OutputLost`] for a `METHOD_BUFFERED` code.
    pub fn ioctl_with_output(&self, code: u32, input: &[u8], output: &[u8]) -> Result<Answer, Error> {
        self.send(file::control_with_output(code, input, output)?)
    }

    /// Sends a read request, as [`Device::ioctl`] does.
    ///
    /// # Errors
    ///
    /// Fails like [`Device::ioctl`].
    pub fn read(&self, length: u32) -> Result<Answer, Error> {
        self.send(file::read(length))
    }

    /// Sends a write request, as [`Device::ioctl`] does.
    ///
    /// # Errors
    ///
    /// Fails like [`Device::ioctl`].
    pub fn write(&self, data: &[u8]) -> Result<Answer, Error> {
        self.send(file::write(data))
    }

    /// Opens the device, as `CreateFile` does. Several files can be open at once.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses. Also fails if the driver stops the machine.
    pub fn open(&self) -> Result<File, Error> {
        self.host.open_with(&Request::Open { device: self.number })
    }

    /// Opens the device as the program with this number does: each number is a process of its own. Other requests come from the
    /// program with number 0.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("driver.sys").start()?;
    /// let device = host.add_device()?;
    /// let file = device.open()?;
    /// let of_another_process = device.open_as(1)?;
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`Device::open`].
    pub fn open_as(&self, program: u16) -> Result<File, Error> {
        self.host.open_with(&Request::OpenAs { device: self.number, program })
    }

    /// Removes the device in an orderly way, as when it is disabled.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses. Also fails if the driver stops the machine.
    pub fn remove(self) -> Result<(), Error> {
        self.host.call_for_status(&Request::RemoveDevice { device: self.number })
    }

    /// Removes the device by surprise: the driver cannot refuse.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn surprise_remove(self) -> Result<(), Error> {
        self.host.call_for_status(&Request::SurpriseRemove { device: self.number })
    }

    /// Stops the device and starts it again, as Windows does to assign hardware resources anew.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses, or if the device does not start again. Also fails if the driver stops the
    /// machine.
    pub fn rebalance(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::Rebalance { device: self.number })
    }

    /// Puts the device to sleep: it leaves its working state, and its power-managed queues hold their requests.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses. Also fails if the driver stops the machine.
    pub fn sleep(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::SetPower { device: self.number, on: false })
    }

    /// Wakes the device up.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it fails. Also fails if the driver stops the machine.
    pub fn wake(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::SetPower { device: self.number, on: true })
    }

    /// Sends a request of Windows Management Instrumentation to the device.
    ///
    /// # Errors
    ///
    /// Fails like [`Device::ioctl`].
    pub fn wmi(&self, request: WmiRequest) -> Result<Answer, Error> {
        match self.host.call(&Request::Wmi { device: self.number, request })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Raises an interrupt of the device, counted from 0 over its lines and messages in the order of its resources (see
    /// [`Builder::resource`](crate::Builder::resource)). Returns whether a service routine handled the interrupt. The
    /// DPCs and work items that the routine queued have also run.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_NOT_FOUND` if no service routine is connected to the interrupt. Also fails if the driver stops
    /// the machine.
    pub fn interrupt(&self, number: u32) -> Result<bool, Error> {
        match self.host.call(&Request::Interrupt { device: self.number, number })? {
            Reply::Interrupted { claimed } => claimed.ok_or(Error::Status(NtStatus::NotFound)),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Begins a control request. Returns when the driver has received it, not when it is completed.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn begin_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<PendingRequest, Error> {
        self.begin(file::control(code, input, output))
    }

    /// Begins a control request with data in the output buffer.
    ///
    /// # Errors
    ///
    /// Fails like [`Device::begin_ioctl`]. Returns [`Error::OutputLost`] for a `METHOD_BUFFERED` code.
    pub fn begin_ioctl_with_output(&self, code: u32, input: &[u8], output: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(file::control_with_output(code, input, output)?)
    }

    /// Begins a read request.
    ///
    /// # Errors
    ///
    /// Fails like [`Device::begin_ioctl`].
    pub fn begin_read(&self, length: u32) -> Result<PendingRequest, Error> {
        self.begin(file::read(length))
    }

    /// Begins a write request.
    ///
    /// # Errors
    ///
    /// Fails like [`Device::begin_ioctl`].
    pub fn begin_write(&self, data: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(file::write(data))
    }

    /// Begins a request of any kind.
    ///
    /// ```no_run
    /// use nt_host::{IoRequest, NtHost, RequestKind};
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").start()?;
    /// let device = host.add_device()?;
    /// let read = IoRequest { kind: RequestKind::READ, output: 64, ..IoRequest::default() };
    /// device.begin(read.clone())?.wait()?;
    /// device.open()?.begin(read)?.cancel()?;
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`Device::begin_ioctl`].
    pub fn begin(&self, request: IoRequest) -> Result<PendingRequest, Error> {
        match self.host.call(&Request::Begin { device: self.number, request })? {
            Reply::Number { number } => Ok(PendingRequest::new(self.host.clone(), number)),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    fn send(&self, request: IoRequest) -> Result<Answer, Error> {
        match self.host.call(&Request::Io { device: self.number, request })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

/// A request that was begun: it is completed, or pending in the driver or one of its queues.
#[must_use = "call `wait` to get the result"]
#[derive(Debug)]
pub struct PendingRequest {
    host: NtHost,
    number: u64,
}

impl PendingRequest {
    pub(super) const fn new(host: NtHost, number: u64) -> Self {
        Self { host, number }
    }

    /// Cancels the request, as when its thread exits. Has no effect on a completed request.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn cancel(&self) -> Result<(), Error> {
        self.host.call_for_status(&Request::Cancel { number: self.number })
    }

    /// Waits until the request is completed, and closes the device if it was opened for this request only. A request
    /// that is not completed within a minute of the driver's time is cancelled. If it is still not completed, this is a
    /// finding.
    ///
    /// # Errors
    ///
    /// Fails if the driver stops the machine.
    pub fn wait(self) -> Result<Answer, Error> {
        match self.host.call(&Request::Finish { number: self.number })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}
