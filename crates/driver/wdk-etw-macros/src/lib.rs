//! The macros of `wdk-etw`. Use them through that crate, which documents them.
//!
//! The input of each begins with the path of `wdk-etw` in brackets, which `wdk-etw` gets from `$crate`.
//!
//! There are three steps, with one module each: `parse` turns tokens into a raw tree with spans; `model` checks it
//! against the grammar, the table of field types and every limit; `codegen` generates the expansion. Errors are
//! collected on the way, so that one compilation reports all of them.
#![forbid(unsafe_code)]

mod codegen;
mod errors;
mod model;
mod parse;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::quote;

use crate::errors::Errors;
use crate::model::{Event, EventKind, Provider};
use crate::parse::{EventSyntax, ProviderSyntax};

/// Defines a static provider. Documented as `wdk_etw::define_provider!`.
#[proc_macro]
pub fn define_provider(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let mut errors = Errors::default();
    let (root, input) = root(input);
    let Some(syntax) = ProviderSyntax::parse(input, &mut errors) else {
        return errors.into_items().into();
    };
    let provider = Provider::check(syntax, &mut errors);
    if errors.is_empty() {
        let expansion = codegen::define_provider(&provider, &root);
        return printed(expansion, provider.debug);
    }
    let mut output = errors.into_items();
    output.extend(codegen::placeholder(&provider, &root));
    output.into()
}

/// Writes an event. Documented as `wdk_etw::write_event!`.
#[proc_macro]
pub fn write_event(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    event(input, EventSyntax::parse, EventKind::Single, codegen::write_event)
}

/// Writes the start of an activity. Documented as `wdk_etw::start_activity!`.
#[proc_macro]
pub fn start_activity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    event(input, EventSyntax::parse, EventKind::Activity, codegen::start_activity)
}

/// Writes the stop of an activity. Documented as `wdk_etw::stop_activity!`.
#[proc_macro]
pub fn stop_activity(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    event(input, EventSyntax::parse_stop, EventKind::Stop, codegen::stop_activity)
}

/// The steps that all event macros have in common.
fn event(
    input: proc_macro::TokenStream,
    parse: fn(TokenStream, &mut Errors) -> Option<EventSyntax>,
    kind: EventKind,
    generate: fn(&Event) -> TokenStream,
) -> proc_macro::TokenStream {
    let mut errors = Errors::default();
    let (root, input) = root(input);
    let event = parse(input, &mut errors).map(|syntax| Event::check(syntax, kind, &mut errors));
    match event {
        Some(event) if errors.is_empty() => printed(codegen::with_root(&root, &generate(&event)), event.debug),
        _ => errors.into_expression().into(),
    }
}

/// Separates the path of `wdk-etw` from the rest of the input. Without the path, the crate has its own name.
fn root(input: proc_macro::TokenStream) -> (TokenStream, TokenStream) {
    let input = TokenStream::from(input);
    let mut rest = input.clone().into_iter();
    match rest.next() {
        Some(TokenTree::Group(path)) if path.delimiter() == Delimiter::Bracket => (path.stream(), rest.collect()),
        _ => (quote!(::wdk_etw), input),
    }
}

/// Returns the expansion. With `debug()`, also prints it while the user's crate is compiled.
fn printed(expansion: TokenStream, debug: bool) -> proc_macro::TokenStream {
    if debug {
        println!("{expansion}");
    }
    expansion.into()
}
