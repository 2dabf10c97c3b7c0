//! What is known about the payloads of a schema before they are walked.

use etw_manifest::{Encoding, EventSchema, Extent, Field, PointerSize};
use etw_types::InType;

use super::flat_values::{FixedValues, NumberPlace};

/// Number of values and structs that any event may have, and how many more per byte of its payload. Structs and empty data take
/// no payload bytes, and a few bytes must not expand to a lot of text.
pub(super) const FREE_VALUES: usize = 2048;
pub(super) const VALUES_PER_BYTE: usize = 8;
/// The same limits for the bytes of field names.
pub(super) const FREE_NAMES: usize = 0x2_0000;
pub(super) const NAMES_PER_BYTE: usize = 64;

/// What is computed once per schema rather than for every event.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// For each field of the schema, its encoding if it is a single number.
    pub(super) numbers: Box<[Option<InType>]>,
    /// Whether a field gives the count or length of another.
    pub(super) has_counts: bool,
    /// Whether every field of the event is a single value or an array of numbers.
    is_flat: bool,
    /// The numbers that the event starts with, if no field gives the count or length of another.
    first: Box<[NumberPlace]>,
    /// The total size of these numbers in the payload, and of their names, in bytes.
    first_bytes: usize,
    pub(super) first_names: usize,
    /// The encoding of an array that follows them as the last field and takes the rest of the payload, and its size.
    array: Option<(InType, usize)>,
    /// Whether the event has no other fields, and their names are within the limit.
    is_fixed: bool,
}

impl Plan {
    pub(super) fn new(schema: &EventSchema, pointer: PointerSize) -> Self {
        let number = |field: &Field| match field.encoding {
            _ if field.count != Extent::None => None,
            Encoding::Pointer | Encoding::Size => Some(in_type_of(field.encoding, pointer)),
            Encoding::Value(in_type) => in_type.fixed_size().map(|_| in_type),
            _ => None,
        };
        let by_field =
            |field: &Field| matches!((field.count, field.length), (Extent::Field(_), _) | (_, Extent::Field(_)));
        let numbers: Box<[Option<InType>]> = schema.fields.iter().map(number).collect();
        let has_counts = schema.fields.iter().any(by_field);
        let most = if has_counts { 0 } else { schema.top_level.min(FREE_VALUES) };
        let mut first_bytes = 0;
        let place = |number: &Option<InType>| {
            let in_type = (*number)?;
            let offset = first_bytes;
            first_bytes += in_type.fixed_size()?;
            Some(NumberPlace { offset, in_type })
        };
        let first: Box<[NumberPlace]> = numbers.iter().take(most).map_while(place).collect();
        let first_names = schema.fields.iter().take(first.len()).map(|field| field.name.len()).sum();
        let last = schema.fields.get(first.len()).filter(|_| first.len() + 1 == schema.top_level && !has_counts);
        let array = last.and_then(|field| match field.encoding {
            Encoding::Char16 | Encoding::Char8 => None,
            _ if field.count != Extent::Rest => None,
            encoding => in_type_of(encoding, pointer).fixed_size().map(|size| (in_type_of(encoding, pointer), size)),
        });
        let all = first.len() + usize::from(array.is_some());
        let names: usize = schema.fields.iter().take(all).map(|field| field.name.len()).sum();
        let is_fixed = all == schema.top_level && names <= FREE_NAMES;
        let is_single = |field: &Field| match field.encoding {
            Encoding::Char16 | Encoding::Char8 | Encoding::Pointer | Encoding::Size => true,
            Encoding::Struct { .. } => false,
            Encoding::Value(in_type) if in_type.fixed_size().is_some() => true,
            _ => field.count == Extent::None,
        };
        let is_flat = schema.fields.iter().take(schema.top_level).all(is_single);
        Self { numbers, has_counts, is_flat, first, first_bytes, first_names, array, is_fixed }
    }

    /// Returns whether every field of the event is a single value or an array of numbers.
    pub(super) const fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Returns the values of all fields and whether they cover the payload, if the fields are numbers, and possibly an array after
    /// them, and the payload has all of them.
    #[inline]
    pub(super) fn fixed<'a>(&self, payload: &'a [u8]) -> Option<(FixedValues<'_, 'a>, bool)> {
        let rest = payload.get(self.first_bytes..).filter(|_| self.is_fixed)?;
        let Some((in_type, size)) = self.array else {
            return Some((FixedValues::new(&self.first, payload, None), rest.is_empty()));
        };
        // All sizes are powers of two. Whether an empty array is a field depends on the schema.
        let is_array = !rest.is_empty() && rest.len() & (size - 1) == 0;
        is_array.then(|| (FixedValues::new(&self.first, payload, Some((in_type, rest))), true))
    }

    /// Returns the numbers that a payload starts with, if the payload has all of them and their names are within the limit.
    pub(super) fn first(&self, payload: &[u8]) -> &[NumberPlace] {
        if payload.len() >= self.first_bytes && self.first_names <= FREE_NAMES { &self.first } else { &[] }
    }
}

/// Returns the closest TraceLogging encoding.
pub(super) fn in_type_of(encoding: Encoding, pointer: PointerSize) -> InType {
    match (encoding, pointer) {
        (Encoding::Value(in_type), _) => in_type,
        (Encoding::Pointer, PointerSize::Eight) => InType::Hex64,
        (Encoding::Pointer, PointerSize::Four) => InType::Hex32,
        (Encoding::Size, PointerSize::Eight) => InType::U64,
        (Encoding::Size, PointerSize::Four) => InType::U32,
        (Encoding::Char16 | Encoding::Rest16, _) => InType::CStr16,
        (Encoding::Char8 | Encoding::Rest8, _) => InType::CStr8,
        (Encoding::ReversedStr16, _) => InType::Str16,
        (Encoding::ReversedStr8, _) => InType::Str8,
        (Encoding::TokenUser, _) => InType::Sid,
        (Encoding::Struct { .. }, _) => InType::Struct,
        _ => InType::Binary,
    }
}
