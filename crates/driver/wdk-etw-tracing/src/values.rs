//! The values of an event: payload bytes, and the types that the metadata needs.

use core::fmt;

use tracing_core::Field;
use tracing_core::field::Visit;
use wdk_etw::__private::Formatting;
use wdk_etw::{FixedText, InType, Mode, OutType};

/// Bytes of all values of an event.
///
/// ```
/// const { assert!(wdk_etw_tracing::VALUES_SIZE >= 256, "the longest event of this driver") };
/// ```
pub const VALUES_SIZE: usize = 512;

/// Fields of one call site; `tracing` has no more.
pub(crate) const FIELDS: usize = 32;

/// Bytes of one text that was formatted.
const TEXT_SIZE: usize = 256;

/// What stands for a text that was not formatted.
const CUT: &str = "\u{2026}";

/// How a value is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    I64,
    U64,
    F64,
    Bool,
    Text,
    Bytes,
}

impl Kind {
    /// What the metadata says of it.
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

/// Which fields an event has, in their order, and how they are encoded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    fields: [Option<(u8, Kind)>; FIELDS],
    used: usize,
    /// How many fields had no room.
    pub(crate) cut: u32,
}

impl PartialEq for Shape {
    fn eq(&self, other: &Self) -> bool {
        self.used == other.used && self.cut == other.cut && self.fields().eq(other.fields())
    }
}

impl Shape {
    pub(crate) const EMPTY: Self = Self { fields: [None; FIELDS], used: 0, cut: 0 };

    /// The fields: their indices in the call site's set, and their kinds.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (usize, Kind)> {
        self.fields.iter().take(self.used).flatten().map(|(index, kind)| (usize::from(*index), *kind))
    }

    fn push(&mut self, index: usize, kind: Kind) -> bool {
        match (self.fields.get_mut(self.used), u8::try_from(index)) {
            (Some(place), Ok(index)) => {
                *place = Some((index, kind));
                self.used += 1;
                true
            }
            _ => false,
        }
    }
}

/// Collects the values of an event.
pub(crate) struct Values<M: Mode> {
    bytes: [u8; VALUES_SIZE],
    used: usize,
    pub(crate) shape: Shape,
    leave: Option<Formatting<M>>,
}

impl<M: Mode> Values<M> {
    pub(crate) const fn new() -> Self {
        Self { bytes: [0; VALUES_SIZE], used: 0, shape: Shape::EMPTY, leave: None }
    }

    /// The payload.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.used).unwrap_or_default()
    }

    fn scalar(&mut self, field: &Field, kind: Kind, value: &[u8]) {
        if !(self.fits(value.len()) && self.shape.push(field.index(), kind)) {
            self.shape.cut = self.shape.cut.saturating_add(1);
            return;
        }
        self.append(value);
    }

    fn counted(&mut self, field: &Field, kind: Kind, value: &[u8]) {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        if !(self.fits(size_of::<u16>() + value.len()) && self.shape.push(field.index(), kind)) {
            self.shape.cut = self.shape.cut.saturating_add(1);
            return;
        }
        self.append(&length.to_le_bytes());
        self.append(value);
    }

    fn fits(&self, size: usize) -> bool {
        self.used.checked_add(size).is_some_and(|end| end <= VALUES_SIZE)
    }

    /// Appends bytes that fit.
    fn append(&mut self, value: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.used..).and_then(|free| free.get_mut(..value.len())) {
            place.copy_from_slice(value);
            self.used += value.len();
        }
    }

    fn text(&mut self, field: &Field, arguments: fmt::Arguments<'_>) {
        if self.leave.is_none() {
            self.leave = Formatting::enter();
        }
        if self.leave.is_none() {
            self.counted(field, Kind::Text, CUT.as_bytes());
            return;
        }
        let mut text = FixedText::<TEXT_SIZE>::new();
        let text = text.format(arguments);
        self.counted(field, Kind::Text, text.as_bytes());
    }
}

impl<M: Mode> Visit for Values<M> {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.scalar(field, Kind::I64, &value.to_le_bytes());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.scalar(field, Kind::U64, &value.to_le_bytes());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.scalar(field, Kind::F64, &value.to_le_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.scalar(field, Kind::Bool, &[u8::from(value)]);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if self.fits(size_of::<u16>() + value.len()) {
            self.counted(field, Kind::Text, value.as_bytes());
        } else {
            // Cut as formatted text is.
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
