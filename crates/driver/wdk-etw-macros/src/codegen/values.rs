//! Constant values of events: levels, opcodes, channels, types.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;

use super::at;
use crate::model::{Named, Vocabulary};

/// An expression of the type that `vocabulary` names, with the value `default` if the user gave none.
pub(super) fn named(value: Option<&(Span, Named)>, vocabulary: &Vocabulary, default: u8) -> TokenStream {
    match value {
        Some((span, value)) => typed(value, vocabulary.type_name, *span),
        None => typed(&Named::Known(default), vocabulary.type_name, Span::mixed_site()),
    }
}

/// An expression of type `__wdk_etw::TYPE`.
pub(super) fn typed(value: &Named, type_name: &str, span: Span) -> TokenStream {
    let span = at(span);
    let name = Ident::new(type_name, span);
    match value {
        Named::Known(value) => quote_spanned!(span=> __wdk_etw::#name::from_int(#value)),
        Named::Sized(constant) => {
            let constant = Ident::new(constant, span);
            quote_spanned!(span=> __wdk_etw::#name::#constant)
        }
        Named::Number(value) => quote_spanned!(span=> __wdk_etw::#name::from_int(#value)),
        Named::Value(value) => quote_spanned!(span=> ::core::convert::identity::<__wdk_etw::#name>(#value)),
    }
}
