//! Starting, finding and ending sessions.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::sync::{Arc, Mutex};

use etw_etl::format::buffer;
use etw_etl::{ClockKind, ExtendedType};
use etw_types::session::{Properties, mode};
use etw_types::{Guid, Win32Error};

use super::buffered::Buffers;
use super::core::{Life, SessionCore, Sink, clock_now};
use super::file::{FileFacts, FileSink};
use super::information::SetInformation;
use super::logger::spawn;
use super::memory::{Memory, SessionOptions};
use super::outlet::Outlet;
use super::properties::{Overflow, Plan};
use super::sequence::Sequence;
use super::stacks::Stacks;
use super::status::Report;
use super::table::Sessions;
use crate::buffers::{Pool, PoolOptions};
use crate::sync::lock;
use crate::{Engine, Session};

impl Engine {
    /// `StartTrace`: starts a session.
    ///
    /// # Errors
    ///
    /// `BadLength` for a name of more than 1024 characters; `InvalidParameter` for an empty name, modes that exclude
    /// each other or that this call does not accept, a missing size, or the GUID of the kernel logger with another
    /// name; `BadPathname` if a required file is missing, cannot be created or is in use; `AlreadyExists` if another
    /// session has the name or GUID; `NoSystemResources` for too many sessions; `AccessDenied`; `DiskFull`;
    /// `NotSupported` for compressed files; `InvalidParameter` for appending to a file that is not a trace, or has
    /// another buffer size, processor count or clock (our choice of code).
    pub fn start(&self, properties: &Properties) -> Result<Session, Win32Error> {
        self.start_with(properties, Overflow::Lose)
    }

    /// [`start`](Self::start), with a choice of what happens to an event when no buffer is free.
    ///
    /// # Errors
    ///
    /// The same as [`start`](Self::start).
    pub fn start_with(&self, properties: &Properties, overflow: Overflow) -> Result<Session, Win32Error> {
        let options = self.options();
        if !options.rights.control {
            return Err(Win32Error::AccessDenied);
        }
        let plan = Plan::new(properties, options.processors)?;
        let mut sessions = lock(&self.inner().sessions);
        sessions.admit(&plan, options)?;
        let logger_id = sessions.logger_id(&plan.properties.name);
        let handle = sessions.next_handle(logger_id);
        let facts = FileFacts {
            logger_id,
            processors: options.processors,
            os_build: options.os_build,
            clock: clock_now(plan.clock, self.now()),
        };
        // A session that keeps its events in memory creates its file only when it is flushed.
        let file = match &plan.properties.log_file {
            Some(path) if !plan.has(mode::BUFFERING) => Some(FileSink::create(&plan, path, &facts)?),
            _ => None,
        };
        let pool = Pool::new(PoolOptions {
            room: usize::try_from(plan.buffer_size()).unwrap_or_default().saturating_sub(buffer::SIZE),
            minimum: plan.properties.minimum_buffers,
            maximum: plan.properties.maximum_buffers,
            streams: if plan.has(mode::NO_PER_PROCESSOR_BUFFERING) { 1 } else { options.processors },
            overwrite: plan.has(mode::BUFFERING),
        });
        let flush_every = Plan::flush_every(plan.properties.mode, plan.properties.flush_timer);
        let outlet = Outlet::new(file, plan.properties.mode);
        let sink = Sink::Buffers(Box::new(Buffers::new(pool, outlet, flush_every, Arc::clone(&self.inner().time))));
        let core = SessionCore { overflow, ..self.core(handle, facts.logger_id, plan, facts.clock, sink) };
        let core = Arc::new(core);
        spawn(&core)?;
        sessions.insert(&core);
        drop(sessions);
        Ok(Session { engine: self.clone(), core })
    }

    fn core(&self, id: u64, logger_id: u16, plan: Plan, clock: etw_etl::Clock, sink: Sink) -> SessionCore {
        let requested = plan.properties.guid;
        // For a zero GUID the system chooses one: a value that no other session has.
        let fresh = || Guid::from_u128(u128::from(self.inner().number) << 64 | u128::from(id) | 0x5E55_1011 << 96);
        SessionCore {
            id,
            logger_id,
            guid: if requested.is_zero() { fresh() } else { requested },
            name: plan.properties.name.clone(),
            is_system: plan.is_system,
            overflow: Overflow::Lose,
            clock,
            sink,
            lost: AtomicU64::new(0),
            gave_up: AtomicU64::new(u64::MAX),
            life: AtomicU8::new(0),
            stacks: Stacks::new(),
            sequence: Sequence::new(plan.properties.mode, &self.inner().sequence),
            event_sequence: self.options().event_sequence.map(ExtendedType),
            reported: Mutex::default(),
            due: AtomicU64::new(u64::MAX),
            information: Mutex::new(SetInformation::new(plan.properties.enable_flags)),
            pmc_set: [const { AtomicBool::new(false) }; 2],
            plan: Mutex::new(plan),
        }
    }

    /// Starts a session that captures events of up to 64 KiB in memory, for [`Session::events`].
    #[must_use]
    pub fn start_session(&self, name: &str) -> Session {
        self.start_session_with(name, SessionOptions::default())
    }

    /// Starts a session that captures events in memory.
    ///
    /// Tests do not have to choose unique names: if the name is taken, a number is appended. If no more sessions can be
    /// started, this returns a session that is already stopped.
    #[must_use]
    pub fn start_session_with(&self, name: &str, options: SessionOptions) -> Session {
        let mut sessions = lock(&self.inner().sessions);
        let mut numbered = name.to_owned();
        let mut number = 1;
        while sessions.find(&numbered).is_some() {
            number += 1;
            numbered = format!("{name} ({number})");
        }
        let logger_id = sessions.logger_id(&numbered);
        let handle = sessions.next_handle(logger_id);
        let properties = Properties::in_memory(&numbered);
        let plan = Plan { properties, clock: ClockKind::PerformanceCounter, is_system: false };
        let clock = clock_now(plan.clock, self.now());
        let core = Arc::new(self.core(handle, logger_id, plan, clock, Sink::Memory(Memory::new(options))));
        if sessions.len() < self.options().max_sessions {
            sessions.insert(&core);
        } else {
            core.shut_down();
        }
        drop(sessions);
        Session { engine: self.clone(), core }
    }

    /// Returns the running session with this name. The comparison ignores case.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if there is none.
    pub fn find_session(&self, name: &str) -> Result<Session, Win32Error> {
        self.found(lock(&self.inner().sessions).find(name))
    }

    /// Returns the running session with this handle.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if there is none.
    pub fn session(&self, handle: u64) -> Result<Session, Win32Error> {
        self.found(lock(&self.inner().sessions).get(handle))
    }

    /// Returns the last error of the file of a session, also after the session has stopped: of the last 64 stopped
    /// sessions that had such an error.
    #[must_use]
    pub fn file_error(&self, session: u64) -> Option<String> {
        match self.session(session) {
            Ok(running) => running.status().file_error,
            Err(_) => lock(&self.inner().sessions).file_error(session),
        }
    }

    pub(super) fn writes_file(&self, path: &Path) -> bool {
        lock(&self.inner().sessions).writes(path)
    }

    fn found(&self, core: Option<Arc<SessionCore>>) -> Result<Session, Win32Error> {
        core.map(|core| Session { engine: self.clone(), core }).ok_or(Win32Error::WmiInstanceNotFound)
    }

    /// `QueryAllTraces`: returns the running sessions, oldest first.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        let all = lock(&self.inner().sessions).all();
        all.into_iter().map(|core| Session { engine: self.clone(), core }).collect()
    }

    /// Ends every session as a system shutdown does: files are finished and consumers are notified, but no callbacks
    /// run.
    pub fn shut_down(&self) {
        for session in self.sessions() {
            session.end();
        }
    }
}

impl Session {
    /// Stops the session and removes it from its engine's table.
    pub(crate) fn end(&self) {
        self.core.shut_down();
        let file_error = self.status().file_error;
        lock(&self.engine.inner().sessions).remove(self.core.id(), file_error);
        self.engine.inner().write_state().set_disallowed(self.core.id(), BTreeSet::new());
    }

    /// `ControlTrace` with `EVENT_TRACE_CONTROL_STOP`: [`Session::stop`] with that function's error codes.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if the session is stopped, `ActiveConnections` if it is stopping, `AccessDenied`, and
    /// `PossibleDeadlock` inside a callback of a provider that the session enabled.
    pub fn finish(&self) -> Result<Report, Win32Error> {
        if !self.engine.options().rights.control {
            return Err(Win32Error::AccessDenied);
        }
        if !self.core.begin_stop() {
            return Err(match self.core.life() {
                Life::Stopping => Win32Error::ActiveConnections,
                Life::Running | Life::Stopped => Win32Error::WmiInstanceNotFound,
            });
        }
        let status = self.stop();
        if status.is_success() { Ok(self.status()) } else { Err(Win32Error::PossibleDeadlock) }
    }

    /// `ControlTrace` with `EVENT_TRACE_CONTROL_QUERY`.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound` if the session is stopped, `AccessDenied`.
    pub fn query(&self) -> Result<Report, Win32Error> {
        self.check_running()?;
        Ok(self.status())
    }

    /// Checks that the session is running and that the caller may control sessions.
    pub(crate) fn check_running(&self) -> Result<(), Win32Error> {
        match self.core.life() {
            _ if !self.engine.options().rights.control => Err(Win32Error::AccessDenied),
            Life::Running => Ok(()),
            Life::Stopping | Life::Stopped => Err(Win32Error::WmiInstanceNotFound),
        }
    }
}

/// Ends the sessions of an engine that is being dropped.
pub(crate) fn end_all(sessions: &Mutex<Sessions>) {
    let all = lock(sessions).all();
    for core in all {
        core.shut_down();
    }
}
