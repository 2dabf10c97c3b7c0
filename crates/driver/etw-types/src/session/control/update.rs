//! What can be changed while a session runs.

use std::path::PathBuf;

use super::Properties;
use crate::session::mode;

/// What `ControlTrace` can change. What is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Flags of the system providers; 0 disables all of them.
    pub enable_flags: Option<u32>,
    /// Seconds, or with that mode milliseconds, between two flushes.
    pub flush_timer: Option<u32>,
    /// Another file to go on with.
    pub log_file: Option<PathBuf>,
    /// Whether consumers are served.
    pub real_time: Option<bool>,
    /// Most buffers. Fewer than there are already make no difference until the session is started again.
    pub maximum_buffers: Option<u32>,
}

impl Update {
    /// Makes the changes.
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

    /// What a block of `ControlTrace` asks to change in a session that is as `now` says: everything that it carries.
    #[must_use]
    pub fn from_block(now: &Properties, asked: Properties) -> Self {
        let is_real_time = asked.mode & mode::REAL_TIME != 0;
        Self {
            enable_flags: Some(asked.enable_flags),
            flush_timer: Some(asked.flush_timer),
            log_file: asked.log_file,
            real_time: (is_real_time != (now.mode & mode::REAL_TIME != 0)).then_some(is_real_time),
            maximum_buffers: (asked.maximum_buffers != 0).then_some(asked.maximum_buffers),
        }
    }
}
