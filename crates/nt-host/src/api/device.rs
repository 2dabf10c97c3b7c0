//! A device of the driver, as a client uses it.

use etw_types::NtStatus;

use super::NtHost;
use crate::Error;
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

    fn send(&self, request: &Request) -> Result<Answer, Error> {
        match self.host.ask(request)? {
            Reply::Completed { status, information, output } => Ok(Answer { status, information, output }),
            reply => Err(self.host.unexpected(reply)),
        }
    }
}
