//! Adds an event to its columns without a tree of fields.

use std::ops::Range;
use std::sync::Arc;

use etw_etl::decode::{Node, Scalar};
use etw_etl::{Elements, Flat, FlatValue};
use etw_types::tracelogging::Value as Encoded;
use etw_types::{InType, OutType};

use super::column::Column;
use super::fields::{Shape, TO_1970, kind, value_of};
use super::kind::{Kind, Value};

/// File times that are dates.
const DATES: Range<i64> = 0..2_650_467_744_000_000_000;

/// Maximum number of names of values that are kept for a kind of event.
const MAX_NAMES: usize = 16;

/// The names of the numbers that the fields of a kind of event had last: the field, the number and its name. Flags have a name for
/// each combination, which takes long to put together.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueNames(Vec<(usize, i64, Arc<str>)>);

impl ValueNames {
    fn get(&self, field: usize, value: Encoded<'_>) -> Option<Arc<str>> {
        let number = number(value)?;
        self.0.iter().find(|known| (known.0, known.1) == (field, number)).map(|known| Arc::clone(&known.2))
    }

    fn insert(&mut self, field: usize, value: Encoded<'_>, name: &str) {
        if self.0.len() >= MAX_NAMES {
            self.0.clear();
        }
        self.0.extend(number(value).map(|number| (field, number, name.into())));
    }
}

/// A cell of a value that is not plain.
enum Shown {
    Name(Arc<str>),
    Value(Option<Value<'static>>),
}

/// A flat event that fits the columns of its file.
pub(super) struct Fitting<'f, 'a> {
    flat: &'f Flat<'f, 'a>,
    /// The index and the cell of each value that is not plain.
    shown: Vec<(usize, Shown)>,
    /// Whether the columns represent all values exactly.
    pub(super) is_exact: bool,
}

impl<'f, 'a> Fitting<'f, 'a> {
    /// Returns the event if earlier ones with the same encodings fitted, and their types do not depend on values.
    pub(super) fn like_others(flat: &'f Flat<'_, 'a>, shapes: &[Shape]) -> Option<Self> {
        // The type of an empty array is not certain.
        let is_empty = |value| matches!(value, FlatValue::Many(elements) if elements.is_empty());
        let fits = flat.field_count() == shapes.len()
            && !(shapes.iter().any(|shape| shape.is_list) && flat.fields().any(|(_, value)| is_empty(value)));
        fits.then_some(Self { flat, shown: Vec::new(), is_exact: true })
    }

    /// Returns whether the types of all columns follow from the encodings: all fields are numbers or arrays of them.
    pub(super) fn is_certain(&self) -> bool {
        self.shown.is_empty()
            && self.flat.fields().all(|(_, value)| match value {
                FlatValue::One(_, value) => matches!(
                    value,
                    Encoded::Unsigned(_) | Encoded::Signed(_) | Encoded::Hex(_) | Encoded::F32(_) | Encoded::F64(_)
                ),
                // A column of integers has taken its elements.
                FlatValue::Many(_) => true,
            })
    }

    /// Returns `None` if the event does not have these columns: the type of a column can depend on a value, and an event may end
    /// early.
    pub(super) fn new(flat: &'f Flat<'_, 'a>, shapes: &[Shape], names: &mut ValueNames) -> Option<Self> {
        if flat.field_count() != shapes.len() {
            return None;
        }
        let mut fitting = Self { flat, shown: Vec::new(), is_exact: true };
        for (index, ((field, value), shape)) in flat.fields().zip(shapes).enumerate() {
            let is_mapped = field.map.is_some();
            let fits = match value {
                FlatValue::One(in_type, value) => {
                    if let Some(kind) = plain_kind(in_type, field.out, value, is_mapped) {
                        // A column has microseconds.
                        fitting.is_exact &= !matches!(value, Encoded::FileTime(time) if time % 10 != 0);
                        kind == shape.kind && !shape.is_list
                    } else if let Some(name) = names.get(index, value).filter(|_| is_mapped) {
                        fitting.shown.push((index, Shown::Name(name)));
                        shape.kind == Kind::Text && !shape.is_list
                    } else {
                        let Node::Value(shown) = FlatValue::One(in_type, value).node(field) else { return None };
                        let fits = !shape.is_list && kind(in_type, field.out, Some(&shown)) == shape.kind;
                        if let (true, Kind::Text, Scalar::Text(name)) = (is_mapped && fits, shape.kind, &shown) {
                            names.insert(index, value, name);
                        }
                        let (value, is_exact) = value_of(&shown, shape.kind);
                        fitting.is_exact &= is_exact;
                        fitting.shown.push((index, Shown::Value(value.map(into_owned))));
                        fits
                    }
                }
                // The type of an empty array is not certain. All elements have the encoding of the first one.
                FlatValue::Many(elements) => {
                    let first = elements.get(0);
                    let kind = first.and_then(|(in_type, value)| plain_kind(in_type, field.out, value, is_mapped));
                    shape.is_list && matches!(shape.kind, Kind::Integer(..)) && kind == Some(shape.kind)
                }
            };
            if !fits {
                return None;
            }
        }
        Some(fitting)
    }

    /// Adds a row to each column and returns its approximate memory cost in bytes. `letters` has the memory for a text.
    pub(super) fn add(self, columns: &mut [Column], letters: &mut Vec<u8>) -> usize {
        let mut shown = self.shown.into_iter().peekable();
        let mut cost = 0;
        for (index, ((_, value), column)) in self.flat.fields().zip(columns).enumerate() {
            cost += match (shown.next_if(|(place, _)| *place == index), value) {
                (Some((_, Shown::Name(name))), _) => column.add_text(Some(&name)),
                (Some((_, Shown::Value(cell))), _) => column.add(cell),
                (None, FlatValue::One(_, Encoded::Utf16(text))) => {
                    letters.clear();
                    letters.extend(text.as_chunks::<2>().0.iter().map(|[low, _]| *low));
                    column.add(Some(Value::Bytes(letters.as_slice().into())))
                }
                (None, FlatValue::One(_, value)) => column.add(plain(value)),
                (None, FlatValue::Many(elements)) => add_list(column, elements),
            };
        }
        cost
    }
}

/// Adds a row with the integers of an array, and returns its approximate memory cost in bytes.
pub(super) fn add_list(column: &mut Column, elements: Elements<'_, '_>) -> usize {
    match elements.bytes() {
        Some((InType::U64 | InType::I64 | InType::Hex64, bytes)) => {
            column.add_integers(bytes.as_chunks().0.iter().map(|raw| i64::from_le_bytes(*raw)))
        }
        Some((InType::U32 | InType::Hex32, bytes)) => {
            column.add_integers(bytes.as_chunks().0.iter().map(|raw| u32::from_le_bytes(*raw).into()))
        }
        _ => {
            let numbers: Vec<i64> = elements.iter().map(|(_, value)| integer(value)).collect();
            column.add_integers(numbers.into_iter())
        }
    }
}

/// Returns the column type of the most frequent values: numbers and valid text, which need not be shown to become cells.
#[inline]
fn plain_kind(in_type: InType, out_type: OutType, value: Encoded<'_>, is_mapped: bool) -> Option<Kind> {
    let bits = || in_type.fixed_size().and_then(|bytes| u8::try_from(8 * bytes).ok());
    match value {
        _ if is_mapped => None,
        Encoded::Unsigned(_)
            if matches!(
                out_type,
                OutType::Default | OutType::Unsigned | OutType::Hex | OutType::Pid | OutType::Tid
            ) =>
        {
            Some(Kind::Integer(bits()?, false))
        }
        Encoded::Signed(_) if matches!(out_type, OutType::Default | OutType::Signed | OutType::Pid | OutType::Tid) => {
            Some(Kind::Integer(bits()?, true))
        }
        Encoded::Hex(_) if matches!(out_type, OutType::Default | OutType::Hex) => Some(Kind::Integer(bits()?, false)),
        Encoded::F32(_) => Some(Kind::F32),
        Encoded::F64(_) => Some(Kind::F64),
        Encoded::FileTime(time) => DATES.contains(&time).then_some(Kind::Microseconds),
        Encoded::Text(text) => str::from_utf8(text).is_ok().then_some(Kind::Text),
        Encoded::Utf16(text) => {
            // Without an early exit, so that many characters are looked at at once.
            let bits = text.as_chunks().0.iter().fold(0, |bits, unit| bits | u16::from_le_bytes(*unit));
            (bits < 0x80).then_some(Kind::Text)
        }
        _ => None,
    }
}

/// Returns the value of a cell, for values that have a plain type and are not UTF-16.
#[inline]
fn plain(value: Encoded<'_>) -> Option<Value<'_>> {
    match value {
        Encoded::Unsigned(_) | Encoded::Signed(_) | Encoded::Hex(_) => Some(Value::Integer(integer(value))),
        Encoded::F32(number) => Some(Value::F32(number)),
        Encoded::F64(number) => Some(Value::F64(number)),
        // As text, a date of 0 is the number: it was never set.
        Encoded::FileTime(0) => None,
        Encoded::FileTime(time) => Some(Value::Integer((time - TO_1970) / 10)),
        Encoded::Text(text) => Some(Value::Bytes(text.into())),
        _ => None,
    }
}

/// Returns the bits of an integer.
#[inline]
const fn number(value: Encoded<'_>) -> Option<i64> {
    match value {
        Encoded::Unsigned(number) | Encoded::Hex(number) => Some(number.cast_signed()),
        Encoded::Signed(number) => Some(number),
        _ => None,
    }
}

/// Returns the bits of an integer, and 0 for other values.
#[inline]
fn integer(value: Encoded<'_>) -> i64 {
    number(value).unwrap_or_default()
}

fn into_owned(value: Value<'_>) -> Value<'static> {
    match value {
        Value::Bool(value) => Value::Bool(value),
        Value::Integer(value) => Value::Integer(value),
        Value::F32(value) => Value::F32(value),
        Value::F64(value) => Value::F64(value),
        Value::Bytes(value) => Value::Bytes(value.into_owned().into()),
    }
}
