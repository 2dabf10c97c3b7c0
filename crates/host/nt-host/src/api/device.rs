//! A device of the driver, as a client uses it.

use etw_types::NtStatus;

use super::NtHost;
use crate::Error;
use crate::machine::plug::{CONTROL, READ, WRITE};
use crate::wire::{Reply, Request};

/// A device.
#[derive(Clone, Debug)]
pub struct Device {
    host: NtHost,
    number: u64,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: NtStatus,
    /// How many bytes the driver says it transferred.
    pub information: u64,
    /// The output.
    pub output: Vec<u8>,
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
        self.send(&Request::Ioctl { device: self.number, code, input: input.to_vec(), output })
    }

    /// Reads.
    ///
    /// # Errors
    ///
    /// As for [`Device::ioctl`].
    pub fn read(&self, length: u32) -> Result<Answer, Error> {
        self.send(&Request::Read { device: self.number, length })
    }

    /// Writes.
    ///
    /// # Errors
    ///
    /// As for [`Device::ioctl`].
    pub fn write(&self, data: &[u8]) -> Result<Answer, Error> {
        self.send(&Request::Write { device: self.number, data: data.to_vec() })
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

    /// Begins a control request: returns when the driver has it, not when it has ended.
    ///
    /// # Errors
    ///
    /// When the driver stops the machine.
    pub fn begin_ioctl(&self, code: u32, input: &[u8], output: u32) -> Result<PendingRequest, Error> {
        self.begin(CONTROL, code, input, output)
    }

    /// Begins to read.
    ///
    /// # Errors
    ///
    /// As for [`Device::begin_ioctl`].
    pub fn begin_read(&self, length: u32) -> Result<PendingRequest, Error> {
        self.begin(READ, 0, &[], length)
    }

    /// Begins to write.
    ///
    /// # Errors
    ///
    /// As for [`Device::begin_ioctl`].
    pub fn begin_write(&self, data: &[u8]) -> Result<PendingRequest, Error> {
        self.begin(WRITE, 0, data, 0)
    }

    fn begin(&self, kind: u32, code: u32, input: &[u8], output: u32) -> Result<PendingRequest, Error> {
        let request = Request::Begin { device: self.number, kind, code, input: input.to_vec(), output };
        match self.host.ask(&request)? {
            Reply::Number { number } => Ok(PendingRequest { host: self.host.clone(), number }),
            reply => Err(self.host.unexpected(reply)),
        }
    }

    fn send(&self, request: &Request) -> Result<Answer, Error> {
        match self.host.ask(request)? {
            Reply::Completed { status, information, output } => Ok(Answer { status, information, output }),
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
            Reply::Completed { status, information, output } => Ok(Answer { status, information, output }),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}
