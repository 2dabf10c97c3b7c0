//! Combines adjacent fixed-size pieces into one value: tuples without padding, with a place for the length of the data
//! that follows them.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// Maximum number of values in a tuple. The last value can be another tuple.
const WIDEST: usize = 8;

/// One piece of a group.
pub(super) struct Piece {
    /// An expression that can be evaluated at the start.
    pub(super) value: TokenStream,
    /// Its type.
    pub(super) kind: TokenStream,
}

/// Pieces that share a descriptor.
#[derive(Default)]
pub(super) struct Group {
    pub(super) pieces: Vec<Piece>,
    /// An expression of type `u16` that follows the pieces: the length of the data after the group. It can be evaluated
    /// only after that data has been prepared.
    pub(super) count: Option<TokenStream>,
}

impl Group {
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.count.is_none()
    }

    /// The pieces as one value.
    pub(super) fn values(&self) -> TokenStream {
        nest(&self.pieces, |piece| &piece.value)
    }

    /// The group as a value, without its length.
    pub(super) fn value(&self) -> TokenStream {
        let values = self.values();
        if self.count.is_some() { quote!(__wdk_etw::__private::Counted::new(#values)) } else { values }
    }

    /// The type of that value.
    pub(super) fn kind(&self) -> TokenStream {
        let kinds = nest_kinds(&self.pieces);
        if self.count.is_some() { quote!(__wdk_etw::__private::Counted<#kinds>) } else { kinds }
    }

    /// The descriptor of the group. `name` is a variable that holds a mutable reference to it.
    pub(super) fn descriptor(&self, name: &Ident) -> TokenStream {
        if let Some(count) = &self.count {
            quote!(#name.close(#count))
        } else {
            quote!(__wdk_etw::__private::value_descriptor(#name))
        }
    }
}

fn nest(pieces: &[Piece], part: fn(&Piece) -> &TokenStream) -> TokenStream {
    match pieces {
        [] => quote!(()),
        [only] => part(only).clone(),
        _ => {
            let (shown, rest) = split(pieces);
            let parts = shown.iter().map(part);
            let tuple = tuple(shown.len() + usize::from(!rest.is_empty()));
            let rest = (!rest.is_empty()).then(|| nest(rest, part));
            quote!(__wdk_etw::__private::#tuple(#(#parts,)* #rest))
        }
    }
}

fn nest_kinds(pieces: &[Piece]) -> TokenStream {
    match pieces {
        [] => quote!(()),
        [only] => only.kind.clone(),
        _ => {
            let (shown, rest) = split(pieces);
            let parts = shown.iter().map(|piece| &piece.kind);
            let tuple = tuple(shown.len() + usize::from(!rest.is_empty()));
            let rest = (!rest.is_empty()).then(|| nest_kinds(rest));
            quote!(__wdk_etw::__private::#tuple<#(#parts,)* #rest>)
        }
    }
}

/// Splits the pieces into those of one tuple and those of the nested tuple at its end.
fn split(pieces: &[Piece]) -> (&[Piece], &[Piece]) {
    if pieces.len() <= WIDEST { (pieces, &[]) } else { pieces.split_at(WIDEST - 1) }
}

fn tuple(width: usize) -> Ident {
    format_ident!("Packed{width}")
}
