//! Neighbouring fixed-size pieces as one value: nested `Pair`s, which have no padding.
//!
//! Lengths are filled in later than the rest: they are known only when a text was cut, and cutting may be a call. Values
//! that are in memory before it need not be kept in registers across it.

use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::Index;

/// One piece of a packed value.
pub(super) enum Piece {
    /// An expression that is known from the start.
    Ready(TokenStream),
    /// An expression of type `u16` that is known when the value it counts was prepared.
    Count(TokenStream),
}

/// The statements that make one packed value.
pub(super) struct Packed {
    /// What can be stored at once.
    pub(super) early: TokenStream,
    /// What waits for the counts.
    pub(super) late: TokenStream,
}

/// Packs the pieces into a variable called `name`.
pub(super) fn pack(name: &Ident, pieces: &[Piece]) -> Packed {
    if let [Piece::Count(count)] = pieces {
        return Packed { early: TokenStream::new(), late: quote!(let #name = #count;) };
    }
    let mut late = TokenStream::new();
    let value = nest(pieces, &quote!(#name), &mut late);
    let early = if late.is_empty() { quote!(let #name = #value;) } else { quote!(let mut #name = #value;) };
    Packed { early, late }
}

/// The pieces as nested pairs, balanced so that the type stays shallow. `place` is where the result will be.
fn nest(pieces: &[Piece], place: &TokenStream, late: &mut TokenStream) -> TokenStream {
    match pieces {
        [] => quote!(()),
        [Piece::Ready(value)] => value.clone(),
        [Piece::Count(count)] => {
            late.extend(quote!(#place = #count;));
            quote!(0_u16)
        }
        _ => {
            let (left, right) = pieces.split_at(pieces.len().div_ceil(2));
            let (first, second) = (Index::from(0), Index::from(1));
            let left = nest(left, &quote!(#place.#first), late);
            let right = nest(right, &quote!(#place.#second), late);
            quote!(::wdk_etw::__private::Pair(#left, #right))
        }
    }
}
