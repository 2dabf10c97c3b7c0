//! One column: its type in the file, and the values that are buffered for the next row group.

use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::{Type, TypePtr};

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

/// A value of any column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Integer(i64),
    F32(f32),
    F64(f64),
    Bytes(Vec<u8>),
}

/// Buffered values.
#[derive(Debug)]
enum Values {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_list: bool,
    values: Values,
    /// Definition level of each value: how much of its path is present.
    definitions: Vec<i16>,
    /// Repetition level of each value: whether it continues the list of the previous value.
    repetitions: Vec<i16>,
}

/// Definition levels: of an optional value, and of an optional list that may be empty and may contain nulls.
const NOTHING: i16 = 0;
const VALUE: i16 = 1;
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
            Kind::Text | Kind::Json | Kind::Bytes => Values::Bytes(Vec::new()),
        };
        Self { name, kind, is_list, values, definitions: Vec::new(), repetitions: Vec::new() }
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

    /// Adds a row with a text. Most texts repeat from row to row; the bytes of the last one are shared instead of copied.
    pub(super) fn add_text(&mut self, text: Option<&str>) -> usize {
        let (Values::Bytes(values), Some(text)) = (&mut self.values, text) else { return self.add(None) };
        let last = values.last().filter(|last| last.data() == text.as_bytes()).cloned();
        let (value, cost) = last.map_or_else(|| (text.as_bytes().to_vec().into(), text.len() + 64), |last| (last, 40));
        values.push(value);
        self.definitions.push(VALUE);
        cost
    }

    /// Adds a row and returns its approximate memory cost in bytes.
    pub(super) fn add(&mut self, value: Option<Value>) -> usize {
        let (is_there, cost) = self.keep(value);
        self.definitions.push(if is_there { VALUE } else { NOTHING });
        cost
    }

    /// Adds a row with a list and returns its approximate memory cost in bytes.
    pub(super) fn add_list(&mut self, values: Option<impl IntoIterator<Item = Option<Value>>>) -> usize {
        let Some(values) = values else {
            self.definitions.push(NOTHING);
            self.repetitions.push(0);
            return 4;
        };
        let (mut cost, mut repetition) = (4, 0);
        for value in values {
            let (is_there, bytes) = self.keep(value);
            self.definitions.push(if is_there { IN_LIST } else { NULL_IN_LIST });
            self.repetitions.push(repetition);
            repetition = 1;
            cost += bytes + 4;
        }
        if repetition == 0 {
            self.definitions.push(EMPTY_LIST);
            self.repetitions.push(0);
        }
        cost
    }

    fn keep(&mut self, value: Option<Value>) -> (bool, usize) {
        match (&mut self.values, value) {
            (Values::Bool(values), Some(Value::Bool(value))) => values.push(value),
            // Keep the lower half: columns of unsigned numbers store the same bits.
            (Values::I32(values), Some(Value::Integer(value))) => {
                let [a, b, c, d, ..] = value.to_le_bytes();
                values.push(i32::from_le_bytes([a, b, c, d]));
            }
            (Values::I64(values), Some(Value::Integer(value))) => values.push(value),
            (Values::F32(values), Some(Value::F32(value))) => values.push(value),
            (Values::F64(values), Some(Value::F64(value))) => values.push(value),
            (Values::Bytes(values), Some(Value::Bytes(value))) => {
                let cost = value.len() + 64;
                values.push(value.into());
                return (true, cost);
            }
            _ => return (false, 2),
        }
        (true, 10)
    }

    /// Writes the buffered rows and clears them.
    pub(super) fn write(&mut self, writer: &mut ColumnWriter<'_>) -> Result<()> {
        let definitions = std::mem::take(&mut self.definitions);
        let repetitions = std::mem::take(&mut self.repetitions);
        let levels = (Some(definitions.as_slice()), self.is_list.then_some(repetitions.as_slice()));
        match (&mut self.values, writer) {
            (Values::Bool(values), ColumnWriter::BoolColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), levels.0, levels.1)
            }
            (Values::I32(values), ColumnWriter::Int32ColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), levels.0, levels.1)
            }
            (Values::I64(values), ColumnWriter::Int64ColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), levels.0, levels.1)
            }
            (Values::F32(values), ColumnWriter::FloatColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), levels.0, levels.1)
            }
            (Values::F64(values), ColumnWriter::DoubleColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), levels.0, levels.1)
            }
            (Values::Bytes(values), ColumnWriter::ByteArrayColumnWriter(writer)) => {
                writer.write_batch(&std::mem::take(values), levels.0, levels.1)
            }
            _ => return Err(ParquetError::General(format!("column {} has another type than its file", self.name))),
        }
        .map(drop)
    }
}
