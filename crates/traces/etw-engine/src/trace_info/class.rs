//! What all classes share: the checks before any data is read, and the values that were set on the machine.

use std::collections::BTreeMap;

use etw_types::Win32Error;
use etw_types::session::{HandleKind, TraceInfoClass};

use crate::{Engine, Session};

/// Values that were set on the machine.
#[derive(Default)]
pub(crate) struct MachineInformation {
    /// Class 5: intervals by source.
    pub(crate) intervals: BTreeMap<u32, u32>,
    /// Class 6.
    pub(crate) sources: Vec<u32>,
}

/// The function that a class is used with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Set,
    Query,
    Enumerate,
}

/// The error of a query: the code, and the size of the result if it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The code.
    pub code: Win32Error,
    /// `ReturnLength`: the size of the result in bytes; 0 if it is not known.
    pub needed: usize,
}

impl From<Win32Error> for QueryError {
    fn from(code: Win32Error) -> Self {
        Self { code, needed: 0 }
    }
}

impl Engine {
    /// The checks that are made before any data is read.
    pub(super) fn check_class(&self, class: TraceInfoClass, function: Function, handle: u64) -> Result<(), Win32Error> {
        let facts = class.facts().ok_or(Win32Error::InvalidParameter)?;
        let takes = match function {
            Function::Set => facts.set,
            Function::Query => facts.query,
            Function::Enumerate => facts.enumerate,
        };
        if !takes {
            return Err(Win32Error::NotSupported);
        }
        let options = self.options();
        let since = if function == Function::Query { facts.query_since() } else { facts.since };
        if since > options.os_build {
            return Err(options.answers.newer_class);
        }
        if !options.rights.control && function != Function::Enumerate {
            return Err(Win32Error::AccessDenied);
        }
        match facts.handle {
            HandleKind::Zero if handle != 0 => Err(Win32Error::InvalidParameter),
            HandleKind::Session | HandleKind::SystemSession if handle == 0 => Err(Win32Error::InvalidParameter),
            _ => Ok(()),
        }
    }

    /// Returns the session for a class that needs one.
    pub(super) fn session_for(&self, class: TraceInfoClass, handle: u64) -> Result<Session, Win32Error> {
        let session = self.session(handle)?;
        let needs_system = class.facts().is_some_and(|facts| facts.handle == HandleKind::SystemSession);
        if needs_system && !session.core.is_system() {
            return Err(self.options().answers.not_a_system_session);
        }
        Ok(session)
    }
}
