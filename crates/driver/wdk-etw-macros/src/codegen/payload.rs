//! An event's payload: the parameters of the event's functions, and the descriptors that they build from them.
//!
//! Small values are passed by value, larger ones by reference, and slices as slices. Adjacent fixed-size pieces
//! (scalars, counts, terminators) share a descriptor.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::Expr;

use super::at;
use super::packing::{Group, Piece};
use crate::model::{Cut, Field, Shape, ValueType};

/// The expansion of an event's payload.
#[derive(Default)]
pub(super) struct Payload {
    /// The parameters of the event's function.
    pub(super) parameters: Vec<Parameter>,
    /// Groups of fixed-size values. Each group has one descriptor.
    pub(super) groups: Vec<Group>,
    /// Statements that prepare slices.
    pub(super) statements: Vec<TokenStream>,
    /// Expressions of type `EventDataDescriptor`. They refer to groups by the variables that [`group_name`] names.
    pub(super) descriptors: Vec<TokenStream>,
    /// Pieces that have not been added to a group yet.
    open: Group,
}

/// A parameter of the event's function, and its argument.
pub(super) struct Parameter {
    /// The parameter's name.
    pub(super) name: TokenStream,
    /// The type.
    pub(super) kind: TokenStream,
    /// The argument: the user's expression, converted.
    pub(super) argument: TokenStream,
    /// Whether it is a slice. A slice takes two registers, and its length is needed before it can be used.
    pub(super) is_slice: bool,
    /// The type in the library that describes how the slice is counted; `None` if there is none.
    pub(super) counted_as: Option<TokenStream>,
}

/// The variable that refers to a group.
pub(super) fn group_name(index: usize) -> Ident {
    format_ident!("group{index}", span = Span::mixed_site())
}

/// Generates the payload of all fields.
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
            Shape::Scalar(kind) => self.scalar(name, kind, span, value),
            Shape::Time32 => self.filetime(
                name,
                quote_spanned!(span=> __wdk_etw::__private::filetime_from_time32(
                    __wdk_etw::__private::value::<::core::primitive::i32>(#value))),
            ),
            Shape::Time64 => self.filetime(
                name,
                quote_spanned!(span=> __wdk_etw::__private::filetime_from_time64(
                    __wdk_etw::__private::value::<::core::primitive::i64>(#value))),
            ),
            Shape::SystemTime => self.filetime(name, system_time(span, value)),
            Shape::NtStatus => self.fixed(
                name,
                quote!(::core::primitive::u32),
                quote_spanned!(span=> __wdk_etw::__private::ntstatus(#value)),
            ),
            Shape::Pointer => self.fixed(
                name,
                quote!(::core::primitive::usize),
                quote_spanned!(span=> __wdk_etw::__private::address(#value)),
            ),
            Shape::Ipv6 => {
                self.constant(quote!(16_u16), quote!(::core::primitive::u16));
                self.large(name, &quote!([::core::primitive::u8; 16]), span, value);
            }
            Shape::Slice(kind) => {
                self.slice(name, &rust_type(kind), span, value);
                self.statements.push(quote!(let #name = __wdk_etw::__private::elements(#name);));
                let kind = rust_type(kind);
                self.named(quote!(__wdk_etw::__private::Elements<#kind>));
                self.counted(name, quote!(__wdk_etw::__private::element_count(#name)));
            }
            Shape::Counted(cut) => {
                let (kind, function, word) = match cut {
                    Cut::Utf8 => (ValueType::U8, quote!(utf8), quote!(Utf8)),
                    Cut::Utf16 => (ValueType::U16, quote!(utf16), quote!(Utf16)),
                    Cut::Bytes => (ValueType::U8, quote!(elements), quote!(Elements<::core::primitive::u8>)),
                };
                self.slice(name, &rust_type(kind), span, value);
                self.named(quote!(__wdk_etw::__private::#word));
                self.statements.push(quote!(let #name = __wdk_etw::__private::#function(#name);));
                self.counted(name, quote!(__wdk_etw::__private::byte_count(#name)));
            }
            Shape::UnicodeString | Shape::AnsiString => {
                let function = if field.shape == Shape::UnicodeString { "unicode_string" } else { "ansi_string" };
                let function = Ident::new(function, span);
                self.parameters.push(Parameter {
                    name: quote!(#name),
                    kind: quote!(&[::core::primitive::u8]),
                    argument: quote_spanned!(span=> __wdk_etw::__private::#function(#value)),
                    is_slice: true,
                    counted_as: None,
                });
                self.counted(name, quote!(__wdk_etw::__private::byte_count(#name)));
            }
            Shape::CStr(kind) => {
                let kind = rust_type(kind);
                self.slice(name, &kind, span, value);
                self.statements.push(quote!(let #name = __wdk_etw::__private::until_nul(#name);));
                self.bytes(name);
                self.constant(quote!(<#kind as ::core::default::Default>::default()), kind);
            }
            Shape::Sid => {
                self.slice(name, &rust_type(ValueType::U8), span, value);
                self.statements.push(quote!(let #name = __wdk_etw::__private::sid(#name)?;));
                self.bytes(name);
            }
            Shape::RawField(_) | Shape::RawData => {
                self.slice(name, &rust_type(ValueType::U8), span, value);
                self.statements.push(quote!(let #name = __wdk_etw::__private::elements(#name);));
                self.bytes(name);
            }
            Shape::Struct | Shape::RawStruct(_) | Shape::RawMeta(_) => {}
        }
    }

    fn scalar(&mut self, name: &Ident, value_type: ValueType, span: Span, value: &Expr) {
        let kind = rust_type(value_type);
        if matches!(value_type, ValueType::Guid | ValueType::SystemTime) {
            self.large(name, &kind, span, value);
        } else {
            let argument = quote_spanned!(span=> __wdk_etw::__private::value::<#kind>(#value));
            self.fixed(name, kind, argument);
        }
    }

    /// Adds a parameter of fixed size that is passed by value.
    fn fixed(&mut self, name: &Ident, kind: TokenStream, argument: TokenStream) {
        self.open.pieces.push(Piece { value: quote!(#name), kind: kind.clone() });
        self.parameters.push(Parameter { name: quote!(#name), kind, argument, is_slice: false, counted_as: None });
    }

    /// Adds a parameter of fixed size that does not fit in a register and is passed by reference.
    fn large(&mut self, name: &Ident, kind: &TokenStream, span: Span, value: &Expr) {
        let argument = quote_spanned!(span=> __wdk_etw::__private::reference::<#kind>(#value));
        self.open.pieces.push(Piece { value: quote!(*#name), kind: kind.clone() });
        self.parameters.push(Parameter {
            name: quote!(#name),
            kind: quote!(&#kind),
            argument,
            is_slice: false,
            counted_as: None,
        });
    }

    /// Adds a piece with a constant value.
    fn constant(&mut self, value: TokenStream, kind: TokenStream) {
        self.open.pieces.push(Piece { value, kind });
    }

    fn filetime(&mut self, name: &Ident, argument: TokenStream) {
        self.fixed(name, quote!(::core::primitive::i64), argument);
    }

    /// Adds a slice parameter. Accepts any value that implements `AsRef` for the slice.
    fn slice(&mut self, name: &Ident, element: &TokenStream, span: Span, value: &Expr) {
        let argument = quote_spanned!(span=> ::core::convert::AsRef::<[#element]>::as_ref(#value));
        let kind = quote!(&[#element]);
        self.parameters.push(Parameter { name: quote!(#name), kind, argument, is_slice: true, counted_as: None });
    }

    /// Sets how the last parameter is counted.
    fn named(&mut self, word: TokenStream) {
        if let Some(parameter) = self.parameters.last_mut() {
            parameter.counted_as = Some(word);
        }
    }

    /// Adds the length and the elements of a slice.
    fn counted(&mut self, name: &Ident, count: TokenStream) {
        self.open.count = Some(count);
        self.bytes(name);
    }

    /// Adds a descriptor for the elements of a slice.
    fn bytes(&mut self, name: &Ident) {
        self.close();
        self.descriptors.push(quote!(__wdk_etw::__private::slice_descriptor(#name)));
    }

    /// Adds a descriptor for the open fixed-size pieces.
    fn close(&mut self) {
        let group = core::mem::take(&mut self.open);
        if !group.is_empty() {
            let name = group_name(self.groups.len());
            self.descriptors.push(group.descriptor(&name));
            self.groups.push(group);
        }
    }
}

/// Converts a `SystemTime` to a FILETIME. Only this expansion names the type, so only users of the field need `std`.
fn system_time(span: Span, value: &Expr) -> TokenStream {
    quote_spanned! {span=>
        match ::std::time::SystemTime::duration_since(#value, ::std::time::SystemTime::UNIX_EPOCH) {
            ::core::result::Result::Ok(after) => __wdk_etw::__private::filetime_from_duration_after_1970(after),
            ::core::result::Result::Err(before) =>
                __wdk_etw::__private::filetime_from_duration_before_1970(before.duration()),
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
        ValueType::Guid => quote!(__wdk_etw::Guid),
        ValueType::Ipv4 => quote!([::core::primitive::u8; 4]),
        ValueType::SystemTime => quote!([::core::primitive::u16; 8]),
    }
}
