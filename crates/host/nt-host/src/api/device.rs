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

    /// Sends a control request: opens the device, sends, closes it.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine. A request that fails is an [`Answer`] with its status.
    pub fn ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<Answer, Error> {
        self.send(file::control(code, input, output))
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// As for [`Device::ioctl`].
    pub fn read(&self, length: u32) -> Result<Answer, Error> {
        self.send(file::read(length))
    }

    /// Writes.
    ///
    /// # Errors
    ///
    /// As for [`Device::ioctl`].
    pub fn write(&self, data: &[u8]) -> Result<Answer, Error> {
        self.send(file::write(data))
    }

    /// Opens the device, as `CreateFile` does. Several files can be open at once.
    ///
    /// # Errors
    ///
    /// With the driver's status if it refuses, and if the driver stops the machine.
    pub fn open(&self) -> Result<File, Error> {
        self.host.open_with(&Request::Open { device: self.number })
    }

    /// Takes the device away, as when it is disabled or pulled out.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine.
    pub fn remove(self) -> Result<(), Error> {
        self.host.ask_status(&Request::RemoveDevice { device: self.number })
    }

    /// Pulls the device out: its driver is not asked.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine.
    pub fn surprise_remove(self) -> Result<(), Error> {
        self.host.ask_status(&Request::SurpriseRemove { device: self.number })
    }

    /// Sends the device to sleep: it leaves its working state, and its power-managed queues hold their requests.
    ///
    /// # Errors
    ///
    /// With the driver's status when it refuses, and when the driver stops the machine.
    pub fn sleep(&self) -> Result<(), Error> {
        self.host.ask_status(&Request::SetPower { device: self.number, on: false })
    }

    /// Wakes the device up.
    ///
    /// # Errors
    ///
    /// With the driver's status when it fails, and when the driver stops the machine.
    pub fn wake(&self) -> Result<(), Error> {
        self.host.ask_status(&Request::SetPower { device: self.number, on: true })
    }

    /// Asks the device by way of Windows Management Instrumentation.
    ///
    /// # Errors
    ///
    /// As for [`Device::ioctl`].
    pub fn wmi(&self, asked: WmiRequest) -> Result<Answer, Error> {
        match self.host.ask(&Request::Wmi { device: self.number, asked })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Raises an interrupt of the device, counted from 0 over its lines and messages in the order of its resources (see
    /// [`Builder::resource`](crate::Builder::resource)). Returns whether a routine of the driver said that it was for it; what
    /// the routine put off until later has run, too.
    ///
    /// # Errors
    ///
    /// With `STATUS_NOT_FOUND` if nobody is connected to it, and if the driver stops the machine.
    pub fn interrupt(&self, number: u32) -> Result<bool, Error> {
        match self.host.ask(&Request::Interrupt { device: self.number, number })? {
            Reply::Interrupted { claimed } => claimed.ok_or(Error::Status(NtStatus::NotFound)),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    /// Begins a control request: returns when the driver has it, not when it has ended.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine.
    pub fn begin_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<PendingRequest, Error> {
        self.begin(file::control(code, input, output))
    }

    /// Begins to read.
    ///
    /// # Errors
    ///
    /// As for [`Device::begin_ioctl`].
    pub fn begin_read(&self, length: u32) -> Result<PendingRequest, Error> {
        self.begin(file::read(length))
    }

    /// Begins to write.
    ///
    /// # Errors
    ///
    /// As for [`Device::begin_ioctl`].
    pub fn begin_write(&self, data: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(file::write(data))
    }

    fn begin(&self, request: IoRequest) -> Result<PendingRequest, Error> {
        match self.host.ask(&Request::Begin { device: self.number, request })? {
            Reply::Number { number } => Ok(PendingRequest::new(self.host.clone(), number)),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    fn send(&self, request: IoRequest) -> Result<Answer, Error> {
        match self.host.ask(&Request::Io { device: self.number, request })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}

/// A request that was begun: it has ended, or the driver or one of its queues has it.
#[must_use = "the driver may never end it otherwise"]
#[derive(Debug)]
pub struct PendingRequest {
    host: NtHost,
    number: u64,
}

impl PendingRequest {
    pub(super) const fn new(host: NtHost, number: u64) -> Self {
        Self { host, number }
    }

    /// Cancels the request, as when its thread ends. A request that has ended stays as it is.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine.
    pub fn cancel(&self) -> Result<(), Error> {
        self.host.ask_status(&Request::Cancel { number: self.number })
    }

    /// Waits for the end of the request and closes the device. Where it does not end within a minute of the driver's time
    /// it is cancelled; where that does not end it either, it is a finding.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine.
    pub fn wait(self) -> Result<Answer, Error> {
        match self.host.ask(&Request::Finish { number: self.number })? {
            Reply::Completed { answer } => Ok(answer),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}
