//! The properties that can be changed while a session runs.

use std::path::PathBuf;

use super::Properties;
use crate::session::mode;

/// The changes that `ControlTrace` can make. `None` leaves a property unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Flags of the system providers; 0 disables all of them.
    pub enable_flags: Option<u32>,
    /// Time between flushes, in seconds, or in milliseconds with `USE_MS_FLUSH_TIMER`.
    pub flush_timer: Option<u32>,
    /// The file to which the session switches.
    pub log_file: Option<PathBuf>,
    /// Whether the session delivers to real-time consumers.
    pub real_time: Option<bool>,
    /// Maximum number of buffers. A number below the current number of buffers has no effect until the session is
    /// restarted.
    pub maximum_buffers: Option<u32>,
}

impl Update {
    /// Applies the changes.
    pub fn apply(&self, properties: &mut Properties) {
        match self.real_time {
            Some(true) => properties.mode |= mode::REAL_TIME,
            Some(false) => properties.mode &= !mode::REAL_TIME,
            None => {}
        }
        properties.enable_flags = self.enable_flags.unwrap_or(properties.enable_flags);
        properties.flush_timer = self.flush_timer.unwrap_or(properties.flush_timer);
        properties.maximum_buffers = self.maximum_buffers.unwrap_or(properties.maximum_buffers);
        if let Some(file) = &self.log_file {
            properties.log_file = Some(file.clone());
        }
    }

    /// Returns the changes that a `ControlTrace` block requests of a session with the properties `now`: everything in
    /// the block.
    #[must_use]
    pub fn from_block(now: &Properties, requested: Properties) -> Self {
        let is_real_time = requested.mode & mode::REAL_TIME != 0;
        Self {
            enable_flags: Some(requested.enable_flags),
            flush_timer: Some(requested.flush_timer),
            log_file: requested.log_file,
            real_time: (is_real_time != (now.mode & mode::REAL_TIME != 0)).then_some(is_real_time),
            maximum_buffers: (requested.maximum_buffers != 0).then_some(requested.maximum_buffers),
        }
    }
}
