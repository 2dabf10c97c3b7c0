//! Generates Rust code from the checked model.
//!
//! This module defines the shape of the expansion. It reports no errors: its input is valid, or is checked by a
//! constant in the expansion.
//!
//! Hygiene: local variables have mixed-site spans, so they cannot conflict with the user's. Items do not have that
//! protection, so every generated item has a name that begins with `__WDK_ETW` or `__wdk_etw`. Paths begin with
//! `::core`, or with the path of `wdk-etw` that the caller got from `$crate`: the driver may know the crate by another
//! name, or only through another crate. An event's expansion imports that path as `__wdk_etw`. The expansion contains no
//! `unsafe` block. If a field's type needs `unsafe`, its value is an unsafe call without a block, so that the user must
//! write the block around the macro.

mod activity;
mod event;
mod ids;
mod metadata;
mod packing;
mod payload;
mod provider;
#[cfg(test)]
mod tests;
mod values;
mod writer;

use proc_macro2::{Span, TokenStream};
use quote::quote;

pub(crate) use activity::{start_activity, stop_activity};
pub(crate) use event::write_event;
pub(crate) use provider::{define_provider, placeholder};

/// Puts the expansion of an event macro into a block in which `wdk-etw` is `__wdk_etw`.
pub(crate) fn with_root(root: &TokenStream, expansion: &TokenStream) -> TokenStream {
    quote!({ use #root::__private::root as __wdk_etw; #expansion })
}

/// Returns `span` with the hygiene of the expansion.
fn at(span: Span) -> Span {
    span.resolved_at(Span::mixed_site())
}
