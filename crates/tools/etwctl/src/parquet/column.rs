//! One column: its type in the file, and the values that are buffered for the next row group.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::statistics::Statistics;
use parquet::file::writer::SerializedRowGroupWriter;
use parquet::schema::types::{ColumnDescPtr, Type, TypePtr};

use super::chunk::Chunk;
use super::dictionary::Dictionary;
use super::hybrid::Series;

/// Maximum length of the smallest and the largest value in the statistics of a column.
const MAX_STATISTIC: usize = 64;

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Bool,
    /// Number of bits, and whether it is signed.
    Integer(u8, bool),
    F32,
    F64,
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// Microseconds since 1970.
    Microseconds,
    Text,
    Json,
    Bytes,
}

impl Kind {
    /// Whether the values are stored as 32-bit or 64-bit integers.
    pub(super) const fn is_integer(self) -> bool {
        matches!(self, Self::Integer(..) | Self::Nanoseconds | Self::Microseconds)
    }
}

/// A value of any column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Bool(bool),
    Integer(i64),
    F32(f32),
    F64(f64),
    Bytes(Cow<'a, [u8]>),
}

/// The values of one row of a column.
#[derive(Clone, Debug)]
pub(super) enum Cell<'a> {
    One(Option<Value<'a>>),
    Many(Vec<Option<Value<'a>>>),
}

/// Buffered values that are not null.
#[derive(Debug)]
enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Dictionary),
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_list: bool,
    values: Values,
    rows: usize,
    nulls: usize,
    /// Whether each row has a value, if some have and some have not.
    levels: Vec<u8>,
    /// The levels of a list: how much of the path of each value is present, and whether it continues the list before it.
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
}

/// Definition levels of an optional list that may be empty and may contain nulls.
const NOTHING: i16 = 0;
const EMPTY_LIST: i16 = 1;
const NULL_IN_LIST: i16 = 2;
const IN_LIST: i16 = 3;

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
        let (levels, definitions, repetitions) = (Vec::new(), Vec::new(), Vec::new());
        Self { name, kind, is_list, values, rows: 0, nulls: 0, levels, definitions, repetitions }
    }

    /// Returns the column's part of the file schema.
    pub(super) fn schema(&self) -> Result<TypePtr> {
        let value = |name: &str| {
            let (physical, logical) = match self.kind {
                Kind::Bool => (Physical::BOOLEAN, None),
                Kind::Integer(bits, is_signed) => {
                    let physical = if bits <= 32 { Physical::INT32 } else { Physical::INT64 };
                    (physical, Some(LogicalType::Integer { bit_width: bits.cast_signed(), is_signed }))
                }
                Kind::F32 => (Physical::FLOAT, None),
                Kind::F64 => (Physical::DOUBLE, None),
                Kind::Nanoseconds => {
                    let logical = LogicalType::Timestamp { is_adjusted_to_u_t_c: true, unit: TimeUnit::NANOS };
                    (Physical::INT64, Some(logical))
                }
                Kind::Microseconds => {
                    let logical = LogicalType::Timestamp { is_adjusted_to_u_t_c: true, unit: TimeUnit::MICROS };
                    (Physical::INT64, Some(logical))
                }
                Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Kind::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
                Kind::Bytes => (Physical::BYTE_ARRAY, None),
            };
            let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            builder.with_logical_type(logical).build().map(Arc::new)
        };
        if !self.is_list {
            return value(&self.name);
        }
        let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let list = Arc::new(list.with_fields(vec![value("element")?]).build()?);
        let group = Type::group_type_builder(&self.name).with_repetition(Repetition::OPTIONAL);
        let group = group.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST);
        group.with_fields(vec![list]).build().map(Arc::new)
    }

    /// Adds a row and returns its approximate memory cost in bytes.
    #[inline]
    pub(super) fn add(&mut self, value: Option<Value<'_>>) -> usize {
        let cost = value.and_then(|value| self.keep(value));
        self.end_row(cost.is_some());
        cost.unwrap_or(1)
    }

    /// Adds a row with an integer and returns its approximate memory cost in bytes.
    pub(super) fn add_integer(&mut self, number: Option<i64>) -> usize {
        self.add(number.map(Value::Integer))
    }

    /// Adds a row with a text and returns its approximate memory cost in bytes.
    pub(super) fn add_text(&mut self, text: Option<&str>) -> usize {
        self.add(text.map(|text| Value::Bytes(text.as_bytes().into())))
    }

    /// Gives the next `rows` rows the same value. The column must have no others.
    pub(super) fn fill(&mut self, value: Option<Value<'_>>, rows: usize) {
        let is_there = value.and_then(|value| self.keep(value)).is_some();
        self.rows = rows;
        self.nulls = if is_there { 0 } else { rows };
    }

    /// Counts a row. Levels are kept only if the column has both values and nulls.
    #[inline]
    fn end_row(&mut self, is_there: bool) {
        let is_mixed = !self.levels.is_empty() || (self.rows > 0 && is_there == (self.nulls == self.rows));
        if is_mixed {
            if self.levels.is_empty() {
                self.levels.resize(self.rows, u8::from(self.nulls == 0));
            }
            self.levels.push(is_there.into());
        }
        self.rows += 1;
        self.nulls += usize::from(!is_there);
    }

    /// Adds a row with a list and returns its approximate memory cost in bytes.
    pub(super) fn add_list<'a>(&mut self, values: Option<impl IntoIterator<Item = Option<Value<'a>>>>) -> usize {
        self.rows += 1;
        let Some(values) = values else {
            self.nulls += 1;
            self.definitions.push(NOTHING);
            self.repetitions.push(0);
            return 4;
        };
        let (mut cost, mut repetition) = (4, 0);
        for value in values {
            let bytes = value.and_then(|value| self.keep(value));
            self.definitions.push(if bytes.is_some() { IN_LIST } else { NULL_IN_LIST });
            self.repetitions.push(repetition);
            repetition = 1;
            cost += bytes.unwrap_or_default() + 4;
        }
        if repetition == 0 {
            self.definitions.push(EMPTY_LIST);
            self.repetitions.push(0);
        }
        cost
    }

    /// Keeps a value and returns its memory cost, or `None` if it does not have the type of the column.
    #[inline]
    fn keep(&mut self, value: Value<'_>) -> Option<usize> {
        match (&mut self.values, value) {
            (Values::Bool(values), Value::Bool(value)) => values.push(value),
            // Keep the lower half: columns of unsigned numbers store the same bits.
            (Values::I32(values), Value::Integer(value)) => {
                let [a, b, c, d, ..] = value.to_le_bytes();
                values.push(i32::from_le_bytes([a, b, c, d]));
                return Some(4);
            }
            (Values::I64(values), Value::Integer(value)) => values.push(value),
            (Values::F32(values), Value::F32(value)) => values.push(value),
            (Values::F64(values), Value::F64(value)) => values.push(value),
            (Values::Bytes(values), Value::Bytes(value)) => return Some(values.push(&value)),
            _ => return None,
        }
        Some(8)
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

    /// The rows as a dictionary and references to it, if that is smaller.
    fn chunk(&mut self) -> Option<Chunk<'_>> {
        if self.is_list {
            return None;
        }
        let nulls = u64::try_from(self.nulls).ok();
        let present = self.rows - self.nulls;
        let statistics = match &self.values {
            Values::Bool(_) | Values::F32(_) | Values::F64(_) if present > 0 => return None,
            Values::I32(values) => {
                let same = same(values)?;
                Statistics::int32(same, same, None, nulls, false)
            }
            Values::I64(values) => {
                let same = same(values)?;
                Statistics::int64(same, same, None, nulls, false)
            }
            Values::Bytes(dictionary) if dictionary.is_useful() => {
                let range = dictionary.range().filter(|(least, most)| least.len().max(most.len()) <= MAX_STATISTIC);
                let (least, most) = range.map(|(least, most)| (least.to_vec(), most.to_vec())).unzip();
                Statistics::byte_array(least.map(ByteArray::from), most.map(ByteArray::from), None, nulls, false)
            }
            Values::Bytes(_) => return None,
            Values::Bool(_) => Statistics::boolean(None, None, None, nulls, false),
            Values::F32(_) => Statistics::float(None, None, None, nulls, false),
            Values::F64(_) => Statistics::double(None, None, None, nulls, false),
        };
        let levels = match self.levels.as_slice() {
            [] => Series::Same(u8::from(self.nulls == 0), self.rows),
            levels => Series::Each(levels),
        };
        let one = Series::Same(0, present);
        let (dictionary, entries, places) = match &mut self.values {
            Values::I32(values) => (values.first().map(|value| value.to_le_bytes().to_vec()), values.len().min(1), one),
            Values::I64(values) => (values.first().map(|value| value.to_le_bytes().to_vec()), values.len().min(1), one),
            Values::Bytes(dictionary) => {
                let (plain, entries) = dictionary.take_values();
                let places = if entries > 1 { Series::Each(dictionary.places()) } else { one };
                (Some(plain), entries, places)
            }
            _ => (None, 0, one),
        };
        Some(Chunk { dictionary: dictionary.unwrap_or_default(), entries, levels, places, statistics })
    }

    /// Writes all values.
    fn write_all<W: Write + Send>(&mut self, group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        let Some(mut serialized) = group.next_column()? else { return Ok(()) };
        if !self.is_list {
            self.definitions = match self.levels.as_slice() {
                [] => vec![i16::from(self.nulls == 0); self.rows],
                levels => levels.iter().copied().map(i16::from).collect(),
            };
        }
        let definitions = Some(self.definitions.as_slice());
        let repetitions = self.is_list.then_some(self.repetitions.as_slice());
        match (&mut self.values, serialized.untyped()) {
            (Values::Bool(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::I32(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::I64(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::F32(values), ColumnWriter::FloatColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::F64(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(values, definitions, repetitions)
            }
            (Values::Bytes(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(&values.take_rows(), definitions, repetitions)
            }
            _ => return Err(ParquetError::General(format!("column {} has another type than its file", self.name))),
        }?;
        serialized.close()
    }
}

/// The value that all rows have, if it is the same; `None` inside if there is no value at all.
#[expect(clippy::option_option, reason = "two questions: whether the values are the same, and whether there are any")]
fn same<T: Copy + PartialEq>(values: &[T]) -> Option<Option<T>> {
    let first = values.first().copied();
    values.iter().all(|value| Some(*value) == first).then_some(first)
}
