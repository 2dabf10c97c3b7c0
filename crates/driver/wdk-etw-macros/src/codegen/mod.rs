//! Tokens: from the checked model to Rust code.
//!
//! Owns the shape of the expansion. It reports nothing: whatever reaches it is right, or is checked by a constant in the
//! expansion itself.
//!
//! Hygiene: local variables have mixed-site spans, so they never meet the user's. Items do not have that protection, so
//! every generated item has a name that begins with `__WDK_ETW` or `__wdk_etw`. Paths begin with `::wdk_etw` or `::core`.
//! No `unsafe` is generated; the value of a field whose type demands `unsafe` is an unsafe call without a block, so that
//! the user has to write one around the macro.

mod activity;
mod event;
mod metadata;
mod packing;
mod payload;
mod provider;
mod values;
mod writer;

use proc_macro2::Span;

pub(crate) use activity::{start_activity, stop_activity};
pub(crate) use event::write_event;
pub(crate) use provider::{define_provider, placeholder};

/// The place of `span` with the hygiene of the expansion.
fn at(span: Span) -> Span {
    span.resolved_at(Span::mixed_site())
}
