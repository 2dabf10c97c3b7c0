//! Event metadata as constants.

use super::tag::{encode_tag, tag_len};
use crate::bytes::Appender;

/// A piece of event metadata. The macros emit what they know as bytes and leave to constants what is an expression.
#[derive(Clone, Copy, Debug)]
pub enum Piece<'a> {
    /// Bytes that are already encoded: names with their NUL, types.
    Bytes(&'a [u8]),
    /// A tag.
    Tag(u32),
    /// One type byte.
    Type(u8),
}

/// Length of the metadata made of `pieces`, its size prefix included.
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

/// The metadata made of `pieces`, its size prefix included. `N` must be [`pieces_len`].
///
/// `None` where `N` is another number or more than 65535: in a constant, a compile error of the caller's making.
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
