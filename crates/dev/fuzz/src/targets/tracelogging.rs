//! TraceLogging metadata and the payload that follows it. Guarantees: a visitor sees balanced begins and ends. The
//! number of fields is bounded by the number of bytes. An event that decodes is encoded to the same bytes again.

use etw_types::tracelogging::{Field, Metadata, Value, Visitor, decode};
use test_support::reencode;

/// Decodes the event and encodes it again.
pub(super) fn run(bytes: &[u8]) {
    let Ok((metadata, payload)) = Metadata::parse(bytes) else { return };
    let (own, _) = bytes.split_at(bytes.len() - payload.len());
    let fields = metadata.fields().take_while(Result::is_ok).count();
    assert!(fields <= own.len(), "more fields than bytes");
    assert!(metadata.fields().count() <= fields + 1, "there are fields after a malformed one");

    let mut balance = Balance::default();
    let result = decode(&metadata, payload, &mut balance);
    if let Ok(rest) = result {
        assert!(balance.open.is_empty(), "an array or a struct was not closed");
        assert!(payload.ends_with(rest), "the rest is not the payload's end");
    }
    let made = reencode(own, payload);
    // Both succeed or both fail. The errors may differ, because `reencode` checks all metadata first.
    assert_eq!(made.is_ok(), result.is_ok(), "only one of decoding and encoding fails");
    if let Ok(made) = made {
        assert!(made.metadata == own, "the encoded metadata differs");
        assert!(made.payload == payload, "the encoded payload differs");
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Open {
    Array,
    Struct,
}

#[derive(Default)]
struct Balance {
    open: Vec<Open>,
}

impl<'a> Visitor<'a> for Balance {
    fn value(&mut self, field: &Field<'a>, value: Value<'a>) {
        assert!(field.struct_fields().is_none(), "a struct has a value: {value:?}");
    }

    fn begin_array(&mut self, _: &Field<'a>, _: u16) {
        self.open.push(Open::Array);
    }

    fn end_array(&mut self, _: &Field<'a>) {
        assert_eq!(self.open.pop(), Some(Open::Array));
    }

    fn begin_struct(&mut self, _: &Field<'a>) {
        self.open.push(Open::Struct);
    }

    fn end_struct(&mut self, _: &Field<'a>) {
        assert_eq!(self.open.pop(), Some(Open::Struct));
    }
}
