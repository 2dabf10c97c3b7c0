//! What an export says about the trace as a whole.

use crate::read::report::Report;

/// What an export says about the trace as a whole. Only [`Format::Html`](super::Format::Html) shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The page's title, such as the name of the file.
    pub title: String,
    /// Events that the session lost.
    pub events_lost: u64,
    /// Buffers that the session lost.
    pub buffers_lost: u64,
    /// Bytes of the file that could not be read.
    pub unreadable_bytes: u64,
}

impl From<&Report> for About {
    fn from(report: &Report) -> Self {
        Self {
            title: String::new(),
            events_lost: report.events_lost.into(),
            buffers_lost: report.buffers_lost.into(),
            unreadable_bytes: report.lost_bytes,
        }
    }
}

impl About {
    /// Returns the losses of two traces combined, with the title of this one.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            title: self.title.clone(),
            events_lost: self.events_lost.saturating_add(other.events_lost),
            buffers_lost: self.buffers_lost.saturating_add(other.buffers_lost),
            unreadable_bytes: self.unreadable_bytes.saturating_add(other.unreadable_bytes),
        }
    }
}
