//! Updating and flushing a running session.

use std::sync::atomic::Ordering;

use etw_etl::format::stack::HOOK_CREATE;
use etw_types::Win32Error;
use etw_types::session::{Update, mode};

use super::buffered::Buffers;
use super::file::{FileFacts, FileSink, win32};
use super::outlet::Outlet;
use super::properties::Plan;
use super::status::Report;
use crate::Session;
use crate::sync::lock;

/// The builds that introduced two control codes: Windows 10 version 1809, and Windows 10 version 2004.
const INCREMENT_FILE_BUILD: u32 = 17_763;
const CONVERT_BUILD: u32 = 19_041;

impl Session {
    /// `ControlTrace` with `EVENT_TRACE_CONTROL_UPDATE`.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; `InvalidParameter` if the session captures events for a test (our
    /// choice); the errors of [`Engine::start`](crate::Engine::start) for the updated properties, such as `BadPathname`
    /// if the session would have no destination; [`Answers::same_file`](crate::Answers::same_file) if this or another
    /// session already writes the file; any error from creating the file. On error the session is unchanged.
    pub fn update(&self, update: &Update) -> Result<Report, Win32Error> {
        self.check_running()?;
        let Some(buffers) = self.core.buffers() else {
            return Err(Win32Error::InvalidParameter);
        };
        // Checked before this session's own lock is taken, because the table locks the plans of all sessions.
        if update.log_file.as_deref().is_some_and(|path| self.engine.writes_file(path)) {
            return Err(self.engine.options().answers.same_file);
        }
        let mut plan = lock(&self.core.plan);
        let mut changed = plan.clone();
        update.apply(&mut changed.properties);
        changed.properties.maximum_buffers = changed.properties.maximum_buffers.max(plan.properties.minimum_buffers);
        // The rules of `StartTrace` also apply to the updated properties.
        let changed = Plan::new(&changed.properties, self.engine.options().processors)?;
        let mut outlet = lock(&buffers.outlet);
        if outlet.is_finished() {
            return Err(Win32Error::WmiInstanceNotFound);
        }
        if let Some(path) = update.log_file.as_ref().filter(|_| !changed.has(mode::BUFFERING)) {
            let file = FileSink::create(&changed, path, &self.facts())?;
            self.complete_file(buffers, &mut outlet);
            // A failure to close the old file does not affect the new one. The status reports it.
            let _ = outlet.replace_file(file);
            outlet.define(self.core.stacks(), HOOK_CREATE, self.core.stamp(buffers.now()));
        }
        outlet.set_mode(changed.properties.mode);
        drop(outlet);
        buffers.pool.set_maximum(changed.properties.maximum_buffers);
        buffers.set_flush_every(Plan::flush_every(changed.properties.mode, changed.properties.flush_timer));
        if let Some(flags) = update.enable_flags {
            lock(&self.core.information).set_enable_flags(flags);
        }
        *plan = changed;
        drop(plan);
        buffers.wake();
        Ok(self.status())
    }

    /// `ControlTrace` with `EVENT_TRACE_CONTROL_FLUSH`: everything written so far goes to the file, or to the consumers
    /// as far as they have room. A session that keeps its events in memory writes a copy of them to its file.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`. For a session that keeps its events in memory also `BadPathname` if it
    /// has no file (our choice), and any error from writing the file.
    pub fn flush(&self) -> Result<Report, Win32Error> {
        self.check_running()?;
        let plan = lock(&self.core.plan).clone();
        match self.core.buffers() {
            Some(buffers) if plan.has(mode::BUFFERING) => {
                let path = plan.properties.log_file.as_ref().ok_or(Win32Error::BadPathname)?;
                let outlet = lock(&buffers.outlet);
                if outlet.is_finished() {
                    return Err(Win32Error::WmiInstanceNotFound);
                }
                let mut file = FileSink::create(&plan, path, &self.facts())?;
                buffers.pool.flush();
                let stamp = self.core.stamp(buffers.now());
                let failed =
                    Outlet::snapshot(&buffers.pool, self.core.stacks(), &mut file, stamp).or_else(|| file.close());
                drop(outlet);
                failed.map_or(Ok(()), |error| Err(win32(&error)))?;
            }
            _ => self.core.flush(),
        }
        Ok(self.status())
    }

    /// `ControlTrace` with `EVENT_TRACE_CONTROL_CONVERT_TO_REALTIME`: finishes the file and continues in real time
    /// only.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; `InvalidParameter` for a session that keeps its events in memory (our
    /// choice); [`Answers::newer_class`](crate::Answers::newer_class) if the system is older than the control code.
    pub fn convert_to_real_time(&self) -> Result<Report, Win32Error> {
        self.check_running()?;
        let options = self.engine.options();
        if options.os_build < CONVERT_BUILD {
            return Err(options.answers.newer_class);
        }
        let mut plan = lock(&self.core.plan);
        let Some(buffers) = self.core.buffers().filter(|_| !plan.has(mode::BUFFERING)) else {
            return Err(Win32Error::InvalidParameter);
        };
        let mut changed = plan.properties.clone();
        changed.mode = (changed.mode & !(mode::FILE_MODES | mode::USE_KBYTES_FOR_SIZE)) | mode::REAL_TIME;
        changed.log_file = None;
        let changed = Plan::new(&changed, self.engine.options().processors)?;
        let mut outlet = lock(&buffers.outlet);
        if outlet.is_finished() {
            return Err(Win32Error::WmiInstanceNotFound);
        }
        self.complete_file(buffers, &mut outlet);
        outlet.set_mode(changed.properties.mode);
        outlet.close_file();
        drop(outlet);
        buffers.set_flush_every(Plan::flush_every(changed.properties.mode, changed.properties.flush_timer));
        *plan = changed;
        drop(plan);
        buffers.wake();
        Ok(self.status())
    }

    /// `ControlTrace` with `EVENT_TRACE_CONTROL_INCREMENT_FILE`: everything written so far goes to the current file,
    /// and the session continues with the next numbered file.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; `InvalidParameter` if the files are not numbered (the documentation says
    /// that the control code is for that mode; the error code is our choice);
    /// [`Answers::newer_class`](crate::Answers::newer_class) if the system is older than the control code; any error
    /// from closing or creating a file, after which the session continues with the current file.
    pub fn increment_file(&self) -> Result<Report, Win32Error> {
        self.check_running()?;
        let options = self.engine.options();
        if options.os_build < INCREMENT_FILE_BUILD {
            return Err(options.answers.newer_class);
        }
        let is_numbered = lock(&self.core.plan).has(mode::NEWFILE);
        let Some(buffers) = self.core.buffers().filter(|_| is_numbered) else {
            return Err(Win32Error::InvalidParameter);
        };
        let mut outlet = lock(&buffers.outlet);
        if outlet.is_finished() {
            return Err(Win32Error::WmiInstanceNotFound);
        }
        self.complete_file(buffers, &mut outlet);
        let advanced = outlet.next_file(self.core.stacks(), self.core.stamp(buffers.now()));
        drop(outlet);
        advanced?;
        Ok(self.status())
    }

    /// Writes everything that was written or lost so far to the current file, before the session leaves it.
    fn complete_file(&self, buffers: &Buffers, outlet: &mut Outlet) {
        buffers.pool.flush();
        outlet.report_lost(self.core.lost.load(Ordering::Acquire));
        outlet.drain(&buffers.pool, self.core.stacks(), self.core.stamp(buffers.now()), false);
    }

    fn facts(&self) -> FileFacts {
        FileFacts {
            logger_id: self.core.logger_id(),
            processors: self.engine.options().processors,
            os_build: self.engine.options().os_build,
            clock: self.core.clock,
        }
    }
}
