//! Changing and flushing a running session.

use std::sync::atomic::Ordering;

use etw_types::Win32Error;
use etw_types::session::{Update, mode};

use super::file::{FileFacts, FileSink, win32};
use super::outlet::Outlet;
use super::properties::Plan;
use super::status::Report;
use crate::Session;
use crate::sync::lock;

/// The builds of Windows that came with two codes of `ControlTrace`: 10 version 1809, and 10 of 2020.
const INCREMENT_FILE_BUILD: u32 = 17_763;
const CONVERT_BUILD: u32 = 19_041;

impl Session {
    /// `ControlTrace` with the code for update.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; `InvalidParameter` where it would leave the session without a way out or is
    /// not for a session in memory (our choice); `BadPathname` for the file that is written already or that another session
    /// writes; what creating the file answered. An error changes nothing.
    pub fn update(&self, update: &Update) -> Result<Report, Win32Error> {
        self.check_running()?;
        let Some(buffers) = self.core.buffers() else {
            return Err(Win32Error::InvalidParameter);
        };
        // Asked before this session's own lock is taken: the table looks at the plans of all sessions.
        if update.log_file.as_deref().is_some_and(|path| self.engine.writes_file(path)) {
            return Err(self.engine.options().answers.same_file);
        }
        let mut plan = lock(&self.core.plan);
        let mut changed = plan.clone();
        update.apply(&mut changed.properties);
        changed.properties.maximum_buffers = changed.properties.maximum_buffers.max(plan.properties.minimum_buffers);
        // The rules of a start hold for what an update makes of the session.
        let changed = Plan::new(&changed.properties, self.engine.options().processors)?;
        let file = match &update.log_file {
            Some(path) if !changed.has(mode::BUFFERING) => Some(FileSink::create(&changed, path, &self.facts())?),
            _ => None,
        };
        let mut outlet = lock(&buffers.outlet);
        if outlet.is_finished() {
            return Err(Win32Error::WmiInstanceNotFound);
        }
        if let Some(file) = file {
            // What was written before belongs to the old file.
            buffers.pool.flush();
            outlet.drain(&buffers.pool, self.core.stacks(), self.core.stamp(buffers.now()), false);
            // A failure to close the old file does not concern the new one; the status tells it.
            let _ = outlet.replace_file(file);
            outlet.define(self.core.stacks(), self.core.stamp(buffers.now()));
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

    /// `ControlTrace` with the code for flush: everything written before is in the file or with the consumers, as far as
    /// those have room. A session that keeps its events in memory writes a copy of them to its file.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; for a session in memory `BadPathname` without a file (our choice), or what
    /// writing it answered.
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

    /// `ControlTrace` with the code for conversion: the file is finished, and the session goes on in real time only.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; `InvalidParameter` for a session that keeps its events in memory (our choice); the
    /// choice of [`Answers`](crate::Answers) where the system is older than the code.
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
        buffers.pool.flush();
        outlet.drain(&buffers.pool, self.core.stacks(), self.core.stamp(buffers.now()), false);
        outlet.set_mode(changed.properties.mode);
        outlet.close_file();
        drop(outlet);
        buffers.set_flush_every(Plan::flush_every(changed.properties.mode, changed.properties.flush_timer));
        *plan = changed;
        drop(plan);
        buffers.wake();
        Ok(self.status())
    }

    /// `ControlTrace` with the code for incrementing the file: what was written before goes to the present file, and the session
    /// goes on with the next number.
    ///
    /// # Errors
    ///
    /// `WmiInstanceNotFound`, `AccessDenied`; `InvalidParameter` where the files have no numbers (the page says that the code is
    /// for that mode; the answer is our choice); the choice of [`Answers`](crate::Answers) where the system is older than the
    /// code; what ending or creating a file answered, and the session then goes on with the present one.
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
        let stamp = self.core.stamp(buffers.now());
        buffers.pool.flush();
        outlet.report_lost(self.core.lost.load(Ordering::Acquire));
        outlet.drain(&buffers.pool, self.core.stacks(), stamp, false);
        let advanced = outlet.next_file(self.core.stacks(), stamp);
        drop(outlet);
        advanced?;
        Ok(self.status())
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
