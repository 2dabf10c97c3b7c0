//! The limits of ETW and of the TraceLogging format, and the running totals that are held against them.

use proc_macro2::Span;

use crate::errors::Errors;

pub(crate) use etw_types::tracelogging::{
    MAX_DESCRIPTORS as DESCRIPTORS, MAX_FIELDS as FIELDS, MAX_METADATA_SIZE as METADATA_BYTES, MAX_TAG as TAG,
};

/// Descriptors that every event needs for metadata.
pub(crate) const METADATA_DESCRIPTORS: usize = 2;
/// Fields of one struct: the count has seven bits.
pub(crate) const STRUCT_FIELDS: usize = 127;

/// Bytes of the longest tag.
pub(crate) const LONGEST_TAG: usize = 4;
/// Tag, name and result of an activity: what `wdk_etw` keeps room for in front of the fields of a stop event.
pub(crate) const ACTIVITY_BYTES: usize = 248;
/// Names and types of the fields of `stop_activity!`, which are joined with the activity's name on the stack.
pub(crate) const STOP_BYTES: usize = 1024;

/// A total that may pass its limit only once: the first excess is reported, later ones are silent.
pub(crate) struct Budget {
    used: usize,
    limit: usize,
    message: &'static str,
    exceeded: bool,
}

impl Budget {
    /// Starts at `used` of `limit`.
    pub(crate) const fn new(used: usize, limit: usize, message: &'static str) -> Self {
        Self { used, limit, message, exceeded: false }
    }

    /// The total so far.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Adds to the total; reports at `span` if the limit is passed for the first time.
    pub(crate) fn add(&mut self, amount: usize, span: Span, errors: &mut Errors) {
        self.used = self.used.saturating_add(amount);
        if self.used > self.limit && !self.exceeded {
            self.exceeded = true;
            errors.add(span, self.message);
        }
    }
}
