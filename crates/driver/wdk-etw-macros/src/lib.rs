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

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::quote;

use crate::errors::Errors;
use crate::model::{Event, EventKind, Provider};
use crate::parse::{EventSyntax, ProviderSyntax};

/// Defines a static provider. Documented as `wdk_etw::define_provider!`.
#[proc_macro]
pub fn define_provider(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let mut errors = Errors::default();
    let (root, input) = root(input);
    let start = first_span(&input);
    let Some(syntax) = ProviderSyntax::parse(input, &mut errors) else {
        return errors.into_items().into();
    };
    let provider = Provider::check(syntax, &mut errors);
    if errors.is_empty() {
        let expansion = codegen::define_provider(&provider, &root);
        return expanded(expansion, start, provider.debug);
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
    let start = first_span(&input);
    let event = parse(input, &mut errors).map(|syntax| Event::check(syntax, kind, &mut errors));
    match event {
        Some(event) if errors.is_empty() => expanded(codegen::with_root(&root, &generate(&event)), start, event.debug),
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

/// Returns where the user's input begins.
fn first_span(input: &TokenStream) -> Option<Span> {
    input.clone().into_iter().next().map(|token| token.span())
}

/// Returns the expansion, located at the user's input. With `debug()`, also prints it while the user's crate is compiled.
fn expanded(expansion: TokenStream, input: Option<Span>, debug: bool) -> proc_macro::TokenStream {
    if debug {
        println!("{expansion}");
    }
    let Some(input) = input else { return expansion.into() };
    located(expansion, Position::of(Span::call_site()), input).into()
}

/// Moves the tokens at one position to another. The call is in `wdk-etw`, whose declarative macro made it. Debug information
/// has to name the user's line, and what the tokens mean there stays the same.
fn located(tokens: TokenStream, from: Position, to: Span) -> TokenStream {
    let moved = tokens.into_iter().map(|mut token| {
        let span = token.span();
        if let TokenTree::Group(group) = &token {
            token = Group::new(group.delimiter(), located(group.stream(), from, to)).into();
        }
        token.set_span(if Position::of(span) == from { span.located_at(to) } else { span });
        token
    });
    moved.collect()
}

/// A position in a file. The file's name is left out, because reading it for each token is slow: a token of the user at the same
/// position of another file is moved, too, to the beginning of the same input.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

impl Position {
    fn of(span: Span) -> Self {
        let span = span.unwrap();
        Self { line: span.line(), column: span.column() }
    }
}
