//! The types of columns and of their values.

use std::borrow::Cow;
use std::sync::Arc;

use parquet::basic::{ConvertedType, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::errors::Result;
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

impl Kind {
    /// Returns the name of the type.
    pub(super) fn name(self, is_list: bool) -> String {
        let name = match self {
            Self::Bool => "bool".to_owned(),
            Self::Integer(bits, is_signed) => format!("{}{bits}", if is_signed { 'i' } else { 'u' }),
            Self::F32 => "f32".to_owned(),
            Self::F64 => "f64".to_owned(),
            Self::Nanoseconds | Self::Microseconds => "time".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Json => "json".to_owned(),
            Self::Bytes => "bytes".to_owned(),
        };
        if is_list { format!("list of {name}") } else { name }
    }

    /// Whether the values are unsigned integers.
    pub(super) const fn is_unsigned(self) -> bool {
        matches!(self, Self::Integer(_, false))
    }

    /// Returns a column of this type as a part of the file schema.
    pub(super) fn schema(self, name: &str, is_list: bool) -> Result<TypePtr> {
        let value = |name: &str| {
            let (physical, logical) = match self {
                Self::Bool => (Physical::BOOLEAN, None),
                Self::Integer(bits, is_signed) => {
                    let physical = if bits <= 32 { Physical::INT32 } else { Physical::INT64 };
                    (physical, Some(LogicalType::Integer { bit_width: bits.cast_signed(), is_signed }))
                }
                Self::F32 => (Physical::FLOAT, None),
                Self::F64 => (Physical::DOUBLE, None),
                Self::Nanoseconds => {
                    let logical = LogicalType::Timestamp { is_adjusted_to_u_t_c: true, unit: TimeUnit::NANOS };
                    (Physical::INT64, Some(logical))
                }
                Self::Microseconds => {
                    let logical = LogicalType::Timestamp { is_adjusted_to_u_t_c: true, unit: TimeUnit::MICROS };
                    (Physical::INT64, Some(logical))
                }
                Self::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
                Self::Json => (Physical::BYTE_ARRAY, Some(LogicalType::Json)),
                Self::Bytes => (Physical::BYTE_ARRAY, None),
            };
            let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
            builder.with_logical_type(logical).build().map(Arc::new)
        };
        if !is_list {
            return value(name);
        }
        let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
        let list = Arc::new(list.with_fields(vec![value("element")?]).build()?);
        let group = Type::group_type_builder(name).with_repetition(Repetition::OPTIONAL);
        let group = group.with_logical_type(Some(LogicalType::List)).with_converted_type(ConvertedType::LIST);
        group.with_fields(vec![list]).build().map(Arc::new)
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
