//! The expansion of `start_activity!`.

use etw_types::Opcode;
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::event::{Ids, descriptor, enabled, level_and_keyword, provider as provider_reference};
use super::metadata::metadata;
use super::values;
use crate::model::{Event, OPCODE};

/// `start_activity!`: the start event as `write_event!` writes it, and a scope that holds the stop event.
pub(crate) fn start_activity(event: &Event) -> TokenStream {
    let level_and_keyword = level_and_keyword(event);
    let path = provider_reference(event);
    let provider = quote_spanned!(Span::mixed_site()=> provider);
    let scope = quote_spanned!(Span::mixed_site()=> scope);
    let ids = Ids::with_activity(event, &quote!(::wdk_etw::__private::id_bytes(#scope.id())));
    let start = enabled(event, &opcode(Opcode::Start), ids);
    let (start_items, start_call) = (start.items, start.call);
    let stop = stop(event);
    quote! {
        {
            #level_and_keyword
            let #provider = #path;
            if #provider.enabled(__WDK_ETW_LEVEL, __WDK_ETW_KEYWORD) {
                static __WDK_ETW_STOP: ::wdk_etw::__private::Event = #stop;
                #start_items
                let #scope = ::wdk_etw::ActivityScope::active(#provider, &__WDK_ETW_STOP);
                let _ = #start_call;
                #scope
            } else {
                ::wdk_etw::ActivityScope::inactive(#provider)
            }
        }
    }
}

/// The stop event: no fields, and no numeric identity, which belongs to the start event.
fn stop(event: &Event) -> TokenStream {
    let metadata = metadata(event, &[]);
    let (items, bytes) = (metadata.items, metadata.bytes);
    let descriptor = descriptor(event, &opcode(Opcode::Stop), None);
    quote!({ #items ::wdk_etw::__private::Event::new(#descriptor, #bytes) })
}

fn opcode(opcode: Opcode) -> TokenStream {
    values::named(None, &OPCODE, opcode.as_int())
}
