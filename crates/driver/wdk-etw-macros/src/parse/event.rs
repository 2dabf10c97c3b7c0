//! Syntax of `write_event!` and `start_activity!` (provider, event name, options and fields) and of `stop_activity!`
//! (scope and fields).

use proc_macro2::Span;
use syn::parse::{ParseStream, Parser};
use syn::{Expr, LitStr, Token};

use super::{Item, items, string, ungrouped};
use crate::errors::Errors;

const PROVIDER: &str = "expected the provider's symbol or path, for example `MY_PROVIDER` or `crate::MY_PROVIDER`";
const SCOPE: &str = "expected the activity's scope, for example `scope`";
const NAME: &str = "expected the event's name as a string literal, for example `\"DeviceAdded\"`";

/// The input of an event macro.
pub(crate) struct EventSyntax {
    /// The path of the provider. For `stop_activity!`, the scope, which can be any expression.
    pub(crate) provider: Expr,
    /// The event's name.
    pub(crate) name: LitStr,
    /// Options and fields in the order of the source.
    pub(crate) items: Vec<Item>,
}

impl EventSyntax {
    /// Parses the macro's input. Returns `None` if too much is missing to continue; `errors` then has the reason.
    pub(crate) fn parse(tokens: proc_macro2::TokenStream, errors: &mut Errors) -> Option<Self> {
        Self::parse_with(tokens, errors, read)
    }

    /// Parses the input of `stop_activity!`, which has a scope instead of provider and name.
    pub(crate) fn parse_stop(tokens: proc_macro2::TokenStream, errors: &mut Errors) -> Option<Self> {
        Self::parse_with(tokens, errors, read_stop)
    }

    fn parse_with(
        tokens: proc_macro2::TokenStream,
        errors: &mut Errors,
        read: fn(ParseStream<'_>, &mut Errors) -> Option<Self>,
    ) -> Option<Self> {
        let parser = |input: ParseStream<'_>| Ok(read(input, errors));
        match Parser::parse2(parser, tokens) {
            Ok(syntax) => syntax,
            Err(error) => {
                errors.push(error);
                None
            }
        }
    }
}

fn read(input: ParseStream<'_>, errors: &mut Errors) -> Option<EventSyntax> {
    if input.is_empty() {
        errors.add(Span::call_site(), PROVIDER);
        return None;
    }
    let provider = argument(input, PROVIDER, errors, |expr| match ungrouped(&expr) {
        Expr::Path(_) => Some(expr),
        _ => None,
    });
    let name = argument(input, NAME, errors, |expr| string(&expr).cloned());
    let items = items(input, errors);
    Some(EventSyntax { provider: provider?, name: name?, items })
}

fn read_stop(input: ParseStream<'_>, errors: &mut Errors) -> Option<EventSyntax> {
    if input.is_empty() {
        errors.add(Span::call_site(), SCOPE);
        return None;
    }
    let scope = argument(input, SCOPE, errors, Some);
    let items = items(input, errors);
    Some(EventSyntax { provider: scope?, name: LitStr::new("", Span::call_site()), items })
}

/// Parses one positional argument and its comma. `accept` checks and converts it.
pub(super) fn argument<T>(
    input: ParseStream<'_>,
    expected: &str,
    errors: &mut Errors,
    accept: impl FnOnce(Expr) -> Option<T>,
) -> Option<T> {
    if input.is_empty() {
        errors.add(Span::call_site(), expected);
        return None;
    }
    let start = input.span();
    let value = match input.parse::<Expr>() {
        Ok(expr) => accept(expr),
        Err(_) => None,
    };
    if value.is_none() {
        errors.add(start, expected);
        super::skip_past_comma(input);
        return None;
    }
    if !input.is_empty() && !input.peek(Token![,]) {
        errors.add(input.span(), "expected `,`");
        super::skip_past_comma(input);
    } else {
        super::comma(input, errors);
    }
    value
}
