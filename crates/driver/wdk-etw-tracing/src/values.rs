//! The values of an event: payload bytes, and the types that the metadata needs.

use core::fmt;

use tracing_core::Field;
use tracing_core::field::Visit;
use wdk_etw::__private::{FixedBytes, Formatting};
use wdk_etw::{InType, Mode, OutType};

/// Maximum size of all values of an event, in bytes.
///
/// ```
/// const { assert!(wdk_etw_tracing::VALUES_SIZE >= 256, "the longest event of this driver") };
/// ```
pub const VALUES_SIZE: usize = 512;

/// Maximum number of fields of a call site. It is the limit of `tracing`.
pub(crate) const FIELDS: usize = 32;

/// Maximum size of a formatted text, in bytes.
const TEXT_SIZE: usize = 256;

/// Replaces a text that was not formatted.
const CUT: &str = "\u{2026}";

/// How a value is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    I64,
    U64,
    F64,
    Bool,
    Text,
    Bytes,
}

impl Kind {
    const BITS: u32 = 3;

    /// Returns the kind in the low bits of a byte.
    const fn from_bits(bits: u8) -> Self {
        match bits & ((1 << Self::BITS) - 1) {
            0 => Self::I64,
            1 => Self::U64,
            2 => Self::F64,
            3 => Self::Bool,
            4 => Self::Text,
            _ => Self::Bytes,
        }
    }

    /// Returns the types for the metadata.
    pub(crate) const fn types(self) -> (InType, OutType) {
        match self {
            Self::I64 => (InType::I64, OutType::Default),
            Self::U64 => (InType::U64, OutType::Default),
            Self::F64 => (InType::F64, OutType::Default),
            Self::Bool => (InType::U8, OutType::Boolean),
            Self::Text => (InType::Str8, OutType::Utf8),
            Self::Bytes => (InType::Binary, OutType::Default),
        }
    }
}

/// The fields of an event in their order, with their encodings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Shape {
    /// For each field, its kind in the low bits and its index in the call site's set above them. Unused elements are 0,
    /// so that two shapes can be compared as a whole.
    fields: [u8; FIELDS],
    used: usize,
    /// The number of fields that did not fit.
    pub(crate) cut: u32,
}

impl Shape {
    const EMPTY: Self = Self { fields: [0; FIELDS], used: 0, cut: 0 };

    /// Returns the index of each field in the call site's set, and its kind.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (usize, Kind)> {
        let fields = self.fields.iter().take(self.used);
        fields.map(|field| (usize::from(field >> Kind::BITS), Kind::from_bits(*field)))
    }

    fn push(&mut self, index: usize, kind: Kind) -> bool {
        match (self.fields.get_mut(self.used), u8::try_from(index << Kind::BITS)) {
            (Some(place), Ok(index)) => {
                *place = index | kind as u8;
                self.used += 1;
                true
            }
            _ => false,
        }
    }
}

const _: () = assert!((FIELDS - 1) << Kind::BITS <= u8::MAX as usize, "a field is one byte");

/// Collects the values of an event.
pub(crate) struct Values<M: Mode> {
    payload: FixedBytes<VALUES_SIZE>,
    pub(crate) shape: Shape,
    permit: Option<Formatting<M>>,
}

impl<M: Mode> Values<M> {
    pub(crate) const fn new() -> Self {
        Self { payload: FixedBytes::new(), shape: Shape::EMPTY, permit: None }
    }

    /// Returns the payload.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.payload.as_slice()
    }

    /// Adds a field whose value has `size` bytes to the shape. Returns false if it does not fit.
    fn enter(&mut self, field: &Field, kind: Kind, size: usize) -> bool {
        let is_in = size <= self.payload.room() && self.shape.push(field.index(), kind);
        if !is_in {
            self.shape.cut = self.shape.cut.saturating_add(1);
        }
        is_in
    }

    fn scalar<const N: usize>(&mut self, field: &Field, kind: Kind, value: [u8; N]) {
        if self.enter(field, kind, N) {
            self.payload.append(&value);
        }
    }

    fn counted(&mut self, field: &Field, kind: Kind, value: &[u8]) {
        if self.enter(field, kind, size_of::<u16>() + value.len()) {
            self.payload.append(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_le_bytes());
            self.payload.append(value);
        }
    }

    fn text(&mut self, field: &Field, arguments: fmt::Arguments<'_>) {
        if self.permit.is_none() {
            self.permit = Formatting::enter();
        }
        if self.permit.is_none() {
            self.counted(field, Kind::Text, CUT.as_bytes());
        } else if self.enter(field, Kind::Text, size_of::<u16>() + CUT.len()) {
            self.payload.counted_text(TEXT_SIZE, arguments);
        }
    }
}

impl<M: Mode> Visit for Values<M> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.scalar(field, Kind::I64, value.to_le_bytes());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.scalar(field, Kind::U64, value.to_le_bytes());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.scalar(field, Kind::F64, value.to_le_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.scalar(field, Kind::Bool, [u8::from(value)]);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if size_of::<u16>() + value.len() <= self.payload.room() {
            self.counted(field, Kind::Text, value.as_bytes());
        } else {
            // Truncates the text in the same way as formatted text.
            self.text(field, format_args!("{value}"));
        }
    }

    fn record_bytes(&mut self, field: &Field, value: &[u8]) {
        self.counted(field, Kind::Bytes, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.text(field, format_args!("{value:?}"));
    }
}
