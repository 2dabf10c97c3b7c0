//! Requests to the process that runs the driver, and its replies.

use etw_types::NtStatus;

use super::NtHost;
use crate::Error;
use crate::child::Process;
use crate::wire::{Reply, Request};

impl NtHost {
    pub(crate) fn process(&self) -> &Process {
        &self.inner().process
    }

    pub(crate) fn call(&self, request: &Request) -> Result<Reply, Error> {
        self.inner().process.call(request).map_err(Error::Process)
    }

    pub(crate) fn call_for_status(&self, request: &Request) -> Result<(), Error> {
        match self.call(request)? {
            Reply::Status { status } if status.is_success() => Ok(()),
            Reply::Status { status } => Err(Error::Status(status)),
            reply => Err(self.unexpected(reply)),
        }
    }

    pub(crate) fn unexpected(&self, reply: Reply) -> Error {
        match reply {
            Reply::Stopped {} => Error::Stopped(Box::new(self.report())),
            Reply::Failed { reason } => Error::Host(reason),
            Reply::NotLoaded { status, reason } => Error::NotLoaded(status, reason),
            Reply::Completed { answer } => Error::Status(answer.status),
            Reply::Status { status } => Error::Status(status),
            Reply::Number { .. }
            | Reply::Notified { .. }
            | Reply::Interrupted { .. }
            | Reply::Events { .. }
            | Reply::Calls { .. }
            | Reply::Gaps { .. }
            | Reply::Together { .. }
            | Reply::Batch { .. }
            | Reply::Names { .. }
            | Reply::FileOpened { .. }
            | Reply::Messages { .. }
            | Reply::Hardware { .. }
            | Reply::Passage { .. }
            | Reply::Memory { .. }
            | Reply::Control { .. } => Error::Status(NtStatus::InvalidParameter),
        }
    }
}
