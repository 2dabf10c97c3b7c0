//! The values of an event without structs, in their order.

use etw_types::InType;
use etw_types::tracelogging::Value;

/// A number in a payload: where it is, and its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberPlace {
    /// Bytes from the start of the payload.
    pub offset: usize,
    /// The encoding. It has a fixed size.
    pub in_type: InType,
}

impl NumberPlace {
    /// Returns the value, or `None` if its encoding is rare: then [`Self::read`] returns it.
    #[inline(always)]
    pub(super) fn number<'a>(&self, payload: &'a [u8]) -> Option<Value<'a>> {
        Value::split_number(self.in_type, payload.get(self.offset..)?).map(|(value, _)| value)
    }

    // Otherwise every value passes through memory on its way to the caller.
    #[inline(always)]
    pub(super) fn read<'a>(&self, payload: &'a [u8]) -> Option<Value<'a>> {
        Value::split(self.in_type, payload.get(self.offset..)?).map(|(value, _)| value)
    }
}

/// The values of an event whose fields are numbers at fixed places, except that the last one may be an array that takes the rest
/// of the payload.
#[derive(Clone, Copy, Debug)]
pub struct FixedValues<'d, 'a> {
    /// The places of the numbers. The payload has all of them.
    pub places: &'d [NumberPlace],
    /// The payload.
    pub payload: &'a [u8],
    /// The array, which is not empty.
    pub array: Option<Elements<'d, 'a>>,
}

impl<'d, 'a> FixedValues<'d, 'a> {
    pub(super) const fn new(places: &'d [NumberPlace], payload: &'a [u8], array: Option<(InType, &'a [u8])>) -> Self {
        let array = match array {
            Some((in_type, bytes)) => Some(Elements(Form::Bytes(in_type, bytes))),
            None => None,
        };
        Self { places, payload, array }
    }
}

/// The values of an event whose fields are single values or arrays of numbers.
#[derive(Clone, Debug)]
pub(super) enum FlatValues<'d, 'a> {
    Fixed(FixedValues<'d, 'a>),
    /// One item for each field.
    Each(Vec<Item<'a>>),
}

/// The value of a field.
#[derive(Clone, Debug)]
pub(super) enum Item<'a> {
    One(InType, Value<'a>),
    /// The elements of an array, as they are in the payload. Their encoding has a fixed size.
    Array(InType, &'a [u8]),
    List(Vec<(InType, Value<'a>)>),
}

/// The value of a field of a [`Flat`](super::Flat) event.
#[derive(Clone, Copy, Debug)]
pub enum FlatValue<'f, 'a> {
    /// A single value and its encoding.
    One(InType, Value<'a>),
    /// An array.
    Many(Elements<'f, 'a>),
}

/// The elements of an array.
///
/// ```
/// use etw_etl::Elements;
///
/// fn largest(elements: Elements<'_, '_>) -> Option<u64> {
///     use etw_types::{InType, tracelogging::Value};
///     // Addresses are often those of a whole stack, which need not be looked at one by one.
///     if let Some((InType::Hex64, bytes)) = elements.bytes() {
///         return bytes.as_chunks().0.iter().map(|raw| u64::from_le_bytes(*raw)).max();
///     }
///     assert_eq!(elements.is_empty(), elements.get(0).is_none());
///     elements.iter().filter_map(|(_, value)| if let Value::Unsigned(number) = value { Some(number) } else { None }).max()
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Elements<'f, 'a>(Form<'f, 'a>);

#[derive(Clone, Copy, Debug)]
enum Form<'f, 'a> {
    Bytes(InType, &'a [u8]),
    List(&'f [(InType, Value<'a>)]),
}

impl<'a> Elements<'_, 'a> {
    /// Returns the encoding of the elements and their bytes, if the array lies in the payload without gaps.
    #[must_use]
    pub const fn bytes(self) -> Option<(InType, &'a [u8])> {
        match self.0 {
            Form::Bytes(in_type, bytes) => Some((in_type, bytes)),
            Form::List(_) => None,
        }
    }

    /// Returns whether the array has no elements.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        match self.0 {
            Form::Bytes(_, bytes) => bytes.is_empty(),
            Form::List(list) => list.is_empty(),
        }
    }

    /// Returns an element and its encoding.
    #[must_use]
    pub fn get(self, index: usize) -> Option<(InType, Value<'a>)> {
        match self.0 {
            Form::Bytes(in_type, bytes) => {
                let offset = in_type.fixed_size()?.checked_mul(index)?;
                NumberPlace { offset, in_type }.read(bytes).map(|value| (in_type, value))
            }
            Form::List(list) => list.get(index).copied(),
        }
    }
}

impl<'f, 'a> Elements<'f, 'a> {
    /// Returns the elements and their encodings.
    pub fn iter(self) -> impl Iterator<Item = (InType, Value<'a>)> + use<'f, 'a> {
        (0..).map_while(move |index| self.get(index))
    }
}

impl<'a> FlatValues<'_, 'a> {
    /// Returns the number of fields.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Fixed(fixed) => fixed.places.len() + usize::from(fixed.array.is_some()),
            Self::Each(items) => items.len(),
        }
    }

    /// Returns the value of a field.
    #[inline]
    pub(super) fn get(&self, field: usize) -> Option<FlatValue<'_, 'a>> {
        match self {
            Self::Fixed(fixed) => match fixed.places.get(field) {
                Some(place) => place.read(fixed.payload).map(|value| FlatValue::One(place.in_type, value)),
                None => fixed.array.filter(|_| field == fixed.places.len()).map(FlatValue::Many),
            },
            Self::Each(items) => Some(match items.get(field)? {
                Item::One(in_type, value) => FlatValue::One(*in_type, *value),
                Item::Array(in_type, bytes) => FlatValue::Many(Elements(Form::Bytes(*in_type, bytes))),
                Item::List(list) => FlatValue::Many(Elements(Form::List(list))),
            }),
        }
    }
}
