//! Assertions about the events of a trace, for tests.

use crate::decode::{Node, Scalar};
use crate::event::Event;

/// An expected event.
#[derive(Clone, Debug)]
pub struct Expected {
    name: String,
    fields: Vec<(String, String)>,
    opcode: Option<u8>,
}

/// Expects an event with this name.
///
/// ```
/// # use etw_types::tracelogging::EventBuilder;
/// # use etw_types::{Channel, EventDescriptor, Guid, Keyword, Level, Opcode};
/// # fn traced(name: &str, opcode: Opcode) -> etw_etl::Event {
/// #     let (mut metadata, mut payload) = ([0; 64], [0; 64]);
/// #     let builder = EventBuilder::new(&mut metadata, &mut payload, name, 0).u32("Length", 512);
/// #     let (metadata, payload) = builder.finish().unwrap();
/// #     let items = etw_etl::ExtendedItem::trace_logging(b"\x0b\x00MyDriver\x00", metadata);
/// #     let descriptor = EventDescriptor::new(Level::Informational, Keyword::from_bits(1)).with_channel(Channel::TraceLogging);
/// #     let descriptor = EventDescriptor { opcode, ..descriptor };
/// #     let provider = Guid::from_name("MyDriver");
/// #     let data = etw_etl::EventData { provider, descriptor, items: &items, payload, ..etw_etl::EventData::default() };
/// #     let mut record = [0; 512];
/// #     let length = data.encode(&mut record).unwrap();
/// #     etw_etl::Event::from_record(&record[..length], 0, &etw_etl::WriterOptions::default().clock).unwrap()
/// # }
/// use etw_etl::expect::{Expected, check, event};
///
/// let trace = [traced("Read", Opcode::Start), traced("Read", Opcode::Stop)];
/// let start: Expected = event("Read").field("Length", 512).opcode(1);
/// assert!(start.matches(&trace[0]) && !start.matches(&trace[1]));
/// check(&trace, &[start, event("Read").opcode(2)], true)?;
/// assert!(check(&trace, &[event("Write")], false).is_err());
/// # Ok::<(), String>(())
/// ```
#[must_use]
pub fn event(name: &str) -> Expected {
    Expected { name: name.to_owned(), fields: Vec::new(), opcode: None }
}

impl Expected {
    /// Expects a field with this value. `Outer.Inner` names a field of a struct. Numbers are compared by value, whatever their
    /// notation; a status may also be given by its name.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "values are written in place, as literals")]
    pub fn field(mut self, name: &str, value: impl ToString) -> Self {
        self.fields.push((name.to_owned(), value.to_string()));
        self
    }

    /// Expects this opcode: 1 starts an activity, 2 stops it.
    #[must_use]
    pub const fn opcode(mut self, opcode: u8) -> Self {
        self.opcode = Some(opcode);
        self
    }

    /// Returns whether an event is the expected one.
    #[must_use]
    pub fn matches(&self, event: &Event) -> bool {
        let decoded = event.decode();
        let has = |(name, wanted): &(String, String)| decoded.field(name).is_some_and(|node| same(node, wanted));
        decoded.event.as_ref().is_some_and(|name| *name == self.name)
            && self.opcode.is_none_or(|opcode| event.header.descriptor.opcode.as_int() == opcode)
            && self.fields.iter().all(has)
    }
}

/// Checks that a trace contains the expected events, in the order of `expected` if `in_order` is set. Other events may occur in
/// between.
///
/// # Errors
///
/// Names the first missing event and lists the trace.
pub fn check(events: &[Event], expected: &[Expected], in_order: bool) -> Result<(), String> {
    let mut rest = events.iter();
    for wanted in expected {
        if !in_order {
            rest = events.iter();
        }
        if !rest.any(|event| wanted.matches(event)) {
            let trace: Vec<String> = events.iter().map(|event| event.decode().to_string()).collect();
            return Err(format!("{wanted:?} is not in the trace\n  {}", trace.join("\n  ")));
        }
    }
    Ok(())
}

fn same(node: &Node, wanted: &str) -> bool {
    if let Node::Value(Scalar::Text(text)) = node {
        return text == wanted;
    }
    let shown = node.to_string();
    // A status is shown as its number and its name.
    let mut words = shown.split(' ');
    shown == wanted
        || words.clone().any(|word| word == wanted)
        || words.next().and_then(number).is_some_and(|value| number(wanted) == Some(value))
        || (shown == "true" && wanted == "1")
        || (shown == "false" && wanted == "0")
}

/// Parses a number. A negative 32-bit number becomes its unsigned counterpart, because statuses are written either way.
fn number(text: &str) -> Option<i128> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    Some(i32::try_from(value).map_or(value, |value| value.cast_unsigned().into()))
}

#[cfg(test)]
mod tests {
    use super::{Node, Scalar, check, event, same};
    use crate::testing::trace_logging;

    #[test]
    fn values_compare_as_numbers_if_both_are_numbers() {
        let word = |text: &str| Node::Value(Scalar::Word(text.into()));
        let not_supported = word("0xC00000BB STATUS_NOT_SUPPORTED");
        for wanted in ["3221225659", "-1073741637", "0xc00000bb", "STATUS_NOT_SUPPORTED"] {
            assert!(same(&not_supported, wanted), "{wanted}");
        }
        assert!(!same(&not_supported, "0"));
        assert!(same(&Node::Value(Scalar::Integer(1 << 40)), "0x10000000000"));
        assert!(same(&Node::Value(Scalar::Text("two words".into())), "two words"));
        assert!(!same(&Node::Value(Scalar::Text("1".into())), "0x1"));
        for (value, digit, name) in [(true, "1", "true"), (false, "0", "false")] {
            let node = Node::Value(Scalar::Bool(value));
            assert!(same(&node, digit));
            assert!(same(&node, name));
            assert!(!same(&node, if value { "0" } else { "1" }));
            assert!(!same(&node, "2"));
        }
        let negative = Node::Value(Scalar::Integer(-1));
        assert!(same(&negative, "-1"));
        assert!(same(&negative, "0xffffffff"));
        assert!(!same(&negative, "1"));
    }

    #[test]
    fn an_event_matches_by_name_opcode_and_all_fields() {
        let read = trace_logging("Read", |builder| {
            builder.u32("Length", 512).structure("At", 1, 0).structure("Place", 1, 0).u8("Line", 7)
        });
        for (expected, is_match) in [
            (event("Read"), true),
            (event("Write"), false),
            (event("Read").opcode(0), true),
            (event("Read").opcode(1), false),
            (event("Write").opcode(0).field("Length", 512), false),
            (event("Read").field("Length", 512), true),
            (event("Read").field("Length", "0x200"), true),
            (event("Read").field("Length", 511), false),
            (event("Read").field("Size", 512), false),
            (event("Read").field("Length", 512).field("At.Place.Line", 7), true),
            (event("Read").field("Length", 512).field("At.Place.Line", 8), false),
            (event("Read").field("At.Length", 512), false),
            (event("Read").field("Length.At", 512), false),
        ] {
            assert_eq!(expected.matches(&read), is_match, "{expected:?}");
        }
    }

    #[test]
    fn a_trace_has_the_expected_events_in_their_order() {
        let trace = ["a", "b", "c"].map(|name| trace_logging(name, |builder| builder));
        for (names, in_any_order, in_order) in [
            (&["a", "c"][..], true, true),
            (&["c", "a"], true, false),
            (&["b", "b"], true, false),
            (&["a", "d"], false, false),
            (&[], true, true),
        ] {
            let expected: Vec<_> = names.iter().map(|name| event(name)).collect();
            assert_eq!(check(&trace, &expected, false).is_ok(), in_any_order, "{names:?}");
            assert_eq!(check(&trace, &expected, true).is_ok(), in_order, "{names:?}");
        }
        let error = check(&trace, &[event("d")], true).unwrap_err();
        assert!(error.contains("\"d\""), "{error}");
        assert!(error.ends_with("\n  TestProvider/b\n  TestProvider/c"), "{error}");
    }
}
