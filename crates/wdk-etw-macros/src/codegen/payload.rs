//! An event's payload: the arguments of the outlined function and the descriptors it builds from them.
//!
//! Scalars travel by value, slices as slices. Adjacent fixed-size pieces (scalars, counts, terminators) share a descriptor.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Expr;

use super::at;
use super::packing::{Packed, Piece, pack};
use crate::model::{Cut, Field, Shape, ValueType};

/// The expansion of an event's payload.
#[derive(Default)]
pub(super) struct Payload {
    /// What the outlined function is given.
    pub(super) parameters: Vec<Parameter>,
    /// Statements that store what is known from the start.
    pub(super) stores: Vec<TokenStream>,
    /// Statements that prepare the rest.
    pub(super) statements: Vec<TokenStream>,
    /// Expressions of type `EventDataDescriptor`.
    pub(super) descriptors: Vec<TokenStream>,
    /// Fixed-size pieces that wait to share a descriptor.
    open: Vec<Piece>,
}

/// A parameter of the outlined function, and what the call gives it.
pub(super) struct Parameter {
    /// The pattern: a name.
    pub(super) name: TokenStream,
    /// The type.
    pub(super) kind: TokenStream,
    /// The argument: the user's expression, converted.
    pub(super) argument: TokenStream,
}

/// The payload of all fields.
pub(super) fn payload(fields: &[Field]) -> Payload {
    let mut payload = Payload::default();
    for (index, field) in fields.iter().enumerate() {
        if let Some(value) = &field.value {
            let name = Ident::new(&format!("field{index}"), Span::mixed_site());
            payload.field(&name, field, value);
        }
    }
    payload.close();
    payload
}

impl Payload {
    fn field(&mut self, name: &Ident, field: &Field, value: &Expr) {
        let span = at(field.span);
        match field.shape {
            Shape::Scalar(kind) => {
                let kind = rust_type(kind);
                let argument = quote_spanned!(span=> ::wdk_etw::__private::value::<#kind>(#value));
                self.fixed(name, kind, argument);
            }
            Shape::Time32 => self.filetime(
                name,
                quote_spanned!(span=> ::wdk_etw::__private::filetime_from_time32(
                    ::wdk_etw::__private::value::<::core::primitive::i32>(#value))),
            ),
            Shape::Time64 => self.filetime(
                name,
                quote_spanned!(span=> ::wdk_etw::__private::filetime_from_time64(
                    ::wdk_etw::__private::value::<::core::primitive::i64>(#value))),
            ),
            Shape::SystemTime => self.filetime(name, system_time(span, value)),
            Shape::NtStatus => self.fixed(
                name,
                quote!(::core::primitive::u32),
                quote_spanned!(span=> ::wdk_etw::__private::ntstatus(#value)),
            ),
            Shape::Pointer => self.fixed(
                name,
                quote!(::core::primitive::usize),
                quote_spanned!(span=> ::wdk_etw::__private::address(#value)),
            ),
            Shape::Ipv6 => {
                let kind = quote!([::core::primitive::u8; 16]);
                self.open.push(Piece::Ready(quote!(16_u16)));
                let argument = quote_spanned!(span=> ::wdk_etw::__private::value::<#kind>(#value));
                self.fixed(name, kind, argument);
            }
            Shape::Slice(kind) => {
                self.slice(name, &rust_type(kind), span, value);
                self.statements.push(quote!(let #name = ::wdk_etw::__private::elements(#name);));
                self.open.push(Piece::Count(quote!(::wdk_etw::__private::element_count(#name))));
                self.bytes(name);
            }
            Shape::Counted(cut) => {
                let (kind, function) = match cut {
                    Cut::Utf8 => (ValueType::U8, quote!(utf8)),
                    Cut::Utf16 => (ValueType::U16, quote!(utf16)),
                    Cut::Bytes => (ValueType::U8, quote!(elements)),
                };
                self.slice(name, &rust_type(kind), span, value);
                self.statements.push(quote!(let #name = ::wdk_etw::__private::#function(#name);));
                self.open.push(Piece::Count(quote!(::wdk_etw::__private::byte_count(#name))));
                self.bytes(name);
            }
            Shape::UnicodeString | Shape::AnsiString => {
                let function = if field.shape == Shape::UnicodeString { "unicode_string" } else { "ansi_string" };
                let function = Ident::new(function, span);
                self.parameter(
                    name,
                    quote!(&[::core::primitive::u8]),
                    quote_spanned!(span=> ::wdk_etw::__private::#function(#value)),
                );
                self.open.push(Piece::Count(quote!(::wdk_etw::__private::byte_count(#name))));
                self.bytes(name);
            }
            Shape::CStr(kind) => {
                let kind = rust_type(kind);
                self.slice(name, &kind, span, value);
                self.statements.push(quote!(let #name = ::wdk_etw::__private::until_nul(#name);));
                self.bytes(name);
                self.open.push(Piece::Ready(quote!(<#kind as ::core::default::Default>::default())));
            }
            Shape::Sid => {
                self.slice(name, &rust_type(ValueType::U8), span, value);
                self.statements.push(quote! {
                    let ::core::option::Option::Some(#name) = ::wdk_etw::__private::sid(#name) else {
                        return <M::Status as ::wdk_etw::Status>::INVALID_SID;
                    };
                });
                self.bytes(name);
            }
            Shape::RawField(_) | Shape::RawData => {
                self.slice(name, &rust_type(ValueType::U8), span, value);
                self.statements.push(quote!(let #name = ::wdk_etw::__private::elements(#name);));
                self.bytes(name);
            }
            Shape::Struct | Shape::RawStruct(_) | Shape::RawMeta(_) => {}
        }
    }

    fn parameter(&mut self, name: &Ident, kind: TokenStream, argument: TokenStream) {
        self.parameters.push(Parameter { name: quote!(#name), kind, argument });
    }

    /// A parameter of fixed size, passed by value.
    fn fixed(&mut self, name: &Ident, kind: TokenStream, argument: TokenStream) {
        self.parameter(name, kind, argument);
        self.open.push(Piece::Ready(quote!(#name)));
    }

    fn filetime(&mut self, name: &Ident, argument: TokenStream) {
        self.fixed(name, quote!(::core::primitive::i64), argument);
    }

    /// A parameter that is a slice; whatever is `AsRef` of it is taken.
    fn slice(&mut self, name: &Ident, element: &TokenStream, span: Span, value: &Expr) {
        let argument = quote_spanned!(span=> ::core::convert::AsRef::<[#element]>::as_ref(#value));
        self.parameter(name, quote!(&[#element]), argument);
    }

    /// A descriptor for the elements of a slice.
    fn bytes(&mut self, name: &Ident) {
        self.close();
        self.descriptors.push(quote!(::wdk_etw::__private::slice_descriptor(#name)));
    }

    /// A descriptor for the waiting fixed-size pieces.
    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let packed = format_ident!("packed{}", self.descriptors.len(), span = Span::mixed_site());
        let Packed { early, late } = pack(&packed, &self.open);
        self.stores.push(early);
        self.statements.push(late);
        self.descriptors.push(quote!(::wdk_etw::__private::value_descriptor(&#packed)));
        self.open.clear();
    }
}

/// A `SystemTime` as FILETIME. The type is named only here, so that only users of the field need `std`.
fn system_time(span: Span, value: &Expr) -> TokenStream {
    quote_spanned! {span=>
        match ::std::time::SystemTime::duration_since(#value, ::std::time::SystemTime::UNIX_EPOCH) {
            ::core::result::Result::Ok(after) => ::wdk_etw::__private::filetime_from_duration_after_1970(after),
            ::core::result::Result::Err(before) =>
                ::wdk_etw::__private::filetime_from_duration_before_1970(before.duration()),
        }
    }
}

fn rust_type(kind: ValueType) -> TokenStream {
    match kind {
        ValueType::Bool => quote!(::core::primitive::bool),
        ValueType::I8 => quote!(::core::primitive::i8),
        ValueType::U8 => quote!(::core::primitive::u8),
        ValueType::I16 => quote!(::core::primitive::i16),
        ValueType::U16 => quote!(::core::primitive::u16),
        ValueType::I32 => quote!(::core::primitive::i32),
        ValueType::U32 => quote!(::core::primitive::u32),
        ValueType::I64 => quote!(::core::primitive::i64),
        ValueType::U64 => quote!(::core::primitive::u64),
        ValueType::Isize => quote!(::core::primitive::isize),
        ValueType::Usize => quote!(::core::primitive::usize),
        ValueType::F32 => quote!(::core::primitive::f32),
        ValueType::F64 => quote!(::core::primitive::f64),
        ValueType::Guid => quote!(::wdk_etw::Guid),
        ValueType::Ipv4 => quote!([::core::primitive::u8; 4]),
        ValueType::SystemTime => quote!([::core::primitive::u16; 8]),
    }
}
