//! The macros of `wdk-etw`. Use them through that crate, which documents them.
//!
//! There are three steps, with one module each: `parse` turns tokens into a raw tree with spans; `model` checks it
//! against the grammar, the table of field types and every limit; `codegen` generates the expansion. Errors are
//! collected on the way, so that one compilation reports all of them.
#![forbid(unsafe_code)]

mod codegen;
mod errors;
mod model;
mod parse;

use proc_macro::TokenStream;

use crate::errors::Errors;
use crate::model::{Event, EventKind, Provider};
use crate::parse::{EventSyntax, ProviderSyntax};

/// Defines a static provider. Documented as `wdk_etw::define_provider!`.
#[proc_macro]
pub fn define_provider(input: TokenStream) -> TokenStream {
    let mut errors = Errors::default();
    let Some(syntax) = ProviderSyntax::parse(input.into(), &mut errors) else {
        return errors.into_items().into();
    };
    let provider = Provider::check(syntax, &mut errors);
    if errors.is_empty() {
        let expansion = codegen::define_provider(&provider);
        return printed(expansion, provider.debug);
    }
    let mut output = errors.into_items();
    output.extend(codegen::placeholder(&provider));
    output.into()
}

/// Writes an event. Documented as `wdk_etw::write_event!`.
#[proc_macro]
pub fn write_event(input: TokenStream) -> TokenStream {
    event(input, EventSyntax::parse, EventKind::Single, codegen::write_event)
}

/// Writes the start of an activity. Documented as `wdk_etw::start_activity!`.
#[proc_macro]
pub fn start_activity(input: TokenStream) -> TokenStream {
    event(input, EventSyntax::parse, EventKind::Activity, codegen::start_activity)
}

/// Writes the stop of an activity. Documented as `wdk_etw::stop_activity!`.
#[proc_macro]
pub fn stop_activity(input: TokenStream) -> TokenStream {
    event(input, EventSyntax::parse_stop, EventKind::Stop, codegen::stop_activity)
}

/// The steps that all event macros have in common.
fn event(
    input: TokenStream,
    parse: fn(proc_macro2::TokenStream, &mut Errors) -> Option<EventSyntax>,
    kind: EventKind,
    generate: fn(&Event) -> proc_macro2::TokenStream,
) -> TokenStream {
    let mut errors = Errors::default();
    let event = parse(input.into(), &mut errors).map(|syntax| Event::check(syntax, kind, &mut errors));
    match event {
        Some(event) if errors.is_empty() => printed(generate(&event), event.debug),
        _ => errors.into_expression().into(),
    }
}

/// Returns the expansion. With `debug()`, also prints it while the user's crate is compiled.
fn printed(expansion: proc_macro2::TokenStream, debug: bool) -> TokenStream {
    if debug {
        println!("{expansion}");
    }
    expansion.into()
}
