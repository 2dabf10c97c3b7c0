//! Rows of numbers that wait for their columns.
//!
//! The fields of most kernel events are numbers at fixed places of the payload. Such a payload is copied as it is, and the columns
//! take the numbers of many rows at once.

use std::sync::Arc;

use etw_etl::NumberPlace;
use etw_types::InType;

use super::column::Column;

/// Size of the waiting rows from which on the columns take them, in bytes. They still are in the processor's cache then.
const FULL: usize = 1 << 16;

/// Payloads of events with the same fields.
#[derive(Debug, Default)]
pub(super) struct Rows {
    places: Arc<[NumberPlace]>,
    /// Number of bytes of a row.
    width: usize,
    bytes: Vec<u8>,
}

impl Rows {
    /// Returns whether all of these numbers are integers, which rows can have.
    pub(super) fn are_possible(places: &[NumberPlace]) -> bool {
        let is_integer = |in_type| {
            matches!(in_type, InType::I8 | InType::I16 | InType::I32 | InType::I64 | InType::U8 | InType::U16)
                || matches!(in_type, InType::U32 | InType::U64 | InType::Hex32 | InType::Hex64)
        };
        places.iter().all(|place| is_integer(place.in_type))
    }

    /// Returns whether the rows have their numbers at these places, or there are no rows yet.
    pub(super) fn accept(&mut self, places: &Arc<[NumberPlace]>) -> bool {
        if Arc::ptr_eq(&self.places, places) {
            return true;
        }
        if self.bytes.is_empty() {
            self.width = places.last().map_or(0, |last| last.offset + last.in_type.fixed_size().unwrap_or_default());
            self.places = Arc::clone(places);
        }
        self.bytes.is_empty()
    }

    /// Adds a row from a payload that has all of its numbers, and returns its memory cost in bytes.
    #[inline]
    pub(super) fn push(&mut self, payload: &[u8]) -> usize {
        self.bytes.extend_from_slice(payload.get(..self.width).unwrap_or_default());
        self.width
    }

    /// Returns the memory of the rows in bytes.
    pub(super) const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the columns should take the rows.
    pub(super) const fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    /// Moves all rows to their columns, and returns the approximate memory cost in bytes.
    pub(super) fn settle(&mut self, columns: &mut [Column]) -> usize {
        let Self { places, width, bytes } = self;
        if bytes.is_empty() {
            return 0;
        }
        let cost =
            columns.iter_mut().zip(places.iter()).map(|(column, place)| take(column, *place, bytes, *width)).sum();
        bytes.clear();
        cost
    }
}

/// Adds the number at one place of each row to its column.
fn take(column: &mut Column, place: NumberPlace, rows: &[u8], width: usize) -> usize {
    match place.in_type {
        InType::U8 => column.extend(numbers(rows, width, place.offset, |raw| u8::from_le_bytes(raw).into())),
        InType::U16 => column.extend(numbers(rows, width, place.offset, |raw| u16::from_le_bytes(raw).into())),
        InType::U32 | InType::Hex32 => {
            column.extend(numbers(rows, width, place.offset, |raw| u32::from_le_bytes(raw).into()))
        }
        InType::I8 => column.extend(numbers(rows, width, place.offset, |raw| i8::from_le_bytes(raw).into())),
        InType::I16 => column.extend(numbers(rows, width, place.offset, |raw| i16::from_le_bytes(raw).into())),
        InType::I32 => column.extend(numbers(rows, width, place.offset, |raw| i32::from_le_bytes(raw).into())),
        _ => column.extend(numbers(rows, width, place.offset, i64::from_le_bytes)),
    }
}

fn numbers<const N: usize>(
    rows: &[u8],
    width: usize,
    offset: usize,
    number: impl Fn([u8; N]) -> i64 + Clone,
) -> impl ExactSizeIterator<Item = i64> + Clone {
    rows.chunks_exact(width)
        .map(move |row| row.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |raw| number(*raw)))
}
