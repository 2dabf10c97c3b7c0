//! Encodes a TraceLogging event again from its parsed schema and values.
//!
//! This proves that decoding loses nothing: for a complete event, the result equals the input. Real metadata can have
//! tags in more bytes than they need. Therefore the width of a tag is preserved. So are the bits after the 28 bits of
//! the tag, which have no meaning.

use etw_types::tracelogging::{self, Count, DecodeError, Field, Metadata, Value, Visitor, encode_tag, tag_len};
use etw_types::{InType, OutType};

/// Metadata and payload, encoded again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reencoded {
    /// The metadata, with its size prefix.
    pub metadata: Vec<u8>,
    /// The values.
    pub payload: Vec<u8>,
}

/// Decodes an event and encodes the result.
///
/// # Errors
///
/// Returns an error if the event cannot be decoded.
pub fn reencode(metadata: &[u8], payload: &[u8]) -> Result<Reencoded, DecodeError> {
    let (schema, behind) = Metadata::parse(metadata)?;
    let encoded = encode_metadata(&schema, metadata)?;
    let mut values = Values(Vec::with_capacity(payload.len()));
    let rest = tracelogging::decode(&schema, payload, &mut values)?;
    Ok(Reencoded { metadata: [&encoded, behind].concat(), payload: [&values.0, rest].concat() })
}

fn encode_metadata(metadata: &Metadata<'_>, original: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut out = vec![0, 0];
    push_tag(&mut out, metadata.tag(), tag_at(original, 2));
    push_name(&mut out, metadata.name());
    for field in metadata.fields() {
        let field = field?;
        push_name(&mut out, field.name);
        // The original is at the same offset, because everything before it has the same length.
        let types = original.get(out.len()..).unwrap_or_default();
        push_types(&mut out, &field, types);
    }
    let size = u16::try_from(out.len()).unwrap_or(u16::MAX);
    if let Some(prefix) = out.first_chunk_mut() {
        *prefix = size.to_le_bytes();
    }
    Ok(out)
}

fn push_types(out: &mut Vec<u8>, field: &Field<'_>, original: &[u8]) {
    let (flags, behind) = match field.count {
        Count::One => (0, Vec::new()),
        Count::Variable => (InType::VariableCountFlag, Vec::new()),
        Count::Constant(count) => (InType::ConstantCountFlag, count.to_le_bytes().to_vec()),
        Count::Custom(description) => {
            let length = u16::try_from(description.len()).unwrap_or(u16::MAX);
            (InType::CustomFlag, [&length.to_le_bytes()[..], description].concat())
        }
    };
    // An out type or a tag of zero may be present or omitted.
    let has = |index: usize, flag: u8| original.get(index).is_some_and(|byte| byte & flag != 0);
    let chained = has(0, InType::ChainFlag);
    let tagged = chained && has(1, OutType::ChainFlag);
    out.push(field.in_type.as_int() | flags | if chained { InType::ChainFlag } else { 0 });
    if chained {
        out.push(field.out_type.as_int() | if tagged { OutType::ChainFlag } else { 0 });
    }
    if tagged {
        push_tag(out, field.tag, tag_at(original, 2));
    }
    out.extend(behind);
}

/// Returns the tag at this offset: its bytes up to the first one whose highest bit is clear.
fn tag_at(bytes: &[u8], offset: usize) -> &[u8] {
    let bytes = bytes.get(offset..).unwrap_or_default();
    let more = bytes.iter().take_while(|byte| **byte & 0x80 != 0).count();
    bytes.get(..=more).unwrap_or(bytes)
}

/// Encodes a tag in as many bytes as the original has, but not in fewer than it needs. Four bytes hold a whole tag;
/// bytes after them are copied.
fn push_tag(out: &mut Vec<u8>, tag: u32, original: &[u8]) {
    let last = original.len().max(tag_len(tag)) - 1;
    let behind = original.iter().copied().skip(4);
    let bytes = encode_tag(tag).into_iter().chain(behind).take(last + 1);
    out.extend(bytes.enumerate().map(|(index, byte)| byte & 0x7F | if index < last { 0x80 } else { 0 }));
}

fn push_name(out: &mut Vec<u8>, name: &[u8]) {
    out.extend_from_slice(name);
    out.push(0);
}

/// The values of a payload, appended as they are visited.
struct Values(Vec<u8>);

impl Values {
    fn number(&mut self, in_type: InType, bits: u64) {
        let width = in_type.fixed_size().unwrap_or(8);
        self.0.extend(bits.to_le_bytes().iter().take(width));
    }

    fn count(&mut self, count: usize) {
        self.0.extend(u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes());
    }

    fn bytes(&mut self, in_type: InType, bytes: &[u8]) {
        let end: &[u8] = match in_type {
            InType::CStr16 => &[0, 0],
            InType::CStr8 => &[0],
            _ => {
                self.count(bytes.len());
                &[]
            }
        };
        self.0.extend_from_slice(bytes);
        self.0.extend_from_slice(end);
    }
}

impl<'a> Visitor<'a> for Values {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        match value {
            Value::Signed(number) => self.number(field.in_type, number.cast_unsigned()),
            Value::Unsigned(number) | Value::Hex(number) => self.number(field.in_type, number),
            Value::F32(number) => self.0.extend(number.to_le_bytes()),
            Value::F64(number) => self.0.extend(number.to_le_bytes()),
            Value::Bool32(number) => self.0.extend(number.to_le_bytes()),
            Value::Utf16(bytes) | Value::Text(bytes) | Value::Binary(bytes) => self.bytes(field.in_type, bytes),
            Value::Guid(guid) => self.0.extend(guid.to_bytes_le()),
            Value::FileTime(time) => self.0.extend(time.to_le_bytes()),
            Value::SystemTime(parts) => self.0.extend(parts.into_iter().flat_map(u16::to_le_bytes)),
            Value::Sid(bytes) => self.0.extend_from_slice(bytes),
            _ => {}
        }
    }

    fn begin_array(&mut self, field: &Field<'a>, count: u16) {
        if field.count == Count::Variable {
            self.count(count.into());
        }
    }

    fn custom(&mut self, _field: &Field<'a>, bytes: &'a [u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }
}
