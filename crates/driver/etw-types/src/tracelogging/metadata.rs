//! Encodes event metadata in constants.

use super::tag::{encode_tag, tag_len};
use crate::bytes::Appender;

/// A piece of event metadata. The macros emit known values as bytes and leave expressions to constant evaluation.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Bytes that are already encoded: names with their NUL, and types.
    Bytes(&'a [u8]),
    /// A tag.
    Tag(u32),
    /// One type byte.
    Type(u8),
}

/// Returns the length of the metadata made of `pieces`, including its size prefix.
#[must_use]
pub const fn pieces_len(pieces: &[Piece<'_>]) -> usize {
    let mut length = 2;
    let mut rest = pieces;
    while let [piece, tail @ ..] = rest {
        length += match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Tag(tag) => tag_len(*tag),
            Piece::Type(_) => 1,
        };
        rest = tail;
    }
    length
}

/// Encodes the metadata made of `pieces`, including its size prefix. `N` must be [`pieces_len`].
///
/// Returns `None` if `N` is a different number or exceeds 65535. The caller can turn that into a compile error.
#[must_use]
pub const fn encode_pieces<const N: usize>(pieces: &[Piece<'_>]) -> Option<[u8; N]> {
    if N != pieces_len(pieces) || N > super::MAX_METADATA_SIZE {
        return None;
    }
    let mut metadata = [0; N];
    let mut out = Appender::new(&mut metadata);
    #[expect(clippy::cast_possible_truncation, reason = "checked above: at most 65535")]
    out.push(&(N as u16).to_le_bytes());
    let mut rest = pieces;
    while let [piece, tail @ ..] = rest {
        match piece {
            Piece::Bytes(bytes) => out.push(bytes),
            Piece::Tag(tag) => push_tag(&mut out, *tag),
            Piece::Type(kind) => out.push(&[*kind]),
        }
        rest = tail;
    }
    if out.overflowed() { None } else { Some(metadata) }
}

/// Appends an encoded tag.
pub(super) const fn push_tag(out: &mut Appender<'_>, tag: u32) {
    let encoded = encode_tag(tag);
    if let Some((bytes, _)) = encoded.split_at_checked(tag_len(tag)) {
        out.push(bytes);
    }
}
