//! What an export says about the trace as a whole.

use crate::read::report::Report;

/// What an export says about the trace as a whole. Only [`Format::Html`](super::Format::Html) shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The page's title, such as the name of the file.
    pub title: String,
    /// Events that the session lost, if the trace tells.
    pub events_lost: Option<u64>,
    /// Buffers that the session lost, if the trace tells.
    pub buffers_lost: Option<u64>,
    /// Bytes of the file that could not be read.
    pub unreadable_bytes: u64,
}

impl From<&Report> for About {
    fn from(report: &Report) -> Self {
        Self {
            title: String::new(),
            events_lost: report.known_events_lost(),
            buffers_lost: report.known_buffers_lost(),
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
            events_lost: added(self.events_lost, other.events_lost),
            buffers_lost: added(self.buffers_lost, other.buffers_lost),
            unreadable_bytes: self.unreadable_bytes.saturating_add(other.unreadable_bytes),
        }
    }
}

/// Returns the sum of two numbers. If one is not known, at least the other one is lost; 0 would say that nothing is.
fn added(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other).filter(|known| *known > 0),
    }
}

#[cfg(test)]
mod tests {
    use super::About;

    #[test]
    fn losses_that_one_trace_does_not_tell_are_not_zero() {
        let lost = |events_lost| About { events_lost, ..About::default() };
        let sum = |one, other| lost(one).and(&lost(other)).events_lost;
        assert_eq!(sum(Some(2), Some(3)), Some(5));
        assert_eq!(sum(Some(2), None), Some(2));
        assert_eq!(sum(Some(0), None), None);
        assert_eq!(sum(None, None), None);
    }
}
