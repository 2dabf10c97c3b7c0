//! The information classes of sessions and of the machine: `TraceSetInformation`, `TraceQueryInformation` and
//! `EnumerateTraceGuidsEx` as engine state.
//!
//! Every class has a typed value; the functions over bytes check lengths and turn them into those. Order of checks: the
//! class, whether the function takes it, the build, the kind of handle, the length, the session, the rights, the limits.
//! That order is a choice of ours; the codes are those of the documents, or of [`Answers`](crate::Answers).

mod apply;
mod bytes;
mod enumerate;
mod query;
mod set;

use std::collections::BTreeMap;

use etw_types::session::{
    ClassicEventId, ContextRegisterInfo, GroupMask, HandleKind, PeriodicCaptureStateInfo, StackCachingInfo,
    TraceInfoClass,
};
use etw_types::{Guid, Win32Error};

use crate::{Engine, Session};

pub use enumerate::{Enabled, Enumeration, ProviderInstance};
pub use query::{Information, PmcSession};
pub use set::SetInformation;

/// Everything that was set on one session. What cannot be queried on Windows can be seen here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInformation {
    /// Class 3.
    pub stack_tracing: Vec<ClassicEventId>,
    /// Class 4.
    pub system_flags: GroupMask,
    /// Class 8.
    pub pmc_events: Vec<ClassicEventId>,
    /// Class 9.
    pub pmc_counters: Vec<u32>,
    /// Class 16.
    pub periodic_capture: Option<(PeriodicCaptureStateInfo, Vec<Guid>)>,
    /// Class 18.
    pub binary_tracking: bool,
    /// Class 20.
    pub lbr_configuration: Option<u32>,
    /// Class 21.
    pub lbr_events: Vec<u32>,
    /// Class 24.
    pub stack_caching: Option<StackCachingInfo>,
    /// Class 26.
    pub unified_stack_caching: Option<StackCachingInfo>,
    /// Class 28.
    pub context_registers: Option<(ContextRegisterInfo, Vec<ClassicEventId>)>,
}

impl SessionInformation {
    pub(crate) fn new(enable_flags: u32) -> Self {
        let mut information = Self::default();
        information.set_enable_flags(enable_flags);
        information
    }

    /// Replaces the public flags. Those that alias other groups stay where they are (our choice: Windows may move them).
    pub(crate) fn set_enable_flags(&mut self, flags: u32) {
        if let Some(mask) = self.system_flags.masks.first_mut() {
            *mask = flags;
        }
    }
}

/// What was set on the machine.
#[derive(Default)]
pub(crate) struct MachineInformation {
    /// Class 5: intervals by source.
    pub(crate) intervals: BTreeMap<u32, u32>,
    /// Class 6.
    pub(crate) sources: Vec<u32>,
}

/// Which function a class is used with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Function {
    Set,
    Query,
    Enumerate,
}

/// What a failed query says: the code, and how many bytes the answer needs where that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueryError {
    /// The code.
    pub code: Win32Error,
    /// `ReturnLength`: bytes that the answer needs; 0 where there is none.
    pub needed: usize,
}

impl From<Win32Error> for QueryError {
    fn from(code: Win32Error) -> Self {
        Self { code, needed: 0 }
    }
}

impl Engine {
    /// The checks that come before any look at data.
    fn check_class(&self, class: TraceInfoClass, function: Function, handle: u64) -> Result<(), Win32Error> {
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

    /// The session of a class that needs one.
    fn session_for(&self, class: TraceInfoClass, handle: u64) -> Result<Session, Win32Error> {
        let session = self.session(handle)?;
        let needs_system = class.facts().is_some_and(|facts| facts.handle == HandleKind::SystemSession);
        if needs_system && !session.core.is_system() {
            return Err(self.options().answers.not_a_system_session);
        }
        Ok(session)
    }
}
