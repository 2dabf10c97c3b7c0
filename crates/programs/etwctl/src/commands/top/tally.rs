//! Rows of a summary: texts that identify a row, and numbers that are added up.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use crate::output::{Json, Table, milliseconds};

/// The maximum number of rows. Further ones are counted together.
const MAX_ROWS: usize = 100_000;

/// A part of what identifies a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Nothing,
    Number(u32),
    Text(Arc<str>),
}

impl From<Option<u32>> for Key {
    fn from(number: Option<u32>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

impl From<Option<Arc<str>>> for Key {
    fn from(text: Option<Arc<str>>) -> Self {
        text.map_or(Self::Nothing, Self::Text)
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<&Key> for Json {
    fn from(key: &Key) -> Self {
        match key {
            Key::Nothing => Self::Null,
            Key::Number(number) => (*number).into(),
            Key::Text(text) => (**text).into(),
        }
    }
}

/// A column of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// A sum.
    Sum(&'static str),
    /// The largest number.
    Most(&'static str),
    /// A sum of times in units of 100 ns, shown in milliseconds.
    Time(&'static str),
    /// The longest time.
    Longest(&'static str),
}

impl Number {
    const fn name(self) -> &'static str {
        match self {
            Self::Sum(name) | Self::Most(name) | Self::Time(name) | Self::Longest(name) => name,
        }
    }
}

/// The rows of a summary.
#[derive(Debug)]
pub(super) struct Tally {
    keys: &'static [&'static str],
    numbers: &'static [Number],
    /// A number is `None` if nothing told it.
    rows: HashMap<Vec<Key>, Vec<Option<u64>>>,
    totals: Vec<Option<u64>>,
}

impl Tally {
    pub(super) fn new(keys: &'static [&'static str], numbers: &'static [Number]) -> Self {
        Self { keys, numbers, rows: HashMap::new(), totals: vec![None; numbers.len()] }
    }

    /// Adds numbers to a row: `None` where there is nothing to tell.
    pub(super) fn add(&mut self, key: Vec<Key>, numbers: &[Option<u64>]) {
        let is_new = self.rows.len() < MAX_ROWS || self.rows.contains_key(&key);
        let key = if is_new { key } else { vec![Key::Text("(more)".into()); self.keys.len()] };
        let row = self.rows.entry(key).or_insert_with(|| vec![None; self.numbers.len()]);
        for (((kept, total), number), kind) in row.iter_mut().zip(&mut self.totals).zip(numbers).zip(self.numbers) {
            let Some(number) = *number else { continue };
            for folded in [kept, total] {
                let last = folded.unwrap_or_default();
                *folded = Some(match kind {
                    Number::Sum(_) | Number::Time(_) => last.saturating_add(number),
                    Number::Most(_) | Number::Longest(_) => last.max(number),
                });
            }
        }
    }

    /// Says whether the trace can tell a column at all: then a number that nothing was added to is 0, otherwise it is not known.
    pub(super) fn tell(&mut self, column: &str, is_told: bool) {
        let Some(place) = self.numbers.iter().position(|number| number.name() == column) else { return };
        for numbers in self.rows.values_mut().chain([&mut self.totals]) {
            if let Some(number) = numbers.get_mut(place) {
                *number = is_told.then(|| number.unwrap_or_default());
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The largest rows as a table, and the number of rows that are left out. The order is that of the first column whose numbers
    /// are not all 0; `percent` is the row's share of that column.
    pub(super) fn table(self, most: usize) -> (Table, usize) {
        let order = self.totals.iter().position(|total| total.is_some_and(|total| total > 0));
        let order = order.unwrap_or_default();
        let by = |numbers: &[Option<u64>]| numbers.get(order).copied().flatten().unwrap_or_default();
        let total = by(&self.totals).max(1);
        let mut rows: Vec<_> = self.rows.into_iter().collect();
        rows.sort_by(|(one, a), (other, b)| Reverse(by(a)).cmp(&Reverse(by(b))).then_with(|| one.cmp(other)));
        let columns: Vec<&'static str> = self
            .keys
            .iter()
            .copied()
            .chain(self.numbers.iter().map(|number| number.name()))
            .chain(["percent"])
            .collect();
        let mut table = Table::new(&columns);
        let left_out = rows.len().saturating_sub(most);
        for (key, numbers) in rows.into_iter().take(most) {
            let tenths = u128::from(by(&numbers)) * 1000 / u128::from(total);
            let share = Json::from(fraction(tenths, 10));
            let numbers = numbers.iter().zip(self.numbers).map(|(number, kind)| match (number, kind) {
                (None, _) => Json::Null,
                (Some(number), Number::Sum(_) | Number::Most(_)) => Json::from(*number),
                (Some(number), Number::Time(_) | Number::Longest(_)) => {
                    milliseconds(i64::try_from(*number).unwrap_or(i64::MAX))
                }
            });
            table.row(key.iter().map(Json::from).chain(numbers).chain([share]).collect());
        }
        (table, left_out)
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with four digits behind the point, up to 2^53 units")]
fn fraction(units: u128, scale: u32) -> f64 {
    units as f64 / f64::from(scale)
}

#[cfg(test)]
mod tests {
    use super::{Key, Number, Tally};

    #[test]
    fn rows_are_ordered_by_the_first_number_that_is_not_zero() {
        const NUMBERS: &[Number] = &[Number::Sum("samples"), Number::Time("ms"), Number::Longest("longest_ms")];
        let mut tally = Tally::new(&["name"], NUMBERS);
        assert!(tally.is_empty());
        for (name, time) in [("a", 10_000), ("b", 30_000), ("a", 5_000), ("c", 1)] {
            tally.add(vec![Key::Text(name.into())], &[Some(0), Some(time), Some(time)]);
        }
        let (table, left_out) = tally.table(2);
        assert_eq!(left_out, 1);
        let rows = r#"[{"name":"b","samples":0,"ms":3.0,"longest_ms":3.0,"percent":66.6},{"name":"a","samples":0,"ms":1.5,"longest_ms":1.0,"percent":33.3}]"#;
        assert_eq!(table.json().to_string(), rows);
    }

    #[test]
    fn what_nothing_tells_is_not_zero() {
        const NUMBERS: &[Number] = &[Number::Sum("samples"), Number::Time("run_ms"), Number::Longest("longest_ms")];
        let mut tally = Tally::new(&["name"], NUMBERS);
        tally.add(vec![Key::Text("a".into())], &[None, Some(20_000), None]);
        tally.add(vec![Key::Text("b".into())], &[None, None, None]);
        tally.tell("samples", false);
        tally.tell("run_ms", true);
        let (table, _) = tally.table(2);
        let text = table.text();
        assert_eq!(
            text.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(),
            ["a", "-", "2.0", "-", "100.0"]
        );
        let rows = r#"[{"name":"a","samples":null,"run_ms":2.0,"longest_ms":null,"percent":100.0},{"name":"b","samples":null,"run_ms":0.0,"longest_ms":null,"percent":0.0}]"#;
        assert_eq!(table.json().to_string(), rows);
    }
}
