//! The functions that write an enabled event.
//!
//! A call site contains only the test and a jump. Therefore the functions take what a caller is likely to have in
//! registers, in the order of the fields. Only the event's address depends on the event. The rest is the same for all
//! events whose fields have the same types, and the optimiser merges such functions. There are two ways to combine both
//! parts:
//!
//! - If a register is left, one function takes the fields and then the event.
//! - Otherwise the event has its own function, which puts the fixed-size fields into a frame and calls the shared
//!   function. `wdk-etw/src/event/frame.rs` shows the layout of the frame and explains the arguments of the shared
//!   function.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::ids::Ids;
use super::packing::Group;
use super::payload::{Parameter, Payload, group_name, payload};
use crate::model::Field;

/// The number of arguments that are passed in registers on x64.
const REGISTERS: usize = 4;

/// The number of parameters that Clippy accepts without a warning.
const LINTED_PARAMETERS: usize = 7;

/// The number of descriptors for traits and metadata.
const METADATA_DESCRIPTORS: usize = 2;

/// The functions of an event, and their call.
pub(super) struct Writer {
    pub(super) functions: TokenStream,
    pub(super) call: TokenStream,
}

/// Tokens that several functions share.
struct Names {
    provider: TokenStream,
    event: TokenStream,
    frame: TokenStream,
    table: TokenStream,
    activity: TokenStream,
    related: TokenStream,
    count: TokenStream,
}

impl Names {
    fn new() -> Self {
        Self {
            provider: quote_spanned!(Span::mixed_site()=> provider),
            event: quote_spanned!(Span::mixed_site()=> event),
            frame: quote_spanned!(Span::mixed_site()=> frame),
            table: quote_spanned!(Span::mixed_site()=> table),
            activity: quote_spanned!(Span::mixed_site()=> activity),
            related: quote_spanned!(Span::mixed_site()=> related),
            count: quote_spanned!(Span::mixed_site()=> count),
        }
    }
}

/// A parameter of a function, and its argument.
struct Passed {
    name: TokenStream,
    kind: TokenStream,
    argument: TokenStream,
}

impl Passed {
    fn new(name: &TokenStream, kind: TokenStream, argument: TokenStream) -> Self {
        Self { name: name.clone(), kind, argument }
    }

    /// A parameter whose argument has the same name.
    fn on(name: &TokenStream, kind: TokenStream) -> Self {
        Self::new(name, kind, name.clone())
    }
}

/// Generates the functions for these fields. `provider` and the event's static must be in scope at the call.
pub(super) fn writer(fields: &[Field], ids: Ids) -> Writer {
    let payload = payload(fields);
    let registers: usize = payload.parameters.iter().map(|parameter| 1 + usize::from(parameter.is_slice)).sum();
    let has_ids = ids.activity.is_some() || ids.related.is_some();
    if has_ids {
        return shared_part(payload, ids);
    }
    if registers < REGISTERS {
        return shared_whole(payload);
    }
    match from_library(&payload) {
        Some(body) => own_part(payload, &body),
        None => shared_part(payload, ids),
    }
}

/// The call of the library function that writes such a payload, or `None` if there is none.
fn from_library(payload: &Payload) -> Option<TokenStream> {
    let provider = Names::new().provider;
    let [group] = payload.groups.as_slice() else {
        return None;
    };
    let values = group.values();
    let mut slices = payload.parameters.iter().filter(|parameter| parameter.is_slice);
    match (slices.next(), slices.next(), payload.descriptors.len()) {
        (None, None, 1) => Some(quote!(__wdk_etw::__private::write_values(#provider, &__WDK_ETW_EVENT, #values))),
        (Some(slice), None, 2) => {
            let kind = slice.counted_as.as_ref()?;
            let name = &slice.name;
            Some(quote!(__wdk_etw::__private::write_text::<#kind, _, _>(#provider, &__WDK_ETW_EVENT, #values, #name)))
        }
        _ => None,
    }
}

/// A function of the event's own that calls the library.
fn own_part(payload: Payload, body: &TokenStream) -> Writer {
    let passed: Vec<Passed> = payload.parameters.into_iter().map(Parameter::pass).collect();
    written(&passed, body)
}

/// One function that takes the fields and the event.
fn shared_whole(payload: Payload) -> Writer {
    let names = Names::new();
    let Names { event, frame, table, .. } = &names;
    let ids = quote!(__wdk_etw::__private::Ids::NONE);
    let body = body(&payload, &names, &ids, &quote!(__wdk_etw::__private::CountArg::constant()));
    // Without fields, sharing would save less than passing the event costs.
    let is_shared = !payload.parameters.is_empty();
    let own_event = (!is_shared).then(|| quote!(let #event = __WDK_ETW_EVENT.opaque();));
    let enter = enter(&payload.groups, payload.descriptors.len(), &quote!(|#frame, #table| { #own_event #body }));
    let mut passed: Vec<Passed> = payload.parameters.into_iter().map(Parameter::pass).collect();
    if is_shared {
        passed.push(Passed::new(event, event_type(), quote!(__WDK_ETW_EVENT.opaque())));
    }
    written(&passed, &enter)
}

/// A function of the event's own that calls a shared function.
fn shared_part(payload: Payload, ids: Ids) -> Writer {
    let names = Names::new();
    let Names { provider, frame, table, activity, related, .. } = &names;
    let shared = Shared::new(&payload, &ids, &names);
    let body = body(&payload, &names, &shared.ids, &names.count);
    let Lists { parameters: shared_list, arguments: shared_arguments, attribute: shared_attribute } =
        lists(&shared.parameters);
    let send = quote!(|#frame, #table| __wdk_etw_send(#provider, #shared_arguments));
    let enter = enter(&payload.groups, payload.descriptors.len(), &send);

    let id = |name: &TokenStream, bytes: Option<TokenStream>| {
        bytes.map(|bytes| Passed::new(name, quote!(&[::core::primitive::u8; 16]), quote!(&#bytes)))
    };
    // Ids are evaluated before fields.
    let own_ids = [id(activity, ids.activity), id(related, ids.related)].into_iter().flatten();
    let own: Vec<Passed> = own_ids.chain(payload.parameters.into_iter().map(Parameter::pass)).collect();
    let Writer { functions: own_function, call } = written(&own, &enter);
    let functions = quote! {
        #own_function
        #[cold]
        #[inline(never)]
        #shared_attribute
        fn __wdk_etw_send<'wdk_etw, M: __wdk_etw::Mode>(
            #provider: &__wdk_etw::Provider<M>,
            #shared_list
        ) -> M::Status {
            #body
        }
    };
    Writer { functions, call }
}

/// The event's own function, and its call.
fn written(passed: &[Passed], body: &TokenStream) -> Writer {
    let provider = Names::new().provider;
    let Lists { parameters: list, arguments, attribute } = lists(passed);
    let functions = quote! {
        #[cold]
        #[inline(never)]
        #attribute
        fn __wdk_etw_write<M: __wdk_etw::Mode>(#provider: &__wdk_etw::Provider<M>, #list) -> M::Status {
            #body
        }
    };
    Writer { functions, call: quote!(__wdk_etw_write(#provider, #arguments)) }
}

/// The function that writes a scope's stop event with these fields, and its call. Stop events share no functions: the
/// function assembles their metadata from that of the scope's event and that of the fields.
pub(super) fn stop_writer(fields: &[Field]) -> Writer {
    let payload = payload(fields);
    let names = Names::new();
    let Names { provider, frame, table, .. } = &names;
    let scope = quote_spanned!(Span::mixed_site()=> scope);
    let stop = quote_spanned!(Span::mixed_site()=> stop);
    let buffer = quote_spanned!(Span::mixed_site()=> buffer);
    let metadata = quote_spanned!(Span::mixed_site()=> metadata);
    let result = quote_spanned!(Span::mixed_site()=> result);
    let values = payload.groups.iter().map(Group::value);
    let count = METADATA_DESCRIPTORS + 1 + payload.descriptors.len();
    let groups = (0..payload.groups.len()).map(group_name);
    let statements = &payload.statements;
    let descriptors = &payload.descriptors;
    let body = quote! {
        let ::core::option::Option::Some(#stop) = #scope.into_stop() else {
            return <M::Status as __wdk_etw::Status>::SUCCESS;
        };
        let mut #buffer = __wdk_etw::__private::StopMetadata::<__WDK_ETW_SIZE>::new();
        let #metadata = #buffer.join(#stop.event, __WDK_ETW_FIELDS);
        let #provider = #stop.provider;
        __wdk_etw::__private::Frame::<_, #count>::enter((#stop.result, #(#values,)*), |#frame, #table| {
            let ids = __wdk_etw::__private::Ids {
                activity: ::core::option::Option::Some(&#stop.id),
                related: ::core::option::Option::None,
            };
            let count = __wdk_etw::__private::CountArg::constant();
            #frame.send(#provider, #stop.event, ids, count, #table, |(#result, #(#groups,)*)| {
                #(#statements)*
                ::core::option::Option::Some([
                    #provider.traits_descriptor(),
                    #metadata,
                    __wdk_etw::__private::value_descriptor(#result),
                    #(#descriptors),*
                ])
            })
        })
    };
    let passed: Vec<Passed> = payload.parameters.into_iter().map(Parameter::pass).collect();
    let Lists { parameters: list, arguments, attribute } = lists(&passed);
    let functions = quote! {
        #[cold]
        #[inline(never)]
        #attribute
        fn __wdk_etw_write<M: __wdk_etw::Mode, R: __wdk_etw::ActivityResult>(
            #scope: __wdk_etw::ActivityScope<M, R>,
            #list
        ) -> M::Status {
            #body
        }
    };
    Writer { functions, call: quote!(__wdk_etw_write(#scope, #arguments)) }
}

/// The parameters of a shared function, without the provider. The provider is a constant in each function, so the
/// optimiser does not pass it. In order: frame, event, two registers (a slice or the ids), the number of descriptors,
/// the table, and the rest on the stack.
struct Shared {
    parameters: Vec<Passed>,
    /// An expression of type `Ids`.
    ids: TokenStream,
}

impl Shared {
    fn new(payload: &Payload, ids: &Ids, names: &Names) -> Self {
        let Names { event, frame, table, activity, related, count, .. } = names;
        let descriptors = METADATA_DESCRIPTORS + payload.descriptors.len();
        let groups = payload.groups.iter().map(Group::kind);
        let id_type = || quote!(::core::option::Option<&[::core::primitive::u8; 16]>);
        let given = |name: &TokenStream, id: &Option<TokenStream>| {
            let some = quote!(::core::option::Option::Some(#name));
            let value = if id.is_some() { some } else { quote!(__wdk_etw::__private::no_id()) };
            Passed::new(name, id_type(), value)
        };
        let mut parameters = vec![
            Passed::on(frame, quote!(__wdk_etw::__private::FrameMut<'wdk_etw, (#(#groups,)*), #descriptors>)),
            Passed::new(event, event_type(), quote!(__WDK_ETW_EVENT.opaque())),
        ];
        let mut slices = payload.parameters.iter().filter(|parameter| parameter.is_slice);
        let first = slices.next();
        match first {
            Some(slice) => parameters.push(Passed::on(&slice.name, slice.kind.clone())),
            // No slice needs the two registers, so they hold the ids, which the system expects there.
            None => parameters.extend([given(activity, &ids.activity), given(related, &ids.related)]),
        }
        let count_type = quote!(__wdk_etw::__private::CountArg<#descriptors>);
        parameters.push(Passed::new(count, count_type, quote!(__wdk_etw::__private::CountArg::passed())));
        parameters.push(Passed::on(table, quote!(__wdk_etw::__private::TableArg<'wdk_etw>)));
        parameters.extend(slices.map(|slice| Passed::on(&slice.name, slice.kind.clone())));
        // The registers are in use. Ids follow the slices, and only if the event has them.
        let mut behind = |name: &TokenStream, id: &Option<TokenStream>| {
            if first.is_none() {
                name.clone()
            } else if id.is_some() {
                parameters.push(given(name, id));
                name.clone()
            } else {
                quote!(::core::option::Option::None)
            }
        };
        let activity = behind(activity, &ids.activity);
        let related = behind(related, &ids.related);
        let ids = quote!(__wdk_etw::__private::Ids { activity: #activity, related: #related });
        Self { parameters, ids }
    }
}

impl Parameter {
    fn pass(self) -> Passed {
        Passed { name: self.name, kind: self.kind, argument: self.argument }
    }
}

fn event_type() -> TokenStream {
    quote!(&'static __wdk_etw::__private::Event)
}

/// What the values that a function gets look like in its declaration and in its call.
struct Lists {
    parameters: TokenStream,
    arguments: TokenStream,
    /// Allows many parameters, if there are many.
    attribute: Option<TokenStream>,
}

fn lists(passed: &[Passed]) -> Lists {
    let names = passed.iter().map(|each| &each.name);
    let kinds = passed.iter().map(|each| &each.kind);
    let arguments = passed.iter().map(|each| &each.argument);
    // The provider is an additional parameter.
    let attribute = (passed.len() >= LINTED_PARAMETERS)
        .then(|| quote!(#[allow(clippy::too_many_arguments, reason = "one for each field")]));
    Lists { parameters: quote!(#(#names: #kinds),*), arguments: quote!(#(#arguments),*), attribute }
}

/// An expression that creates a frame with the values of the groups and calls `send` with it.
fn enter(groups: &[Group], descriptors: usize, send: &TokenStream) -> TokenStream {
    let values = groups.iter().map(Group::value);
    let count = METADATA_DESCRIPTORS + descriptors;
    quote!(__wdk_etw::__private::Frame::<_, #count>::enter((#(#values,)*), #send))
}

/// The expression that fills in a frame and writes the event.
fn body(payload: &Payload, names: &Names, ids: &TokenStream, count: &TokenStream) -> TokenStream {
    let Names { provider, event, frame, table, .. } = names;
    let groups = (0..payload.groups.len()).map(group_name);
    let statements = &payload.statements;
    let descriptors = &payload.descriptors;
    quote! {
        #frame.send(#provider, #event, #ids, #count, #table, |(#(#groups,)*)| {
            #(#statements)*
            ::core::option::Option::Some([#provider.traits_descriptor(), #event.metadata(), #(#descriptors),*])
        })
    }
}
