//! The expansion of `define_provider!`.

use etw_types::Guid;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::at;
use crate::model::{Mode, Provider, SetInformation};

/// Generates a static provider.
pub(crate) fn define_provider(provider: &Provider) -> TokenStream {
    let Provider { attributes, visibility, symbol, .. } = provider;
    let id = guid(&provider.id);
    let traits = Literal::byte_string(&provider.traits);
    let set_information = set_information(provider);
    let (mode, summary) = match provider.mode {
        Mode::Kernel => (quote!(::wdk_etw::Kernel), "kernel"),
        Mode::User => (quote!(::wdk_etw::User), "user"),
    };
    // A provider without a doc comment gets one that shows its id.
    let documented = attributes.iter().any(|attribute| attribute.path().is_ident("doc"));
    let text = format!("An ETW provider ({summary} mode), id `{}`.", provider.id);
    let doc = if documented { TokenStream::new() } else { quote!(#[doc = #text]) };
    quote! {
        #doc
        #(#attributes)*
        #visibility static #symbol: ::wdk_etw::Provider<#mode> =
            ::wdk_etw::Provider::new(#id, #traits, #set_information);
    }
}

/// Generates a provider in place of one with errors, so that its uses cause no further errors.
pub(crate) fn placeholder(provider: &Provider) -> TokenStream {
    let Provider { visibility, symbol, mode, .. } = provider;
    let mode = match mode {
        Mode::Kernel => quote!(::wdk_etw::Kernel),
        Mode::User => quote!(::wdk_etw::User),
    };
    quote! {
        #[doc(hidden)]
        #visibility static #symbol: ::wdk_etw::Provider<#mode> =
            ::wdk_etw::Provider::new(::wdk_etw::Guid::ZERO, b"\x03\0\0", ::wdk_etw::SetInformationMode::Off);
    }
}

fn guid(id: &Guid) -> TokenStream {
    let Guid { data1, data2, data3, data4 } = id;
    quote!(::wdk_etw::Guid::from_fields(#data1, #data2, #data3, [#(#data4),*]))
}

fn set_information(provider: &Provider) -> TokenStream {
    match &provider.set_information {
        SetInformation::Chosen(name) => {
            let name = Ident::new(name, Span::mixed_site());
            quote!(::wdk_etw::SetInformationMode::#name)
        }
        SetInformation::ByVersion(span, version) => {
            let span = at(*span);
            match provider.mode {
                Mode::Kernel => quote_spanned!(span=> ::wdk_etw::SetInformationMode::for_ntddi(#version)),
                Mode::User => quote_spanned!(span=> ::wdk_etw::SetInformationMode::for_winver(#version)),
            }
        }
    }
}
