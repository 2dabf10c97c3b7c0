//! What a format does: the parts of an export.

use std::fmt;

use super::about::About;
use crate::decode::Decoded;
use crate::event::EventRef;
use crate::time::FileTime;

/// Writes events in a format. Every function appends to `out`. A writer keeps no event, or a bounded number of them.
pub(super) trait FormatWriter: fmt::Debug + Send + Sync {
    /// Writes what comes before all events.
    fn start(&mut self, _out: &mut String) {}

    /// Writes an event.
    fn event(&mut self, out: &mut String, event: &EventRef<'_>, decoded: &Decoded);

    /// Sees an event that is not selected: a span may end with it.
    fn unselected(&mut self, _out: &mut String, _event: &EventRef<'_>, _decoded: &Decoded) {}

    /// Returns whether the format shows spans, so that it has to see all starts and stops.
    fn has_spans(&self) -> bool {
        false
    }

    /// Returns whether a span that will be written waits for its stop.
    fn awaits_stops(&self) -> bool {
        false
    }

    /// Writes what waits to be written with later events.
    fn flush(&mut self, _out: &mut String) {}

    /// Writes what comes after all events.
    fn finish(&mut self, out: &mut String) {
        self.flush(out);
    }

    /// Limits lines to a width.
    fn fit(&mut self, _width: usize) {}

    /// Uses colours.
    fn colour(&mut self) {}

    /// Shows times relative to this one.
    fn since(&mut self, _origin: FileTime) {}

    /// Sets what the export says about the trace.
    fn about(&mut self, _about: About) {}

    /// Returns the number of events that were left out because of a limit.
    fn left_out(&self) -> u64 {
        0
    }
}
