//! The XML form of an event's data as the event log stores it: a fragment with a substitution for every field.
//!
//! The tokens are those of Microsoft's open specification MS-EVEN6. Names are stored inline, as in the resources that the message
//! compiler writes.

use super::blob::Blob;
use crate::manifest::{Data, DataKind, Size};

const END_OF_FRAGMENT: u8 = 0x00;
const OPEN_START_ELEMENT: u8 = 0x01;
const CLOSE_START_ELEMENT: u8 = 0x02;
const END_ELEMENT: u8 = 0x04;
const VALUE: u8 = 0x05;
const ATTRIBUTE: u8 = 0x06;
const NORMAL_SUBSTITUTION: u8 = 0x0D;
const FRAGMENT_HEADER: [u8; 4] = [0x0F, 1, 1, 0];
/// Element flag: it has attributes.
const HAS_MORE: u8 = 0x40;
const TYPE_STRING: u8 = 0x01;
const TYPE_BINARY: u8 = 0x0E;
/// Type flag: there are several values.
const ARRAY: u8 = 0x80;

/// Appends `<EventData>` with an element for every field.
pub(super) fn push(blob: &mut Blob, fields: &[Data]) {
    blob.0.extend(FRAGMENT_HEADER);
    element(blob, 0, "EventData", |blob| {
        blob.0.push(CLOSE_START_ELEMENT);
        for (place, field) in (0..=u16::MAX).zip(fields) {
            data(blob, place, field);
        }
    });
    blob.0.push(END_OF_FRAGMENT);
}

fn data(blob: &mut Blob, place: u16, field: &Data) {
    let (name, kind) = match &field.kind {
        DataKind::Value { encoding, .. } => ("Data", u8::try_from(encoding.to_tdh()).unwrap_or(TYPE_BINARY)),
        DataKind::Struct(_) => ("ComplexData", TYPE_BINARY),
        DataKind::Unknown(_) => ("Data", TYPE_BINARY),
    };
    let kind = if field.count == Size::None { kind } else { kind | ARRAY };
    element(blob, HAS_MORE, name, |blob| {
        let size = blob.later();
        let start = blob.here();
        blob.0.push(ATTRIBUTE);
        push_name(blob, "Name");
        blob.0.extend([VALUE, TYPE_STRING]);
        blob.u16(u16::try_from(field.name.encode_utf16().count()).unwrap_or(u16::MAX));
        blob.utf16(&field.name);
        blob.fill_size(size, start);
        blob.0.extend([CLOSE_START_ELEMENT, NORMAL_SUBSTITUTION]);
        blob.u16(place);
        blob.0.push(kind);
    });
}

/// Appends an element without a dependency, with its size before its name.
fn element(blob: &mut Blob, flags: u8, name: &str, content: impl FnOnce(&mut Blob)) {
    blob.0.push(OPEN_START_ELEMENT | flags);
    blob.u16(u16::MAX);
    let size = blob.later();
    let start = blob.here();
    push_name(blob, name);
    content(blob);
    blob.0.push(END_ELEMENT);
    blob.fill_size(size, start);
}

/// Appends a name, preceded by its hash and its length in characters.
fn push_name(blob: &mut Blob, name: &str) {
    let hash = name.encode_utf16().fold(0_u32, |hash, unit| hash.wrapping_mul(65599).wrapping_add(unit.into()));
    let [low, high, ..] = hash.to_le_bytes();
    blob.0.extend([low, high]);
    blob.u16(u16::try_from(name.encode_utf16().count()).unwrap_or(u16::MAX));
    blob.utf16(name);
    blob.u16(0);
}
