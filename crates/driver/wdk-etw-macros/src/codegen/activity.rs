//! The expansions of `start_activity!` and `stop_activity!`.

use etw_types::Opcode;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::event::{descriptor, enabled, level_and_keyword, provider as provider_reference};
use super::ids::Ids;
use super::metadata::metadata;
use super::writer::{Writer, stop_writer};
use super::{at, values};
use crate::model::{Event, OPCODE, ResultType};

/// `start_activity!`: writes the start event like `write_event!` and returns a scope that contains the stop event.
pub(crate) fn start_activity(event: &Event) -> TokenStream {
    let level_and_keyword = level_and_keyword(event);
    let path = provider_reference(event);
    let provider = quote_spanned!(Span::mixed_site()=> provider);
    let scope = quote_spanned!(Span::mixed_site()=> scope);
    let ids = Ids::with_activity(event, &quote!(__wdk_etw::__private::id_bytes(#scope.id())));
    let start = enabled(event, &opcode(Opcode::Start), ids);
    let start_items = start.items;
    let start_call = start.call;
    let stop = stop(event);
    let result = result_type(event);
    quote! {
        {
            #level_and_keyword
            let #provider = #path;
            if #provider.enabled(__WDK_ETW_LEVEL, __WDK_ETW_KEYWORD) {
                static __WDK_ETW_STOP: __wdk_etw::__private::Event = #stop;
                #start_items
                let #scope = __wdk_etw::ActivityScope::<_, #result>::active(#provider, &__WDK_ETW_STOP);
                let _ = #start_call;
                #scope
            } else {
                __wdk_etw::ActivityScope::<_, #result>::inactive(#provider)
            }
        }
    }
}

/// `stop_activity!`: writes the stop event of a scope, with fields.
pub(crate) fn stop_activity(event: &Event) -> TokenStream {
    let scope = quote_spanned!(Span::mixed_site()=> scope);
    let value = &event.provider;
    // The event has neither tag nor name here: both are in the scope.
    let metadata = metadata(event, &event.fields);
    let items = metadata.items;
    let bytes = metadata.bytes;
    let Writer { functions, call } = stop_writer(&event.fields);
    let start = quote_spanned!(at(value.span())=> __wdk_etw::__private::scope(#value));
    quote! {
        {
            let #scope = #start;
            if #scope.wants_stop() {
                #items
                const __WDK_ETW_FIELDS: &[::core::primitive::u8] = #bytes;
                const __WDK_ETW_SIZE: ::core::primitive::usize =
                    __wdk_etw::__private::stop_metadata_size(__WDK_ETW_FIELDS.len());
                #functions
                #call
            } else {
                #scope.leave()
            }
        }
    }
}

/// The type of the result that a scope stores.
fn result_type(event: &Event) -> TokenStream {
    match event.result.as_ref().map(|result| result.kind) {
        None => quote!(()),
        Some(ResultType::NtStatus) => quote!(__wdk_etw::NtStatus),
        Some(ResultType::HResult) => quote!(__wdk_etw::HResult),
        Some(ResultType::U32) => quote!(::core::primitive::u32),
        Some(ResultType::U64) => quote!(::core::primitive::u64),
    }
}

/// The stop event. Its only field is the scope's result. It has no id and version, because those belong to the start
/// event.
fn stop(event: &Event) -> TokenStream {
    let metadata = metadata(event, event.result.as_ref().map(|result| &result.field));
    let items = metadata.items;
    let bytes = metadata.bytes;
    let descriptor = descriptor(event, &opcode(Opcode::Stop), None);
    quote!({ #items __wdk_etw::__private::Event::of_activity(#descriptor, #bytes) })
}

fn opcode(opcode: Opcode) -> TokenStream {
    values::named(None, &OPCODE, opcode.as_int())
}
