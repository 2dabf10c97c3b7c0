//! The values of one column that are buffered for the next row group.

use std::io::Write;

use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescPtr, TypePtr};

use super::chunk::{Chunk, Encoded};
use super::delta::range;
use super::dictionary::Dictionary;
use super::hybrid::Series;
use super::kind::{Kind, Value};

/// Maximum length of the smallest and the largest value in the statistics of a column.
const MAX_STATISTIC: usize = 64;

/// Buffered values that are not null. Integers and texts that are all equal are stored once.
#[derive(Debug)]
enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Dictionary),
}

/// A column. Each row of a list has an entry for each element, or one if it is null or empty. Each other row is an entry.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    kind: Kind,
    is_list: bool,
    values: Values,
    rows: usize,
    /// Number of entries with a value.
    present: usize,
    /// Number of entries without a value.
    nulls: usize,
    /// The definition level of each entry: how much of the path of its value is present. Empty as long as they are the same.
    levels: Vec<u8>,
    /// For each entry of a list, whether it continues the list before it. As long as all rows are null, empty.
    repetitions: Vec<u8>,
}

/// Definition levels of an optional list that may be empty and may contain nulls.
const NOTHING: u8 = 0;
const EMPTY_LIST: u8 = 1;
const NULL_IN_LIST: u8 = 2;
const IN_LIST: u8 = 3;

impl Column {
    pub(super) fn new(name: String, kind: Kind, is_list: bool) -> Self {
        let values = match kind {
            Kind::Bool => Values::Bool(Vec::new()),
            Kind::Integer(bits, _) if bits <= 32 => Values::I32(Vec::new()),
            Kind::Integer(..) | Kind::Nanoseconds | Kind::Microseconds => Values::I64(Vec::new()),
            Kind::F32 => Values::F32(Vec::new()),
            Kind::F64 => Values::F64(Vec::new()),
            Kind::Text | Kind::Json | Kind::Bytes => Values::Bytes(Dictionary::default()),
        };
        let levels = Vec::new();
        let repetitions = Vec::new();
        Self { name, kind, is_list, values, rows: 0, present: 0, nulls: 0, levels, repetitions }
    }

    /// Returns the name of the column's type.
    pub(super) fn type_name(&self) -> String {
        self.kind.name(self.is_list)
    }

    /// Returns the column's part of the file schema.
    pub(super) fn schema(&self) -> Result<TypePtr> {
        self.kind.schema(&self.name, self.is_list)
    }

    /// Adds a row and returns its approximate memory cost in bytes.
    #[inline]
    pub(super) fn add(&mut self, value: Option<Value<'_>>) -> usize {
        let cost = value.and_then(|value| self.keep(value));
        self.end_rows(cost.is_some(), 1);
        cost.unwrap_or_default()
    }

    /// Adds a row with an integer and returns its approximate memory cost in bytes.
    #[inline]
    pub(super) fn add_integer(&mut self, number: Option<i64>) -> usize {
        self.add(number.map(Value::Integer))
    }

    /// Adds a row with a text and returns its approximate memory cost in bytes.
    #[inline]
    pub(super) fn add_text(&mut self, text: Option<&str>) -> usize {
        self.add(text.map(|text| Value::Bytes(text.as_bytes().into())))
    }

    /// Adds rows without a value.
    pub(super) fn add_nulls(&mut self, count: usize) {
        if count > 0 {
            self.end_rows(false, count);
        }
    }

    /// Adds rows that are equal to the last one, and returns their approximate memory cost in bytes. A list must be null.
    pub(super) fn repeat(&mut self, count: usize) -> usize {
        let is_there = self.present > 0 && self.levels.last() != Some(&0);
        let cost = match &mut self.values {
            _ if !is_there => 0,
            Values::Bool(values) => again(values, count),
            Values::I32(values) if values.len() > 1 => again(values, count),
            Values::I64(values) if values.len() > 1 => again(values, count),
            Values::I32(_) | Values::I64(_) => 0,
            Values::F32(values) => again(values, count),
            Values::F64(values) => again(values, count),
            Values::Bytes(values) => values.repeat(count),
        };
        self.end_rows(is_there, count);
        cost
    }

    /// Gives the next `rows` rows the same value. The column must have no others.
    pub(super) fn fill(&mut self, value: Option<Value<'_>>, rows: usize) {
        self.add(value);
        self.repeat(rows.saturating_sub(1));
    }

    /// Counts rows that are not lists, or null lists. Levels are kept only if the column has both values and nulls.
    #[inline]
    fn end_rows(&mut self, is_there: bool, count: usize) {
        let is_mixed = if is_there { self.nulls > 0 } else { self.present > 0 || !self.repetitions.is_empty() };
        if is_mixed {
            if self.levels.is_empty() {
                self.levels.resize(self.rows, u8::from(!is_there));
            }
            self.levels.resize(self.levels.len() + count, u8::from(is_there));
            if self.is_list {
                self.repetitions.resize(self.repetitions.len() + count, 0);
            }
        }
        self.rows += count;
        if is_there { self.present += count } else { self.nulls += count }
    }

    /// Adds a row for each integer and returns their approximate memory cost in bytes.
    pub(super) fn extend(&mut self, numbers: impl ExactSizeIterator<Item = i64> + Clone) -> usize {
        let count = numbers.len();
        let cost = match &mut self.values {
            Values::I32(values) => append(values, self.present, numbers.map(low)),
            Values::I64(values) => append(values, self.present, numbers),
            _ => 0,
        };
        self.end_rows(true, count);
        cost
    }

    /// Adds a row for each number or null, and returns their approximate memory cost in bytes.
    pub(super) fn extend_optional(&mut self, numbers: impl ExactSizeIterator<Item = Option<i64>> + Clone) -> usize {
        if numbers.clone().all(|number| number.is_some()) {
            return self.extend(numbers.map(Option::unwrap_or_default));
        }
        numbers.map(|number| self.add_integer(number)).sum()
    }

    /// Adds a row with a list and returns its approximate memory cost in bytes.
    pub(super) fn add_list<'a>(&mut self, values: impl IntoIterator<Item = Option<Value<'a>>>) -> usize {
        self.begin_list();
        let mut cost = 0;
        let mut repetition = 0;
        for value in values {
            let bytes = value.and_then(|value| self.keep(value));
            let (level, count) =
                if bytes.is_some() { (IN_LIST, &mut self.present) } else { (NULL_IN_LIST, &mut self.nulls) };
            *count += 1;
            self.levels.push(level);
            self.repetitions.push(repetition);
            repetition = 1;
            cost += bytes.unwrap_or_default() + 2;
        }
        if repetition == 0 {
            self.end_empty();
        }
        cost
    }

    /// Adds a row with a list of integers and returns its approximate memory cost in bytes.
    pub(super) fn add_integers(&mut self, numbers: impl ExactSizeIterator<Item = i64>) -> usize {
        self.begin_list();
        let count = numbers.len();
        if count == 0 {
            self.end_empty();
            return 2;
        }
        let cost = match &mut self.values {
            Values::I32(values) => extend(values, self.present, numbers.map(low)),
            Values::I64(values) => extend(values, self.present, numbers),
            _ => 0,
        };
        self.present += count;
        self.levels.resize(self.levels.len() + count, IN_LIST);
        self.repetitions.push(0);
        self.repetitions.resize(self.levels.len(), 1);
        cost + 2 * count
    }

    fn begin_list(&mut self) {
        if self.repetitions.is_empty() {
            self.levels.resize(self.rows, NOTHING);
            self.repetitions.resize(self.rows, 0);
        }
        self.rows += 1;
    }

    fn end_empty(&mut self) {
        self.nulls += 1;
        self.levels.push(EMPTY_LIST);
        self.repetitions.push(0);
    }

    /// Keeps a value and returns its memory cost, or `None` if it does not have the type of the column.
    #[inline]
    fn keep(&mut self, value: Value<'_>) -> Option<usize> {
        let present = self.present;
        Some(match (&mut self.values, value) {
            (Values::I32(values), Value::Integer(value)) => push(values, present, low(value)),
            (Values::I64(values), Value::Integer(value)) => push(values, present, value),
            (Values::Bytes(values), Value::Bytes(value)) => values.push(&value),
            (Values::Bool(values), Value::Bool(value)) => extend(values, present, [value]),
            (Values::F32(values), Value::F32(value)) => extend(values, present, [value]),
            (Values::F64(values), Value::F64(value)) => extend(values, present, [value]),
            _ => return None,
        })
    }

    /// Writes the buffered rows as the next column of a row group, and clears them.
    pub(super) fn write<W: Write + Send>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
    ) -> Result<()> {
        let new = Self::new(self.name.clone(), self.kind, self.is_list);
        let mut rows = std::mem::replace(self, new);
        match rows.chunk() {
            Some(chunk) => chunk.append(group, column),
            None => rows.write_all(group),
        }
    }

    /// The rows as they are encoded here: integers, texts and bytes, and nulls.
    fn chunk(&mut self) -> Option<Chunk<'_>> {
        let nulls = u64::try_from(self.nulls).ok();
        let is_unsigned = self.kind.is_unsigned();
        let one = Series::Same(0, self.present);
        let constant = |plain: Vec<u8>, entries| Encoded::Dictionary { plain, entries, places: one };
        let (values, statistics) = match &mut self.values {
            Values::Bool(_) | Values::F32(_) | Values::F64(_) if self.present > 0 => return None,
            Values::Bool(_) => (constant(Vec::new(), 0), Statistics::boolean(None, None, None, nulls, false)),
            Values::F32(_) => (constant(Vec::new(), 0), Statistics::float(None, None, None, nulls, false)),
            Values::F64(_) => (constant(Vec::new(), 0), Statistics::double(None, None, None, nulls, false)),
            Values::I32(values) => {
                let (least, most) = range(values, if is_unsigned { i32::MIN } else { 0 });
                let encoded = match values.as_slice() {
                    [] => constant(Vec::new(), 0),
                    [same] => constant(same.to_le_bytes().to_vec(), 1),
                    values => Encoded::I32(values),
                };
                (encoded, Statistics::int32(least, most, None, nulls, false))
            }
            Values::I64(values) => {
                let (least, most) = range(values, if is_unsigned { i64::MIN } else { 0 });
                let encoded = match values.as_slice() {
                    [] => constant(Vec::new(), 0),
                    [same] => constant(same.to_le_bytes().to_vec(), 1),
                    values => Encoded::I64(values),
                };
                (encoded, Statistics::int64(least, most, None, nulls, false))
            }
            Values::Bytes(dictionary) => {
                let range = dictionary.range().filter(|(least, most)| least.len().max(most.len()) <= MAX_STATISTIC);
                let (least, most) = range.map(|(least, most)| (least.to_vec(), most.to_vec())).unzip();
                let least = least.map(ByteArray::from);
                let most = most.map(ByteArray::from);
                let statistics = Statistics::byte_array(least, most, None, nulls, false);
                if dictionary.is_useful() {
                    let (plain, entries) = dictionary.take_values();
                    let places = if entries > 1 { Series::Each(dictionary.places()) } else { one };
                    (Encoded::Dictionary { plain, entries, places }, statistics)
                } else {
                    (Encoded::Bytes(dictionary), statistics)
                }
            }
        };
        let same = if self.present > 0 { 1 } else { NOTHING };
        let levels = match self.levels.as_slice() {
            [] => Series::Same(same, self.rows),
            levels => Series::Each(levels),
        };
        let repetitions = match self.repetitions.as_slice() {
            _ if !self.is_list => None,
            [] => Some(Series::Same(0, self.rows)),
            repetitions => Some(Series::Each(repetitions)),
        };
        let full = if self.is_list { IN_LIST } else { 1 };
        Some(Chunk { rows: self.rows, full, levels, repetitions, values, statistics })
    }

    /// Writes all values with the `parquet` crate.
    fn write_all<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let Some(mut serialized) = group.next_column()? else { return Ok(()) };
        let wide = |levels: &[u8]| levels.iter().copied().map(i16::from).collect::<Vec<_>>();
        let definitions = match self.levels.as_slice() {
            [] => vec![i16::from(self.present > 0); self.rows],
            levels => wide(levels),
        };
        let definitions = Some(definitions);
        let repetitions = self.is_list.then(|| wide(&self.repetitions));
        let definitions = definitions.as_deref();
        let repetitions = repetitions.as_deref();
        match (&mut self.values, serialized.untyped()) {
            (Values::Bool(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::F32(values), ColumnWriter::FloatColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::F64(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            _ => return Err(ParquetError::General(format!("column {} has another type than its file", self.name))),
        }?;
        serialized.close()
    }
}

/// The lower half of a number. Columns of unsigned numbers store the same bits.
const fn low(number: i64) -> i32 {
    let [a, b, c, d, ..] = number.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Adds a number to `present` others and returns its memory cost. As long as all are equal, only one is stored.
#[inline]
fn push<T: Copy + PartialEq>(values: &mut Vec<T>, present: usize, value: T) -> usize {
    match values.as_slice() {
        [first] if *first == value => 0,
        [_] => extend(values, present, [value]),
        _ => {
            values.push(value);
            size_of::<T>()
        }
    }
}

/// Adds numbers to `present` others and returns their memory cost. As long as all are equal, only one is stored.
fn append<T: Copy + PartialEq>(
    values: &mut Vec<T>,
    present: usize,
    numbers: impl ExactSizeIterator<Item = T> + Clone,
) -> usize {
    if values.len() < 2 {
        let Some(first) = values.first().copied().or_else(|| numbers.clone().next()) else { return 0 };
        if numbers.clone().all(|number| number == first) {
            values.resize(1, first);
            return 0;
        }
    }
    extend(values, present, numbers)
}

/// Adds values to `present` others and returns their memory cost.
fn extend<T: Copy>(values: &mut Vec<T>, present: usize, more: impl IntoIterator<Item = T>) -> usize {
    let before = values.len();
    if let [first] = *values.as_slice() {
        values.resize(present, first);
    }
    values.extend(more);
    (values.len() - before) * size_of::<T>()
}

/// Repeats the last value and returns the memory cost.
fn again<T: Copy>(values: &mut Vec<T>, count: usize) -> usize {
    let Some(last) = values.last().copied() else { return 0 };
    values.resize(values.len() + count, last);
    count * size_of::<T>()
}
