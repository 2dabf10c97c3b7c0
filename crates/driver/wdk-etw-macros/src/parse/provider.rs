//! Syntax of `define_provider!`: attributes, visibility, symbol, provider name, options.

use proc_macro2::Span;
use syn::parse::{ParseStream, Parser};
use syn::{Attribute, Ident, LitStr, Token, Visibility};

use super::event::argument;
use super::{Item, items, string};
use crate::errors::Errors;

const SYMBOL: &str = "expected the provider's symbol, for example `MY_PROVIDER` or `pub(crate) MY_PROVIDER`";
const NAME: &str = "expected the provider's name as a string literal, for example `\"MyCompany.MyDriver\"`";

/// The input of `define_provider!`.
pub(crate) struct ProviderSyntax {
    /// Attributes and doc comments before the symbol.
    pub(crate) attributes: Vec<Attribute>,
    /// The visibility before the symbol.
    pub(crate) visibility: Visibility,
    /// The name of the static.
    pub(crate) symbol: Ident,
    /// The provider's name; `None` after an error.
    pub(crate) name: Option<LitStr>,
    /// The options in the order of the source.
    pub(crate) items: Vec<Item>,
}

impl ProviderSyntax {
    /// Parses the macro's input. Returns `None` if there is no symbol; `errors` then has the reason.
    pub(crate) fn parse(tokens: proc_macro2::TokenStream, errors: &mut Errors) -> Option<Self> {
        let parser = |input: ParseStream<'_>| read(input, errors);
        match Parser::parse2(parser, tokens) {
            Ok(syntax) => Some(syntax),
            Err(error) => {
                errors.push(error);
                None
            }
        }
    }
}

fn read(input: ParseStream<'_>, errors: &mut Errors) -> syn::Result<ProviderSyntax> {
    // The visibility can also come before the attributes, because both orders look natural in a macro call.
    let mut visibility: Visibility = input.parse()?;
    let attributes = input.call(Attribute::parse_outer)?;
    if matches!(visibility, Visibility::Inherited) {
        visibility = input.parse()?;
    }
    let symbol_span = if input.is_empty() { Span::call_site() } else { input.span() };
    let symbol: Ident = input.parse().map_err(|_| syn::Error::new(symbol_span, SYMBOL))?;
    if input.is_empty() {
        errors.add(symbol.span(), NAME);
    } else if let Err(error) = input.parse::<Token![,]>() {
        errors.push(error);
        super::skip_past_comma(input);
    }
    let name = if input.is_empty() { None } else { argument(input, NAME, errors, |expr| string(&expr).cloned()) };
    let items = items(input, errors);
    Ok(ProviderSyntax { attributes, visibility, symbol, name, items })
}
