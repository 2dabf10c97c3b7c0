//! The expansion of `write_event!`.

use etw_types::{Channel, Level, Opcode};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned;

use super::ids::Ids;
use super::metadata::metadata;
use super::writer::{Writer, writer};
use super::{at, values};
use crate::model::{CHANNEL, Event, LEVEL, OPCODE};

/// The keyword of an event without a `keyword` option: "uncategorised".
const DEFAULT_KEYWORD: u64 = 1;

/// `write_event!`: a test, and a call of a cold outlined function.
pub(crate) fn write_event(event: &Event) -> TokenStream {
    let level_and_keyword = level_and_keyword(event);
    let provider = provider(event);
    let enabled = enabled(event, &opcode(event), Ids::from_options(event));
    let items = enabled.items;
    let call = enabled.call;
    let local = quote_spanned!(Span::mixed_site()=> provider);
    quote! {
        {
            #level_and_keyword
            let #local = #provider;
            if #local.enabled(__WDK_ETW_LEVEL, __WDK_ETW_KEYWORD) {
                #items
                #call
            } else {
                __wdk_etw::__private::success(#local)
            }
        }
    }
}

/// A reference to the event's provider. Errors about its type point at its path.
pub(super) fn provider(event: &Event) -> TokenStream {
    let path = &event.provider;
    quote_spanned!(at(path.span())=> __wdk_etw::__private::provider(&#path))
}

/// The constants `__WDK_ETW_LEVEL` and `__WDK_ETW_KEYWORD`.
pub(super) fn level_and_keyword(event: &Event) -> TokenStream {
    let level = values::named(event.level.as_ref(), &LEVEL, Level::Verbose.as_int());
    let keywords = event
        .keywords
        .iter()
        .map(|(span, value)| quote_spanned!(at(*span)=> ::core::convert::identity::<::core::primitive::u64>(#value)));
    let keyword = if event.keywords.is_empty() { quote!(#DEFAULT_KEYWORD) } else { quote!(#(#keywords)|*) };
    quote! {
        const __WDK_ETW_LEVEL: __wdk_etw::Level = #level;
        const __WDK_ETW_KEYWORD: ::core::primitive::u64 = #keyword;
    }
}

/// The event's opcode, by default `Info`.
fn opcode(event: &Event) -> TokenStream {
    values::named(event.opcode.as_ref(), &OPCODE, Opcode::Info.as_int())
}

/// The code that runs if the event is enabled.
pub(super) struct Enabled {
    /// The event's static and the outlined functions.
    pub(super) items: TokenStream,
    /// The call of the function, an expression of the provider's status type.
    pub(super) call: TokenStream,
}

/// Generates the code for an enabled event. It needs `provider` and the constants for level and keyword in scope.
pub(super) fn enabled(event: &Event, opcode: &TokenStream, ids: Ids) -> Enabled {
    let metadata = metadata(event, &event.fields);
    let metadata_items = metadata.items;
    let metadata_bytes = metadata.bytes;
    let descriptor = descriptor(event, opcode, event.id_version.as_ref());
    let Writer { functions, call } = writer(&event.fields, ids);
    let items = quote! {
        #metadata_items
        static __WDK_ETW_EVENT: __wdk_etw::__private::Event =
            __wdk_etw::__private::Event::new(#descriptor, #metadata_bytes);
        #functions
    };
    Enabled { items, call }
}

/// The event's descriptor, a constant.
pub(super) fn descriptor(event: &Event, opcode: &TokenStream, id_version: Option<&(Expr, Expr)>) -> TokenStream {
    let channel = values::named(event.channel.as_ref(), &CHANNEL, Channel::TraceLogging.as_int());
    let (id, version) = match id_version {
        Some((id, version)) => (quote!(#id), quote!(#version)),
        None => (quote!(0), quote!(0)),
    };
    let task = event.task.as_ref().map_or_else(|| quote!(0), |task| quote!(#task));
    quote! {
        __wdk_etw::EventDescriptor {
            id: #id,
            version: #version,
            channel: #channel,
            level: __WDK_ETW_LEVEL,
            opcode: #opcode,
            task: #task,
            keyword: __wdk_etw::Keyword::from_bits(__WDK_ETW_KEYWORD),
        }
    }
}
