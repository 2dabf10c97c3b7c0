//! An event's metadata: a literal if everything is known here, otherwise a constant made of pieces.

use etw_types::InType;
use etw_types::tracelogging::{encode_tag, tag_len};
use proc_macro2::{Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Expr;

use super::{at, values};
use crate::model::{Code, Event, Field, Tag};

/// The bit of a format byte that says that a tag follows.
const TAG_FOLLOWS: u8 = 0x80;

/// The expansion of an event's metadata.
pub(super) struct Metadata {
    /// Checks, and the constants that `bytes` refers to.
    pub(super) items: TokenStream,
    /// An expression of type `&'static [u8]`.
    pub(super) bytes: TokenStream,
}

/// Metadata that is being assembled.
#[derive(Default)]
struct Writer {
    /// Finished pieces, each an expression of type `Piece`.
    pieces: Vec<TokenStream>,
    /// Bytes since the last piece.
    bytes: Vec<u8>,
    /// Checks of constants.
    checks: TokenStream,
}

/// Generates the metadata of an event with the name and tag of `event` and these fields.
pub(super) fn metadata<'a>(event: &Event, fields: impl IntoIterator<Item = &'a Field>) -> Metadata {
    let mut writer = Writer::default();
    match &event.tag {
        Some(tag) => writer.tag(tag),
        None => writer.bytes.push(0),
    }
    writer.name(&event.name.value());
    for field in fields {
        writer.field(field);
    }
    writer.finish()
}

impl Writer {
    fn name(&mut self, name: &str) {
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
    }

    fn field(&mut self, field: &Field) {
        let Some(meta) = &field.meta else {
            return;
        };
        self.name(&meta.name);
        let chained = meta.out_type.is_some() || meta.tag.is_some();
        let array = if field.shape.is_array() { InType::VariableCountFlag } else { 0 };
        let chain = if chained { InType::ChainFlag } else { 0 };
        self.code(&meta.in_type, "InType", array | chain, field.span);
        if chained {
            let flags = if meta.tag.is_some() { TAG_FOLLOWS } else { 0 };
            let out_type = meta.out_type.as_ref().unwrap_or(&Code::Known(0));
            self.code(out_type, "OutType", flags, field.span);
        }
        if let Some(tag) = &meta.tag {
            self.tag(tag);
        }
    }

    /// Adds a type byte with its flags.
    fn code(&mut self, code: &Code, type_name: &str, flags: u8, span: Span) {
        if let Code::Known(value) = code {
            self.bytes.push(value | flags);
            return;
        }
        let value = values::typed(code, type_name, span);
        let span = at(span);
        if type_name == "OutType" {
            self.checks.extend(quote_spanned! {span=>
                const _: () = ::core::assert!(#value.as_int() < 0x80, "a format or a field count has 7 bits: 0 to 127");
            });
        }
        self.piece(quote_spanned!(span=> __wdk_etw::__private::Piece::Type(#value.as_int() | #flags)));
    }

    fn tag(&mut self, tag: &Tag) {
        match tag {
            Tag::Known(value) => {
                let encoded = encode_tag(*value);
                self.bytes.extend(encoded.iter().take(tag_len(*value)));
            }
            Tag::Value(span, value) => self.tag_value(*span, value),
        }
    }

    fn tag_value(&mut self, span: Span, value: &Expr) {
        let span = at(span);
        let value = quote_spanned!(span=> ::core::convert::identity::<::core::primitive::u32>(#value));
        self.checks.extend(quote_spanned! {span=>
            const _: () = ::core::assert!(#value <= 0x0FFF_FFFF, "a tag has 28 bits: 0 to 0x0FFFFFFF");
        });
        self.piece(quote_spanned!(span=> __wdk_etw::__private::Piece::Tag(#value)));
    }

    /// Ends the current run of bytes and adds a piece.
    fn piece(&mut self, piece: TokenStream) {
        self.flush();
        self.pieces.push(piece);
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = Literal::byte_string(&self.bytes);
            self.pieces.push(quote!(__wdk_etw::__private::Piece::Bytes(#bytes)));
            self.bytes.clear();
        }
    }

    fn finish(mut self) -> Metadata {
        if self.pieces.is_empty() {
            let size = self.bytes.len() + size_of::<u16>();
            // The model rejects longer metadata.
            let size = u16::try_from(size).unwrap_or(u16::MAX);
            let mut blob = size.to_le_bytes().to_vec();
            blob.append(&mut self.bytes);
            let bytes = Literal::byte_string(&blob);
            return Metadata { items: TokenStream::new(), bytes: quote!(#bytes) };
        }
        self.flush();
        let Self { pieces, checks, .. } = self;
        let items = quote! {
            #checks
            const __WDK_ETW_PIECES: &[__wdk_etw::__private::Piece<'static>] = &[#(#pieces),*];
            const __WDK_ETW_METADATA: &[::core::primitive::u8;
                __wdk_etw::__private::pieces_len(__WDK_ETW_PIECES)] =
                &__wdk_etw::__private::metadata(__WDK_ETW_PIECES);
        };
        Metadata { items, bytes: quote!(__WDK_ETW_METADATA) }
    }
}
