//! The checks that are made before any data is read.

use etw_types::Win32Error;
use etw_types::session::TraceInfoClass;
use etw_types::session::info::{self, Facts, HandleKind};

use crate::{Engine, Session};

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
    /// Returns the facts about a class, if the function accepts it here and with this handle.
    pub(super) fn check_class(
        &self,
        class: TraceInfoClass,
        function: Function,
        handle: u64,
    ) -> Result<&'static Facts, Win32Error> {
        let facts = info::facts(class).filter(|facts| !facts.is_reserved()).ok_or(Win32Error::InvalidParameter)?;
        let takes = match function {
            Function::Set => facts.set.is_some(),
            Function::Query => facts.query.is_some(),
            Function::Enumerate => facts.enumerate.is_some(),
        };
        if !takes {
            return Err(Win32Error::NotSupported);
        }
        let options = self.options();
        let since = if function == Function::Query { facts.query_since() } else { facts.since.build };
        if since > options.os_build {
            return Err(options.answers.newer_class);
        }
        if !options.rights.control && function != Function::Enumerate {
            return Err(Win32Error::AccessDenied);
        }
        match facts.handle {
            HandleKind::Zero if handle != 0 => Err(Win32Error::InvalidParameter),
            HandleKind::Session | HandleKind::SystemSession if handle == 0 => Err(Win32Error::InvalidParameter),
            _ => Ok(facts),
        }
    }

    /// Returns the session for a class that belongs to one.
    pub(super) fn session_for(&self, facts: &Facts, handle: u64) -> Result<Session, Win32Error> {
        let session = self.session(handle)?;
        if facts.handle == HandleKind::SystemSession && !session.core.is_system() {
            return Err(self.options().answers.not_a_system_session);
        }
        Ok(session)
    }
}
