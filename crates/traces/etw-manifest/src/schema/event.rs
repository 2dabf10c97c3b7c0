//! The schema of one kind of event.

use std::borrow::Cow;
use std::sync::Arc;

use etw_types::OutType;

use crate::types::Encoding;

/// Where a schema comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The trace itself.
    Trace,
    /// A file that the user named.
    File,
    /// The classes that are built into this crate.
    BuiltIn,
}

/// Names, fields and message of one kind of event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventSchema {
    /// The provider's name; for a kernel event, the name of its class.
    pub provider: Arc<str>,
    /// The event's name: task and opcode, or the type of a classic event.
    pub name: Arc<str>,
    /// The level's name.
    pub level: Option<Box<str>>,
    /// The channel's name.
    pub channel: Option<Box<str>>,
    /// The names of the keywords.
    pub keywords: Vec<Box<str>>,
    /// The message, with inserts such as `%1`.
    pub message: Option<Box<str>>,
    /// All fields. The members of structs come after the event's own fields.
    pub fields: Arc<[Field]>,
    /// How many of the fields, from the first on, are the event's own.
    pub top_level: usize,
    /// Where the schema comes from.
    pub source: Source,
}

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of the field.
    pub name: Arc<str>,
    /// How the value is encoded in the payload.
    pub encoding: Encoding,
    /// How the value is shown.
    pub out: OutType,
    /// Number of values, if the field is an array.
    pub count: Extent,
    /// Length of text in characters or of binary data in bytes, if the encoding has neither a terminator nor a length of its own.
    pub length: Extent,
    /// Names of the values.
    pub map: Option<Arc<ValueMap>>,
}

impl Field {
    /// Creates a field with a single value in the default format.
    #[must_use]
    pub fn new(name: &str, encoding: Encoding) -> Self {
        let count = Extent::None;
        let length = Extent::None;
        Self { name: name.into(), encoding, out: OutType::Default, count, length, map: None }
    }
}

/// Maximum length of a provider, event, field or value name, in characters. The names of Windows have fewer than 200.
const MAX_NAME: usize = 512;

/// Returns a name, cut off with an ellipsis if it is too long. A schema's names are repeated for every event, so a small input
/// with a long name would otherwise produce a large output.
pub(crate) fn limited(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(MAX_NAME) {
        Some((end, _)) => Cow::Owned(format!("{}…", name.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(name),
    }
}

/// A count or length that is given by the schema or by the event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Not given.
    #[default]
    None,
    /// This number.
    Fixed(u16),
    /// The value of another field, given by its index in the schema's list.
    Field(u16),
    /// As many values as the rest of the payload holds.
    Rest,
}

/// Names of values, or of bits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueMap {
    /// The map's name.
    pub name: Box<str>,
    /// Whether the values are bits that may be combined.
    pub is_bits: bool,
    /// Values and names, ordered by value.
    pub entries: Vec<MapEntry>,
}

/// A value and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MapEntry {
    /// The value, or the bits.
    pub value: u32,
    /// The name of the value.
    pub name: Box<str>,
}

impl ValueMap {
    /// Creates a map with these entries.
    #[must_use]
    pub fn new(name: &str, is_bits: bool, mut entries: Vec<MapEntry>) -> Self {
        for entry in &mut entries {
            entry.name = limited(&entry.name).into();
        }
        entries.sort_by_key(|entry| entry.value);
        Self { name: name.into(), is_bits, entries }
    }

    /// Returns the name of a value, or `None` if it has none. For a bit map, the names of the bits are joined, and bits without a
    /// name follow as a number.
    #[must_use]
    pub fn text(&self, value: u64) -> Option<String> {
        let exact = |value: u64| {
            let value = u32::try_from(value).ok()?;
            let place = self.entries.binary_search_by_key(&value, |entry| entry.value).ok()?;
            self.entries.get(place).map(|entry| entry.name.to_string())
        };
        if let Some(name) = exact(value) {
            return Some(name);
        }
        if !self.is_bits || value == 0 {
            return None;
        }
        let mut left = value;
        let mut names: Vec<String> = Vec::new();
        for entry in &self.entries {
            let bits = u64::from(entry.value);
            if bits != 0 && value & bits == bits {
                left &= !bits;
                names.push(entry.name.to_string());
            }
        }
        if left != 0 {
            names.push(format!("{left:#x}"));
        }
        Some(names.join("|"))
    }
}

#[cfg(test)]
mod tests {
    use super::{MapEntry, ValueMap};

    fn map(is_bits: bool, entries: &[(u32, &str)]) -> ValueMap {
        let entries = entries.iter().map(|(value, name)| MapEntry { value: *value, name: (*name).into() }).collect();
        ValueMap::new("Map", is_bits, entries)
    }

    #[test]
    fn long_names_are_cut() {
        let long = "n".repeat(600);
        let text = map(false, &[(1, &long)]).text(1).unwrap();
        assert_eq!(text.chars().count(), 513);
        assert!(text.ends_with('…'));
    }

    #[test]
    fn values_have_names_and_bits_are_joined() {
        let values = map(false, &[(7, "Seven"), (1, "One")]);
        assert_eq!(values.text(7).as_deref(), Some("Seven"));
        assert_eq!(values.text(8), None);
        assert_eq!(values.text(0x1_0000_0007), None);
        let bits = map(true, &[(4, "C"), (1, "A"), (2, "B"), (0, "None")]);
        assert_eq!(bits.text(5).as_deref(), Some("A|C"));
        assert_eq!(bits.text(0x11).as_deref(), Some("A|0x10"));
        assert_eq!(bits.text(0).as_deref(), Some("None"));
        assert_eq!(map(true, &[(1, "A")]).text(0), None);
    }
}
