//! The activity ids of an event.

use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::Expr;

use super::at;
use crate::model::Event;

/// The activity ids of an event: expressions of type `[u8; 16]`.
#[derive(Default)]
pub(super) struct Ids {
    pub(super) activity: Option<TokenStream>,
    pub(super) related: Option<TokenStream>,
}

impl Ids {
    /// Takes the ids from the event's options.
    pub(super) fn from_options(event: &Event) -> Self {
        let activity = event.activity_id.as_ref().map(|(span, value)| id_bytes(*span, value));
        Self { activity, related: related(event) }
    }

    /// Takes the activity id from the expansion. `bytes` is an expression of type `[u8; 16]`.
    pub(super) fn with_activity(event: &Event, bytes: &TokenStream) -> Self {
        Self { activity: Some(bytes.clone()), related: related(event) }
    }
}

fn related(event: &Event) -> Option<TokenStream> {
    event.related_id.as_ref().map(|(span, value)| id_bytes(*span, value))
}

/// Converts the user's id to `[u8; 16]`.
fn id_bytes(span: Span, value: &Expr) -> TokenStream {
    quote_spanned!(at(span)=> __wdk_etw::__private::id_bytes(#value))
}
