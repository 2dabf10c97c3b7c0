//! What walks of a payload build: a tree, a list of values, or nothing.

use etw_manifest::{Field as SchemaField, ValueMap};
use etw_types::InType;
use etw_types::tracelogging::Value;

use super::flat_values::Item;
use super::tree::{Field, Node};
use super::value::{Scalar, show};
use super::walk::Sink;

/// Builds the tree of fields.
pub(super) struct Tree;

impl<'a> Sink<'a> for Tree {
    type Node = Node;
    type Fields = Vec<Field>;

    #[inline]
    fn value(&mut self, field: &SchemaField, in_type: InType, value: Value<'a>) -> Node {
        Node::Value(shown(field, in_type, value))
    }

    fn array(&mut self, _field: &SchemaField, nodes: Vec<Node>) -> Node {
        Node::Array(nodes)
    }

    fn structure(&mut self, fields: Vec<Field>) -> Node {
        Node::Struct(fields)
    }

    fn begin(&mut self, fields: usize) -> Vec<Field> {
        Vec::with_capacity(fields.min(64))
    }

    #[inline(always)] // A call would move the field, which takes longer than filling it in.
    fn push(&mut self, fields: &mut Vec<Field>, field: &SchemaField, in_type: InType, node: Node) {
        // `to_string` of an `Arc<str>` is slower, because it goes through `Display`.
        let name = String::from(&*field.name);
        fields.push(Field { name, tag: 0, in_type, out_type: field.out, node });
    }
}

/// Converts a value of a field to the form in which it is shown.
#[inline]
pub(super) fn shown(field: &SchemaField, in_type: InType, value: Value<'_>) -> Scalar {
    match &field.map {
        Some(map) => mapped(map, value).unwrap_or_else(|| show(in_type, field.out, value)),
        None => show(in_type, field.out, value),
    }
}

/// Returns the name of a number, or its digits if it has no name, so that all values of a field are text.
fn mapped(map: &ValueMap, value: Value<'_>) -> Option<Scalar> {
    let number = match value {
        Value::Unsigned(number) | Value::Hex(number) => number,
        Value::Signed(number) => number.cast_unsigned() & 0xFFFF_FFFF,
        Value::Bool32(number) => number.cast_unsigned().into(),
        _ => return None,
    };
    Some(Scalar::Text(map.text(number).unwrap_or_else(|| number.to_string())))
}

/// Keeps the values in their order, as they are in the payload.
pub(super) struct List;

impl<'a> Sink<'a> for List {
    type Node = Item<'a>;
    type Fields = Vec<Item<'a>>;

    #[inline]
    fn value(&mut self, _field: &SchemaField, in_type: InType, value: Value<'a>) -> Item<'a> {
        Item::One(in_type, value)
    }

    fn numbers(&mut self, _field: &SchemaField, in_type: InType, bytes: &'a [u8]) -> Item<'a> {
        Item::Array(in_type, bytes)
    }

    fn array(&mut self, _field: &SchemaField, nodes: Vec<Item<'a>>) -> Item<'a> {
        let single = |node| if let Item::One(in_type, value) = node { Some((in_type, value)) } else { None };
        Item::List(nodes.into_iter().filter_map(single).collect())
    }

    /// A flat event has no structs.
    fn structure(&mut self, _fields: Vec<Item<'a>>) -> Item<'a> {
        Item::List(Vec::new())
    }

    fn begin(&mut self, fields: usize) -> Vec<Item<'a>> {
        Vec::with_capacity(fields.min(64))
    }

    #[inline]
    fn push(&mut self, fields: &mut Vec<Item<'a>>, _field: &SchemaField, _in_type: InType, node: Item<'a>) {
        fields.push(node);
    }
}

/// Builds nothing; used to check whether a schema covers a payload.
pub(super) struct Count;

impl<'a> Sink<'a> for Count {
    type Node = ();
    type Fields = ();

    fn value(&mut self, _field: &SchemaField, _in_type: InType, _value: Value<'a>) {}
    fn numbers(&mut self, _field: &SchemaField, _in_type: InType, _bytes: &'a [u8]) {}
    fn array(&mut self, _field: &SchemaField, _nodes: Vec<()>) {}
    fn structure(&mut self, _fields: ()) {}
    fn begin(&mut self, _fields: usize) {}
    fn push(&mut self, _fields: &mut (), _field: &SchemaField, _in_type: InType, _node: ()) {}
}

/// Passes each value to a closure, and builds nothing.
pub(super) struct Show<'f, F>(pub(super) &'f mut F);

impl<'a, F: FnMut(&SchemaField, Value<'a>)> Sink<'a> for Show<'_, F> {
    type Node = ();
    type Fields = ();

    fn value(&mut self, field: &SchemaField, _in_type: InType, value: Value<'a>) {
        (self.0)(field, value);
    }

    fn array(&mut self, _field: &SchemaField, _nodes: Vec<()>) {}
    fn structure(&mut self, _fields: ()) {}
    fn begin(&mut self, _fields: usize) {}
    fn push(&mut self, _fields: &mut (), _field: &SchemaField, _in_type: InType, _node: ()) {}
}
