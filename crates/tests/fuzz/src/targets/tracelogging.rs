//! Event metadata with a payload behind it. Begins and ends that a visitor sees are balanced, its values are bounded by what
//! an event can hold, and what decodes is made again byte for byte.

use etw_types::tracelogging::{Field, Metadata, Value, Visitor, decode};
use test_support::reencode;

/// Decodes, walks and encodes anew.
pub(super) fn run(bytes: &[u8]) {
    let Ok((metadata, payload)) = Metadata::parse(bytes) else { return };
    let (own, _) = bytes.split_at(bytes.len() - payload.len());
    let fields = metadata.fields().take_while(Result::is_ok).count();
    assert!(fields <= own.len(), "more fields than bytes");
    assert!(metadata.fields().count() <= fields + 1, "fields behind a malformed one");

    let mut balance = Balance::default();
    let result = decode(&metadata, payload, &mut balance);
    if let Ok(rest) = result {
        assert!(balance.open.is_empty(), "something was not closed");
        assert!(payload.ends_with(rest), "the rest is not the payload's end");
    }
    let made = reencode(own, payload);
    // Both fail or none; the one that encodes looks at all of the metadata first and may name another reason.
    assert_eq!(made.is_ok(), result.is_ok(), "only one of two walks fails");
    if let Ok(made) = made {
        assert!(made.metadata == own, "metadata comes out otherwise");
        assert!(made.payload == payload, "the payload comes out otherwise");
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
        assert!(field.struct_fields().is_none(), "a struct has a value of its own: {value:?}");
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
