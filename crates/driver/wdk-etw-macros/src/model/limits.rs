//! The limits of ETW and of the TraceLogging format, and the totals that are checked against them.

use proc_macro2::Span;

use crate::errors::Errors;

pub(crate) use etw_types::tracelogging::{
    MAX_DESCRIPTORS as DESCRIPTORS, MAX_FIELDS as FIELDS, MAX_METADATA_SIZE as METADATA_BYTES, MAX_TAG as TAG,
};

/// Number of descriptors that every event needs for metadata.
pub(crate) const METADATA_DESCRIPTORS: usize = 2;
/// Maximum number of fields in a struct: the count has seven bits.
pub(crate) const STRUCT_FIELDS: usize = 127;

/// Size of the longest tag in bytes.
pub(crate) const LONGEST_TAG: usize = 4;
/// Maximum size of tag, name and result of an activity: the space that `wdk_etw` reserves before the fields of a stop
/// event.
pub(crate) const ACTIVITY_BYTES: usize = 248;
/// Maximum size of the names and types of the fields of `stop_activity!`. They are joined with the activity's name on
/// the stack.
pub(crate) const STOP_BYTES: usize = 1024;

/// A total with a limit. Only the first excess is reported.
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

    /// Returns the total so far.
    pub(crate) const fn used(&self) -> usize {
        self.used
    }

    /// Adds to the total. Reports an error at `span` when the limit is exceeded for the first time.
    pub(crate) fn add(&mut self, amount: usize, span: Span, errors: &mut Errors) {
        self.used = self.used.saturating_add(amount);
        if self.used > self.limit && !self.exceeded {
            self.exceeded = true;
            errors.add(span, self.message);
        }
    }
}
