//! The expansion of `define_provider!`.

use etw_types::Guid;
use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::at;
use crate::model::{Mode, Provider, SetInformation};

/// Generates a static provider. `root` is the path of `wdk-etw`.
pub(crate) fn define_provider(provider: &Provider, root: &TokenStream) -> TokenStream {
    let Provider { attributes, visibility, symbol, .. } = provider;
    let id = guid(&provider.id, root);
    let traits = Literal::byte_string(&provider.traits);
    let set_information = set_information(provider, root);
    let mode = mode(provider, root);
    let summary = match provider.mode {
        Mode::Kernel => "kernel",
        Mode::User => "user",
    };
    // A provider without a doc comment gets one that shows its id.
    let documented = attributes.iter().any(|attribute| attribute.path().is_ident("doc"));
    let text = format!("An ETW provider ({summary} mode), id `{}`.", provider.id);
    let doc = if documented { TokenStream::new() } else { quote!(#[doc = #text]) };
    quote! {
        #doc
        #(#attributes)*
        #visibility static #symbol: #root::Provider<#mode> = #root::Provider::new(#id, #traits, #set_information);
    }
}

/// Generates a provider in place of one with errors, so that its uses cause no further errors.
pub(crate) fn placeholder(provider: &Provider, root: &TokenStream) -> TokenStream {
    let Provider { visibility, symbol, .. } = provider;
    let mode = mode(provider, root);
    quote! {
        #[doc(hidden)]
        #visibility static #symbol: #root::Provider<#mode> =
            #root::Provider::new(#root::Guid::ZERO, b"\x03\0\0", #root::SetInformationMode::Off);
    }
}

/// The type of the provider's mode.
fn mode(provider: &Provider, root: &TokenStream) -> TokenStream {
    let mode = match provider.mode {
        Mode::Kernel => quote!(#root::Kernel),
        Mode::User => quote!(#root::User),
    };
    if provider.is_protected { quote!(#root::Protected<#mode>) } else { mode }
}

fn guid(id: &Guid, root: &TokenStream) -> TokenStream {
    let Guid { data1, data2, data3, data4 } = id;
    quote!(#root::Guid::from_fields(#data1, #data2, #data3, [#(#data4),*]))
}

fn set_information(provider: &Provider, root: &TokenStream) -> TokenStream {
    match &provider.set_information {
        SetInformation::Chosen(name) => {
            let name = Ident::new(name, Span::mixed_site());
            quote!(#root::SetInformationMode::#name)
        }
        SetInformation::ByVersion(span, version) => {
            let span = at(*span);
            match provider.mode {
                Mode::Kernel => quote_spanned!(span=> #root::SetInformationMode::for_ntddi(#version)),
                Mode::User => quote_spanned!(span=> #root::SetInformationMode::for_winver(#version)),
            }
        }
        SetInformation::ByBuild => {
            // Read where the provider is, so that the build script of its package can set them, too.
            let chosen = quote!(::core::option_env!("WDK_ETW_SET_INFORMATION"));
            match provider.mode {
                Mode::Kernel => quote! {
                    #root::__private::set_information_in_kernel(#chosen, ::core::option_env!("WDK_ETW_NTDDI_VERSION"))
                },
                Mode::User => quote! {
                    #root::__private::set_information_in_user(#chosen, ::core::option_env!("WDK_ETW_WINVER"))
                },
            }
        }
    }
}
