//! Parses tokens into a raw tree of items with spans.
//!
//! This module defines the form `NAME(argument, …)` that every option and field has, and recovers from syntax errors.
//! It knows no options or fields by name, except `struct`, whose last argument is a list of fields and not an
//! expression.

mod event;
mod provider;
mod words;

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Expr, Ident, Token, braced, parenthesized, token};

pub(crate) use event::EventSyntax;
pub(crate) use provider::ProviderSyntax;
pub(crate) use words::{Words, call, string, ungrouped};

use crate::errors::Errors;

/// One option or field: `NAME(arguments…)`.
pub(crate) struct Item {
    /// The name before the parenthesis. Errors about the whole item point here.
    pub(crate) name: Ident,
    /// The arguments in the parentheses.
    pub(crate) args: Vec<Arg>,
}

/// One argument of an item.
pub(crate) enum Arg {
    /// An expression. `tag(…)` and `format(…)` are parsed as calls.
    Value(Expr),
    /// The braces of a `struct` field.
    Fields(Span, Vec<Item>),
}

impl Item {
    /// Returns the span for errors: that of the item's name.
    pub(crate) fn span(&self) -> Span {
        self.name.span()
    }
}

/// Parses `NAME(…), NAME(…), …` to the end of the stream. Invalid items are reported and skipped.
pub(crate) fn items(input: ParseStream<'_>, errors: &mut Errors) -> Vec<Item> {
    let mut items = Vec::new();
    while !input.is_empty() {
        match item(input, errors) {
            Ok(item) => {
                items.push(item);
                comma(input, errors);
            }
            Err(error) => {
                errors.push(error);
                skip_past_comma(input);
            }
        }
    }
    items
}

/// Parses one `NAME(…)`.
fn item(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Item> {
    if !input.peek(Ident::peek_any) {
        return Err(
            input.error("expected an option or a field, for example `level(Warning)` or `u32(\"Field\", &value)`")
        );
    }
    let name = input.call(Ident::parse_any)?;
    if !input.peek(token::Paren) {
        return Err(syn::Error::new(name.span(), format!("expected `(` after `{name}`, for example `{name}(…)`")));
    }
    let content;
    parenthesized!(content in input);
    let args = arguments(&content, name == "struct", errors);
    Ok(Item { name, args })
}

/// Parses the arguments of one item, to the end of its parentheses.
fn arguments(input: ParseStream<'_>, is_struct: bool, errors: &mut Errors) -> Vec<Arg> {
    let mut args = Vec::new();
    while !input.is_empty() {
        if is_struct && input.peek(token::Brace) {
            match fields(input, errors) {
                Ok(arg) => args.push(arg),
                Err(error) => errors.push(error),
            }
            comma(input, errors);
            continue;
        }
        match input.parse::<Expr>() {
            Ok(value) => {
                args.push(Arg::Value(value));
                comma(input, errors);
            }
            Err(error) => {
                errors.push(error);
                skip_past_comma(input);
            }
        }
    }
    args
}

/// Parses the braces of a struct field.
fn fields(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<Arg> {
    let content;
    let brace = braced!(content in input);
    Ok(Arg::Fields(brace.span.join(), items(&content, errors)))
}

/// Parses the comma between two arguments. Reports and skips anything else.
fn comma(input: ParseStream<'_>, errors: &mut Errors) {
    if input.is_empty() {
        return;
    }
    if let Err(error) = input.parse::<Token![,]>() {
        errors.push(error);
        skip_past_comma(input);
    }
}

/// Skips to after the next comma at this level, or to the end.
fn skip_past_comma(input: ParseStream<'_>) {
    while !input.is_empty() {
        if input.parse::<Token![,]>().is_ok() {
            return;
        }
        // If the stream is not empty, a token tree can always be parsed.
        if input.parse::<proc_macro2::TokenTree>().is_err() {
            return;
        }
    }
}

/// The arguments of a call expression.
pub(crate) type CallArgs = Punctuated<Expr, Token![,]>;
