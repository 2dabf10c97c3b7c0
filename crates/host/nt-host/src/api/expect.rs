//! What a test expects of a trace.

use super::{Event, Trace};

/// An event that is expected.
#[derive(Clone, Debug)]
pub struct Expected {
    name: String,
    fields: Vec<(String, String)>,
    opcode: Option<u8>,
}

/// Expects an event of this name.
#[must_use]
pub fn event(name: &str) -> Expected {
    Expected { name: name.to_owned(), fields: Vec::new(), opcode: None }
}

impl Expected {
    /// It has a field with this value. Integers compare as numbers, however they are shown.
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "values are written in place, as literals")]
    pub fn field(mut self, name: &str, value: impl ToString) -> Self {
        self.fields.push((name.to_owned(), value.to_string()));
        self
    }

    /// It has this opcode; 1 starts an activity, 2 stops it.
    #[must_use]
    pub const fn opcode(mut self, opcode: u8) -> Self {
        self.opcode = Some(opcode);
        self
    }

    /// Whether an event is the expected one.
    #[must_use]
    pub fn matches(&self, event: &Event) -> bool {
        event.name().is_some_and(|name| name == self.name)
            && self.opcode.is_none_or(|opcode| event.descriptor.opcode.as_int() == opcode)
            && self.fields.iter().all(|(name, wanted)| event.field(name).is_some_and(|value| same(&value, wanted)))
    }
}

fn same(value: &str, wanted: &str) -> bool {
    value == wanted || number(value).is_some_and(|value| number(wanted) == Some(value))
}

/// A number, in the two's complement of 64 bits where it is negative and of 32 where it is a status.
fn number(text: &str) -> Option<u32> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok()?,
        None => text.parse::<i128>().ok()?,
    };
    i32::try_from(value).map(i32::cast_unsigned).or_else(|_| u32::try_from(value)).ok()
}

/// Expectations of one trace. They are checked by [`Expectation::in_order`] or [`Expectation::anywhere`].
#[must_use = "nothing is checked yet"]
#[derive(Debug)]
pub struct Expectation {
    trace: Trace,
    expected: Vec<Expected>,
}

impl Expectation {
    pub(super) const fn new(trace: Trace) -> Self {
        Self { trace, expected: Vec::new() }
    }

    /// Expects an event, after the ones before.
    pub fn expect(mut self, event: Expected) -> Self {
        self.expected.push(event);
        self
    }

    /// Checks that the events are there in this order; others may lie between.
    ///
    /// # Panics
    ///
    /// When one is missing, with the trace.
    pub fn in_order(self) {
        let events = self.events();
        let mut rest = events.iter();
        for expected in &self.expected {
            assert!(rest.any(|event| expected.matches(event)), "{}", missing(expected, &events));
        }
    }

    /// Checks that the events are there.
    ///
    /// # Panics
    ///
    /// When one is missing, with the trace.
    pub fn anywhere(self) {
        let events = self.events();
        for expected in &self.expected {
            assert!(events.iter().any(|event| expected.matches(event)), "{}", missing(expected, &events));
        }
    }

    fn events(&self) -> Vec<Event> {
        match self.trace.events() {
            Ok(events) => events,
            Err(error) => panic!("no trace to look at: {error}"),
        }
    }
}

fn missing(expected: &Expected, events: &[Event]) -> String {
    let trace: Vec<String> = events.iter().map(ToString::to_string).collect();
    format!("{expected:?} is not in the trace\n  {}", trace.join("\n  "))
}

#[cfg(test)]
mod tests {
    use super::same;

    #[test]
    fn values_compare_as_numbers_where_both_are() {
        assert!(same("0xc00000bb", "3221225659"));
        assert!(same("-1073741637", "0xC00000BB"));
        assert!(same("echo", "echo"));
        assert!(!same("1", "2"));
        assert!(!same("one", "1"));
    }
}
