//! Converts the fields of an event to columns.

use etw_etl::decode::{Field, Node, Scalar};
use etw_types::{InType, OutType};

use super::kind::{Cell, Kind, Value};

/// The column of a field: its name, its type, and whether it is a list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_list: bool,
}

/// Calls `each` for every column of an event's fields. The column of a struct member is named after the struct and the member.
pub(super) fn visit<'a>(fields: &'a [Field], prefix: &str, each: &mut impl FnMut(String, &'a Field)) {
    for field in fields {
        let name = if prefix.is_empty() { field.name.clone() } else { format!("{prefix}.{}", field.name) };
        match &field.node {
            Node::Struct(members) => visit(members, &name, each),
            _ => each(name, field),
        }
    }
}

/// Returns the column of a field.
pub(super) fn shape(name: String, field: &Field) -> Shape {
    let kind = |value: Option<&Scalar>| kind(field.in_type, field.out_type, value);
    match &field.node {
        Node::Value(value) => Shape { name, kind: kind(Some(value)), is_list: false },
        Node::Array(nodes)
            if nodes.iter().all(|node| matches!(node, Node::Value(_))) && field.in_type != InType::Struct =>
        {
            let first = nodes.iter().find_map(|node| if let Node::Value(value) = node { Some(value) } else { None });
            Shape { name, kind: kind(first), is_list: true }
        }
        Node::Array(_) | Node::Struct(_) | Node::Custom { .. } => Shape { name, kind: Kind::Json, is_list: false },
    }
}

/// Returns the type of a field's values: that of its schema, or text for integers that are shown by name.
pub(super) fn kind(in_type: InType, out_type: OutType, value: Option<&Scalar>) -> Kind {
    let is_time = matches!(out_type, OutType::DateTime | OutType::DateTimeCultureInsensitive | OutType::DateTimeUtc);
    match (in_type, value) {
        (InType::FileTime | InType::SystemTime, _) => Kind::Microseconds,
        (InType::I64 | InType::U64, _) if is_time => Kind::Microseconds,
        (InType::Hex32, Some(Scalar::Word(word))) if word.starts_with("0x") && !word.contains(' ') => {
            Kind::Integer(32, false)
        }
        (InType::Hex64, Some(Scalar::Word(word))) if word.starts_with("0x") && !word.contains(' ') => {
            Kind::Integer(64, false)
        }
        (InType::U8 | InType::I8, Some(Scalar::Word(_))) if out_type == OutType::Hex => Kind::Integer(8, false),
        (InType::U16 | InType::I16, Some(Scalar::Word(_))) if out_type == OutType::Hex => Kind::Integer(16, false),
        (InType::U32 | InType::I32, Some(Scalar::Word(_))) if out_type == OutType::Hex => Kind::Integer(32, false),
        (InType::U64 | InType::I64, Some(Scalar::Word(_))) if out_type == OutType::Hex => Kind::Integer(64, false),
        (InType::Binary | InType::BinaryC, Some(Scalar::Word(_)))
            if !matches!(out_type, OutType::IPv4 | OutType::IPv6 | OutType::SocketAddress) =>
        {
            Kind::Bytes
        }
        // Text, the name of a value, a status, an address.
        (_, Some(Scalar::Text(_) | Scalar::BadText { .. } | Scalar::Word(_) | Scalar::Numbers(_))) => Kind::Text,
        (InType::Bool32, _) => Kind::Bool,
        (
            InType::I8 | InType::I16 | InType::I32 | InType::I64 | InType::U8 | InType::U16 | InType::U32 | InType::U64,
            _,
        ) if out_type == OutType::Boolean => Kind::Bool,
        (InType::I8, _) => Kind::Integer(8, out_type != OutType::Unsigned),
        (InType::U8, _) => Kind::Integer(8, out_type == OutType::Signed),
        (InType::I16, _) => Kind::Integer(16, out_type != OutType::Unsigned),
        (InType::U16, _) => Kind::Integer(16, out_type == OutType::Signed),
        (InType::I32, _) => Kind::Integer(32, out_type != OutType::Unsigned),
        (InType::U32 | InType::Hex32, _) => Kind::Integer(32, out_type == OutType::Signed),
        (InType::I64, _) => Kind::Integer(64, out_type != OutType::Unsigned),
        (InType::U64 | InType::Hex64, _) => Kind::Integer(64, out_type == OutType::Signed),
        (InType::F32, _) => Kind::F32,
        (InType::F64, _) => Kind::F64,
        _ => Kind::Text,
    }
}

/// Returns the value of a field for its column, and whether the column represents it exactly.
pub(super) fn cell<'a>(field: &'a Field, shape: &Shape) -> (Cell<'a>, bool) {
    match &field.node {
        Node::Value(value) if !shape.is_list => {
            let (value, is_exact) = value_of(value, shape.kind);
            (Cell::One(value), is_exact)
        }
        Node::Array(nodes) if shape.is_list => {
            let mut all_exact = true;
            let values = nodes.iter().map(|node| {
                let Node::Value(value) = node else { return None };
                let (value, is_exact) = value_of(value, shape.kind);
                all_exact &= is_exact;
                value
            });
            (Cell::Many(values.collect()), all_exact)
        }
        node => {
            let mut text = String::new();
            let is_exact = etw_etl::export::json_node(&mut text, field, node);
            (Cell::One(Some(Value::Bytes(text.into_bytes().into()))), is_exact)
        }
    }
}

/// 100 ns units between 1601 and 1970.
pub(super) const TO_1970: i64 = 116_444_736_000_000_000;

/// Converts 100 ns units since 1601 to nanoseconds since 1970. Returns `None` on overflow.
pub(super) fn nanoseconds(filetime: i64) -> Option<i64> {
    filetime.checked_sub(TO_1970)?.checked_mul(100)
}

pub(super) fn value_of(value: &Scalar, kind: Kind) -> (Option<Value<'_>>, bool) {
    let value = match (kind, value) {
        (Kind::Bool, Scalar::Bool(value)) => Value::Bool(*value),
        (Kind::Bool, Scalar::Integer(number)) => return (Some(Value::Bool(*number != 0)), false),
        (Kind::Integer(..), Scalar::Integer(number)) => match (i64::try_from(*number), u64::try_from(*number)) {
            (Ok(number), _) => Value::Integer(number),
            (_, Ok(number)) => Value::Integer(number.cast_signed()),
            _ => return (None, false),
        },
        (Kind::Integer(..), Scalar::Word(word)) => {
            let number = word.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            return (number.map(|number| Value::Integer(number.cast_signed())), number.is_some());
        }
        (Kind::F32, Scalar::F32(number)) => Value::F32(*number),
        (Kind::F64, Scalar::F64(number)) => Value::F64(*number),
        // A date that was never set. As a date it would be the year 1601, and nothing else becomes null without its bytes in `raw`.
        (Kind::Microseconds, Scalar::Integer(0)) => return (None, true),
        (Kind::Microseconds, value) => {
            let time = moment(value);
            return (time.map(|time| Value::Integer(time / 10)), time.is_some_and(|time| time % 10 == 0));
        }
        (Kind::Bytes, Scalar::Word(word)) => match bytes(word) {
            Some(bytes) => Value::Bytes(bytes.into()),
            None => return (None, false),
        },
        (Kind::Text, Scalar::Text(text) | Scalar::Word(text)) => Value::Bytes(text.as_bytes().into()),
        (Kind::Text, Scalar::BadText { text, .. }) => return (Some(Value::Bytes(text.as_bytes().into())), false),
        (Kind::Text, value) => Value::Bytes(value.to_string().into_bytes().into()),
        _ => return (None, false),
    };
    (Some(value), true)
}

/// Returns the 100 ns units since 1970 of a decoded date.
fn moment(value: &Scalar) -> Option<i64> {
    match value {
        Scalar::Word(text) => etw_etl::FileTime::parse(text)?.0.checked_sub(TO_1970),
        Scalar::Integer(number) => i64::try_from(*number).ok()?.checked_sub(TO_1970),
        _ => None,
    }
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect::<Option<_>>();
    bytes.filter(|_| rest.is_empty())
}
