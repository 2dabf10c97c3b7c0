//! Collects the errors of one macro call, so that a user sees all of them at once.
//!
//! This module converts errors to tokens. Other modules decide what is an error.

use proc_macro2::{Span, TokenStream};
use quote::quote;

/// The errors found so far in one macro call.
#[derive(Default)]
pub(crate) struct Errors(Vec<syn::Error>);

impl Errors {
    /// Records a message that points at `span`.
    pub(crate) fn add(&mut self, span: Span, message: impl std::fmt::Display) {
        self.0.push(syn::Error::new(span, message));
    }

    /// Records an error that the parser produced.
    pub(crate) fn push(&mut self, error: syn::Error) {
        self.0.push(error);
    }

    /// Returns whether there are no errors.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the messages, for the tests of the model.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }

    /// Returns the errors as items, for a macro in item position.
    pub(crate) fn into_items(self) -> TokenStream {
        self.0.iter().map(syn::Error::to_compile_error).collect()
    }

    /// Returns the errors as one expression, for a macro in expression position.
    ///
    /// The last error has no semicolon. The block then has the error type, which rustc accepts anywhere without another
    /// message.
    pub(crate) fn into_expression(self) -> TokenStream {
        let mut errors: Vec<TokenStream> = self.0.iter().map(expression).collect();
        let last = errors.pop();
        quote!({ #(#errors;)* #last })
    }
}

/// One error as an expression. A macro call with braces would be a statement, so it is put in parentheses.
fn expression(error: &syn::Error) -> TokenStream {
    let call = error.to_compile_error();
    quote!((#call))
}
