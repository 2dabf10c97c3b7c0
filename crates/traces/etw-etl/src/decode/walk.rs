//! Walks a payload using the schema of its event.
//!
//! The walk is generic over what it builds ([`Sink`]): the tree of fields, or nothing at all if only the bytes are counted.

use std::ffi::CStr;

use etw_manifest::{Encoding, EventSchema, Extent, Field, PointerSize, Source};
use etw_types::tracelogging::{DecodeError, Value};
use etw_types::{InType, OutType};

use super::flat_values::NumberPlace;
use super::plan::{FREE_NAMES, FREE_VALUES, NAMES_PER_BYTE, Plan, VALUES_PER_BYTE, in_type_of};
use crate::format::bytes::{array_at, u32_at};

/// Maximum nesting depth of structs.
const MAX_DEPTH: u32 = 8;
/// Number of fields whose values are remembered without allocating memory.
const FEW: usize = 16;

/// What a walk builds.
pub(super) trait Sink<'a> {
    /// The value of one field.
    type Node;
    /// The fields of one level.
    type Fields;

    fn value(&mut self, field: &Field, in_type: InType, value: Value<'a>) -> Self::Node;
    fn array(&mut self, field: &Field, nodes: Vec<Self::Node>) -> Self::Node;
    /// An array whose elements have an encoding of fixed size.
    fn numbers(&mut self, field: &Field, in_type: InType, bytes: &'a [u8]) -> Self::Node {
        let size = in_type.fixed_size().unwrap_or(1);
        let values = bytes.chunks_exact(size).filter_map(|bytes| Value::split(in_type, bytes));
        let nodes = values.map(|(value, _)| self.value(field, in_type, value)).collect();
        self.array(field, nodes)
    }
    fn structure(&mut self, fields: Self::Fields) -> Self::Node;
    fn begin(&mut self, fields: usize) -> Self::Fields;
    fn push(&mut self, fields: &mut Self::Fields, field: &Field, in_type: InType, node: Self::Node);
}

/// The result of a walk: the fields up to the end or to an error, and the remaining bytes.
pub(super) struct Walked<'a, F> {
    pub(super) fields: F,
    pub(super) rest: &'a [u8],
    pub(super) error: Option<DecodeError>,
}

/// Walks a payload using a schema and its plan.
pub(super) fn walk<'a, S: Sink<'a>>(
    schema: &EventSchema,
    plan: &Plan,
    pointer: PointerSize,
    payload: &'a [u8],
    sink: &mut S,
) -> Walked<'a, S::Fields> {
    let mut few = [0; FEW];
    let mut many = Vec::new();
    let count = if plan.has_counts { schema.fields.len() } else { 0 };
    let numbers = few.get_mut(..count).unwrap_or_else(|| {
        many.resize(count, 0);
        &mut many
    });
    let left = FREE_VALUES + VALUES_PER_BYTE * payload.len();
    let names = FREE_NAMES + NAMES_PER_BYTE * payload.len();
    let mut walk = Walk { schema, plan, pointer, payload, sink, numbers, left, names, in_type: InType::Invalid };
    let mut fields = walk.sink.begin(schema.top_level);
    let error = walk.event(&mut fields).err();
    Walked { fields, rest: walk.payload, error }
}

struct Walk<'a, 's, 'n, S> {
    schema: &'s EventSchema,
    plan: &'s Plan,
    pointer: PointerSize,
    payload: &'a [u8],
    sink: &'s mut S,
    /// The last integer value of each field, if any field gives the count or length of another.
    numbers: &'n mut [u64],
    left: usize,
    names: usize,
    /// The encoding of the last value.
    in_type: InType,
}

impl<'a, S: Sink<'a>> Walk<'a, '_, '_, S> {
    /// Walks the top-level fields of the event. Most kernel events start with several numbers. Their size and their names
    /// are checked once for all of them.
    fn event(&mut self, into: &mut S::Fields) -> Result<(), DecodeError> {
        let first = self.plan.first(self.payload);
        for (field, NumberPlace { in_type, .. }) in self.schema.fields.iter().zip(first) {
            let (value, rest) = Value::split(*in_type, self.payload).ok_or(DecodeError::Payload)?;
            self.payload = rest;
            let node = self.sink.value(field, *in_type, value);
            self.sink.push(into, field, *in_type, node);
        }
        if first.len() == self.schema.top_level {
            return Ok(());
        }
        if !first.is_empty() {
            self.left -= first.len();
            self.names -= self.plan.first_names;
        }
        self.fields(into, first.len(), self.schema.top_level - first.len(), 0)
    }

    fn fields(&mut self, into: &mut S::Fields, first: usize, count: usize, depth: u32) -> Result<(), DecodeError> {
        let schema = self.schema;
        let fields =
            schema.fields.get(first..).and_then(|rest| rest.get(..count)).ok_or(DecodeError::MissingStructFields)?;
        for (place, field) in (first..).zip(fields) {
            // The kernel appends fields without always increasing the version. An event that ends before such a field is older
            // than the class, not damaged.
            if self.payload.is_empty() && depth == 0 && place > 0 && schema.source == Source::BuiltIn {
                break;
            }
            self.names = self.names.checked_sub(field.name.len()).ok_or(DecodeError::TooManyValues)?;
            let node = match self.plan.numbers.get(place) {
                // The common case.
                Some(Some(in_type)) => {
                    self.left = self.left.checked_sub(1).ok_or(DecodeError::TooManyValues)?;
                    let (value, rest) = Value::split(*in_type, self.payload).ok_or(DecodeError::Payload)?;
                    self.payload = rest;
                    self.keep(place, field, *in_type, value)
                }
                _ => self.field(place, field, depth)?,
            };
            let in_type = self.in_type;
            self.sink.push(into, field, in_type, node);
        }
        Ok(())
    }

    fn field(&mut self, place: usize, field: &Field, depth: u32) -> Result<S::Node, DecodeError> {
        if matches!(field.encoding, Encoding::Char16 | Encoding::Char8) {
            return self.characters(field);
        }
        let count = match field.count {
            Extent::None => return self.one(place, field, depth),
            Extent::Rest => None,
            extent => Some(self.extent(extent)?),
        };
        let in_type = in_type_of(field.encoding, self.pointer);
        if let Some(size) = in_type.fixed_size() {
            return self.numbers(place, field, in_type, size, count);
        }
        let mut nodes = Vec::new();
        while count.map_or(!self.payload.is_empty(), |count| nodes.len() < count) {
            nodes.push(self.one(place, field, depth)?);
        }
        if nodes.is_empty() {
            self.in_type = in_type;
        }
        Ok(self.sink.array(field, nodes))
    }

    /// Decodes an array of values of a fixed size: `count` of them, or the rest of the payload.
    fn numbers(
        &mut self,
        place: usize,
        field: &Field,
        in_type: InType,
        size: usize,
        count: Option<usize>,
    ) -> Result<S::Node, DecodeError> {
        let bytes =
            count.map_or(Some(self.payload.len()), |count| count.checked_mul(size)).ok_or(DecodeError::Payload)?;
        if !bytes.is_multiple_of(size) {
            return Err(DecodeError::Payload);
        }
        let bytes = self.take(bytes)?;
        self.left = self.left.checked_sub(bytes.len() / size).ok_or(DecodeError::TooManyValues)?;
        let last = bytes.len().checked_sub(size).and_then(|last| Value::split(in_type, bytes.get(last..)?));
        if let Some((last, _)) = last {
            self.remember(place, last);
        }
        self.in_type = in_type;
        Ok(self.sink.numbers(field, in_type, bytes))
    }

    fn extent(&self, extent: Extent) -> Result<usize, DecodeError> {
        let number = match extent {
            Extent::Fixed(number) => number.into(),
            Extent::Field(place) => *self.numbers.get(usize::from(place)).ok_or(DecodeError::Payload)?,
            Extent::None | Extent::Rest => return Err(DecodeError::Payload),
        };
        usize::try_from(number).map_err(|_| DecodeError::Payload)
    }

    fn take(&mut self, bytes: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.payload.split_at_checked(bytes).ok_or(DecodeError::Payload)?;
        self.payload = rest;
        Ok(taken)
    }

    /// Decodes an array of characters as text, without its NUL padding.
    fn characters(&mut self, field: &Field) -> Result<S::Node, DecodeError> {
        let count = match field.count {
            Extent::None => 1,
            extent => self.extent(extent)?,
        };
        let is_wide = field.encoding == Encoding::Char16;
        let bytes = self.take(count.checked_mul(if is_wide { 2 } else { 1 }).ok_or(DecodeError::Payload)?)?;
        self.in_type = if is_wide { InType::CStr16 } else { InType::CStr8 };
        let value = if is_wide { Value::Utf16(without_nuls(bytes, 2)) } else { Value::Text(without_nuls(bytes, 1)) };
        Ok(self.sink.value(field, self.in_type, value))
    }

    /// Decodes one value or one struct.
    fn one(&mut self, place: usize, field: &Field, depth: u32) -> Result<S::Node, DecodeError> {
        self.left = self.left.checked_sub(1).ok_or(DecodeError::TooManyValues)?;
        if let Encoding::Struct { first, members } = field.encoding {
            if depth >= MAX_DEPTH {
                return Err(DecodeError::TooDeep);
            }
            let mut fields = self.sink.begin(members.into());
            self.fields(&mut fields, first.into(), members.into(), depth + 1)?;
            self.in_type = InType::Struct;
            return Ok(self.sink.structure(fields));
        }
        let (in_type, value) = self.value(field)?;
        Ok(self.keep(place, field, in_type, value))
    }

    /// Passes a value to the sink.
    fn keep(&mut self, place: usize, field: &Field, in_type: InType, value: Value<'a>) -> S::Node {
        self.remember(place, value);
        self.in_type = in_type;
        self.sink.value(field, in_type, value)
    }

    /// Remembers a number that may be the count or length of another field.
    fn remember(&mut self, place: usize, value: Value<'a>) {
        if let Some(kept) = self.numbers.get_mut(place) {
            *kept = match value {
                Value::Unsigned(number) | Value::Hex(number) => number,
                Value::Signed(number) => u64::try_from(number).unwrap_or(u64::MAX),
                _ => 0,
            };
        }
    }

    fn value(&mut self, field: &Field) -> Result<(InType, Value<'a>), DecodeError> {
        let payload = self.payload;
        let (value, rest) = match field.encoding {
            Encoding::Value(InType::CStr16) => {
                return self.text(field, 2).map(|text| (InType::CStr16, Value::Utf16(text)));
            }
            Encoding::Value(InType::CStr8) => {
                return self.text(field, 1).map(|text| (InType::CStr8, Value::Text(text)));
            }
            Encoding::Value(InType::Binary) => {
                let length = match field.length {
                    Extent::None if field.out == OutType::IPv6 => 16,
                    extent => self.extent(extent)?,
                };
                return self.take(length).map(|bytes| (InType::Binary, Value::Binary(bytes)));
            }
            Encoding::Value(in_type) => Value::split(in_type, payload).ok_or(DecodeError::Payload)?,
            Encoding::Pointer | Encoding::Size => {
                let in_type = in_type_of(field.encoding, self.pointer);
                Value::split(in_type, payload).ok_or(DecodeError::Payload)?
            }
            Encoding::ReversedStr16 | Encoding::ReversedStr8 => {
                let size = array_at(payload, 0).map(u16::from_be_bytes).ok_or(DecodeError::Payload)?;
                self.take(2)?;
                let text = self.take(size.into())?;
                let is_wide = field.encoding == Encoding::ReversedStr16 && text.len().is_multiple_of(2);
                (if is_wide { Value::Utf16(text) } else { Value::Text(text) }, self.payload)
            }
            Encoding::Rest16 if payload.len().is_multiple_of(2) => (Value::Utf16(payload), &[][..]),
            Encoding::Rest8 => (Value::Text(payload), &[][..]),
            Encoding::RestBytes => (Value::Binary(payload), &[][..]),
            Encoding::HexDump => {
                let size =
                    u32_at(payload, 0).and_then(|size| usize::try_from(size).ok()).ok_or(DecodeError::Payload)?;
                self.take(4)?;
                (Value::Binary(self.take(size)?), self.payload)
            }
            Encoding::TokenUser => {
                let (sid, rest) = token_user(payload, self.pointer).ok_or(DecodeError::Payload)?;
                (Value::Sid(sid), rest)
            }
            _ => return Err(DecodeError::Payload),
        };
        self.payload = rest;
        Ok((in_type_of(field.encoding, self.pointer), value))
    }

    /// Decodes text of a given length, or up to its NUL. The last text of a payload may lack its NUL.
    fn text(&mut self, field: &Field, width: usize) -> Result<&'a [u8], DecodeError> {
        if field.length != Extent::None {
            let length = self.extent(field.length)?.checked_mul(width).ok_or(DecodeError::Payload)?;
            return self.take(length).map(|text| without_nuls(text, width));
        }
        let end = if width == 2 {
            end_of_utf16(self.payload)
        } else {
            CStr::from_bytes_until_nul(self.payload).ok().map(CStr::count_bytes)
        };
        match end {
            Some(end) => {
                let text = self.take(end)?;
                self.take(width)?;
                Ok(text)
            }
            None if !self.payload.is_empty() && self.payload.len().is_multiple_of(width) => {
                self.take(self.payload.len())
            }
            None => Err(DecodeError::Payload),
        }
    }
}

/// Returns the offset of the NUL that ends a text of UTF-16.
fn end_of_utf16(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0001_0001_0001_0001;
    // Four units at a time: a borrow reaches the high bit of a unit only if this unit, or one below it, is zero.
    let has_nul = |block: &[u8; 8]| {
        let units = u64::from_le_bytes(*block);
        units.wrapping_sub(LOW) & !units & (LOW << 15) != 0
    };
    let (blocks, _) = bytes.as_chunks();
    let start = 8 * blocks.iter().position(has_nul).unwrap_or(blocks.len());
    let units = bytes.get(start..)?.as_chunks::<2>().0;
    units.iter().position(|unit| *unit == [0, 0]).map(|place| start + 2 * place)
}

/// Returns text without its trailing NULs.
fn without_nuls(text: &[u8], width: usize) -> &[u8] {
    let used = text.chunks(width).rposition(|unit| unit.iter().any(|byte| *byte != 0)).map_or(0, |last| last + 1);
    text.get(..used * width).unwrap_or(text)
}

/// Splits off a `TOKEN_USER` (a pointer and flags, together as wide as two pointers) and the SID after it, and returns the SID
/// and the rest. Four zero bytes mean that there is no SID.
fn token_user(payload: &[u8], pointer: PointerSize) -> Option<(&[u8], &[u8])> {
    if u32_at(payload, 0)? == 0 {
        return Some((&[], payload.get(4..)?));
    }
    let header = 2 * pointer.bytes();
    let authorities = usize::from(*payload.get(header + 1)?);
    let (user, rest) = payload.split_at_checked(header + 8 + 4 * authorities)?;
    Some((user.get(header..)?, rest))
}

#[cfg(test)]
mod tests {
    use super::end_of_utf16;

    #[test]
    fn a_text_ends_at_its_first_nul_wherever_that_is() {
        for length in 0..20 {
            // Neither a unit with a low byte of zero nor the high bit of a unit is a NUL.
            let text: Vec<u8> =
                (0..length).flat_map(|unit| [[0x00, 0x01], [0x01, 0x80], [0x41, 0x00]][unit % 3]).collect();
            assert_eq!(end_of_utf16(&text), None, "{length}");
            for rest in [&[][..], &[0x41, 0], &[0; 8], &[0x41, 0, 0, 0, 0x42]] {
                assert_eq!(end_of_utf16(&[&text, &[0, 0][..], rest].concat()), Some(2 * length), "{length}");
            }
        }
    }
}
