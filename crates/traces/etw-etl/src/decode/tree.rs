//! The fields of an event as a tree.

use std::fmt;

use etw_types::tracelogging::{self, Count, Value, Visitor};
use etw_types::{InType, OutType};

use super::plan::{FREE_NAMES, FREE_VALUES, NAMES_PER_BYTE, VALUES_PER_BYTE};
use super::value::escape::escaped;
use super::value::{Scalar, show};
use crate::digits::hex;
use crate::event::name_text;

/// A field and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name; bytes that are not UTF-8 are escaped.
    pub name: String,
    /// The provider-defined tag.
    pub tag: u32,
    /// Encoding of the value.
    pub in_type: InType,
    /// Format of the value; for a struct, the number of its fields.
    pub out_type: OutType,
    /// The value.
    pub node: Node,
}

// Allocators are slower for large allocations. With this size, the fields of an event with a dozen values are a small one.
const _: () = assert!(size_of::<Field>() <= 80);

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A single value.
    Value(Scalar),
    /// An array of values or structs.
    Array(Vec<Node>),
    /// The fields of a struct.
    Struct(Vec<Field>),
    /// Bytes in an encoding that the provider defines, and its description.
    Custom {
        /// The description of the encoding from the metadata.
        description: Box<[u8]>,
        /// The bytes.
        bytes: Box<[u8]>,
    },
}

impl Field {
    /// Creates a field of UTF-16 text that no metadata describes.
    pub(crate) fn string(name: &str, utf16: &[u8]) -> Self {
        let node = Node::Value(show(InType::CStr16, OutType::Default, Value::Utf16(utf16)));
        Self { name: name.into(), tag: 0, in_type: InType::CStr16, out_type: OutType::Default, node }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.name))?;
        if self.tag != 0 {
            write!(f, "[tag={:#x}]", self.tag)?;
        }
        if self.out_type == OutType::NoPrint && self.in_type != InType::Struct {
            return f.write_str("=(not printed)");
        }
        write!(f, "={}", self.node)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Array(nodes) => {
                f.write_str("[")?;
                for (index, node) in nodes.iter().enumerate() {
                    write!(f, "{}{node}", if index == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Struct(fields) => {
                f.write_str("{")?;
                for (index, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if index == 0 { "" } else { " " })?;
                }
                f.write_str("}")
            }
            Self::Custom { bytes, .. } => f.write_str(&hex(bytes)),
        }
    }
}

impl Node {
    /// Returns the text of a value in a message, as Windows formats it: texts are not quoted, GUIDs are in braces, and bytes are a
    /// hexadecimal number.
    pub(super) fn into_insert(self, in_type: InType, out_type: OutType) -> String {
        let is_address = matches!(out_type, OutType::IPv4 | OutType::IPv6 | OutType::SocketAddress);
        match self {
            Self::Value(Scalar::Word(text)) if in_type == InType::Guid => format!("{{{text}}}"),
            Self::Value(Scalar::Word(text)) if in_type == InType::Binary && !is_address => {
                format!("0x{}", text.to_ascii_uppercase())
            }
            Self::Value(Scalar::Text(text) | Scalar::Word(text)) => text,
            // Formatting 128 bits takes several times as long.
            Self::Value(Scalar::Integer(number)) => {
                i64::try_from(number).map_or_else(|_| number.to_string(), |number| number.to_string())
            }
            node => node.to_string(),
        }
    }
}

/// An incomplete array or struct.
enum Open {
    Array(Vec<Node>),
    Struct(Vec<Field>),
}

/// Builds the tree while `etw-types` walks the payload.
pub(super) struct TreeBuilder {
    fields: Vec<Field>,
    open: Vec<(Field, Open)>,
    /// How many values and structs, and how many bytes of names, may still be added. Structs need no bytes of the payload, and a
    /// few bytes must not expand to a lot of text.
    left: usize,
    names: usize,
    is_cut: bool,
}

impl TreeBuilder {
    /// Creates a builder for a payload of this length.
    pub(super) fn new(payload: usize) -> Self {
        let left = FREE_VALUES.saturating_add(VALUES_PER_BYTE.saturating_mul(payload));
        let names = FREE_NAMES.saturating_add(NAMES_PER_BYTE.saturating_mul(payload));
        Self { fields: Vec::new(), open: Vec::new(), left, names, is_cut: false }
    }

    /// Returns whether values were left out because there were too many.
    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns whether there is room for one more value with a name of this length.
    fn has_room(&mut self, name: usize) -> bool {
        match (self.left.checked_sub(1), self.names.checked_sub(name)) {
            (Some(left), Some(names)) if !self.is_cut => {
                (self.left, self.names) = (left, names);
                true
            }
            _ => {
                self.is_cut = true;
                false
            }
        }
    }

    /// Returns the fields. Arrays and structs that an error left open are closed as they are.
    pub(super) fn finish(mut self) -> Vec<Field> {
        while !self.open.is_empty() {
            self.close();
        }
        self.fields
    }

    fn add(&mut self, field: Field) {
        match self.open.last_mut() {
            None => self.fields.push(field),
            Some((_, Open::Array(nodes))) => nodes.push(field.node),
            Some((_, Open::Struct(fields))) => fields.push(field),
        }
    }

    /// Ends the innermost array or struct. The end of a skipped one ends the one around it, to which nothing is added any more.
    fn close(&mut self) {
        if let Some((mut field, open)) = self.open.pop() {
            field.node = match open {
                Open::Array(nodes) => joined(&field, &nodes).unwrap_or(Node::Array(nodes)),
                Open::Struct(fields) => Node::Struct(fields),
            };
            self.add(field);
        }
    }
}

/// Converts an array of characters to a string. Returns `None` for any other array, and if an element is not a character.
fn joined(field: &Field, nodes: &[Node]) -> Option<Node> {
    let is_text = matches!(field.out_type, OutType::String | OutType::Utf8 | OutType::Xml | OutType::Json);
    let is_unit = matches!(field.in_type, InType::I8 | InType::U8 | InType::U16);
    let character = |node: &Node| if let Node::Value(Scalar::Text(text)) = node { Some(text.clone()) } else { None };
    (is_text && is_unit).then_some(())?;
    nodes.iter().map(character).collect::<Option<String>>().map(|text| Node::Value(Scalar::Text(text)))
}

fn new_field(field: &tracelogging::Field<'_>, node: Node) -> Field {
    Field { name: name_text(field.name), tag: field.tag, in_type: field.in_type, out_type: field.out_type, node }
}

impl<'a> Visitor<'a> for TreeBuilder {
    fn value(&mut self, field: &tracelogging::Field<'a>, value: Value<'a>) {
        if !self.has_room(field.name.len()) {
            return;
        }
        let node = Node::Value(show(field.in_type, field.out_type, value));
        self.add(new_field(field, node));
    }

    fn begin_array(&mut self, field: &tracelogging::Field<'a>, _count: u16) {
        if !self.has_room(field.name.len()) {
            return;
        }
        self.open.push((new_field(field, Node::Array(Vec::new())), Open::Array(Vec::new())));
    }

    fn end_array(&mut self, _field: &tracelogging::Field<'a>) {
        self.close();
    }

    fn begin_struct(&mut self, field: &tracelogging::Field<'a>) {
        if !self.has_room(field.name.len()) {
            return;
        }
        self.open.push((new_field(field, Node::Struct(Vec::new())), Open::Struct(Vec::new())));
    }

    fn end_struct(&mut self, _field: &tracelogging::Field<'a>) {
        self.close();
    }

    fn custom(&mut self, field: &tracelogging::Field<'a>, bytes: &'a [u8]) {
        if !self.has_room(field.name.len()) {
            return;
        }
        let description = if let Count::Custom(description) = field.count { description } else { &[] };
        let node = Node::Custom { description: description.into(), bytes: bytes.into() };
        self.add(new_field(field, node));
    }
}
