//! Generates structures whose members all have a fixed size: a type without padding, and a function that creates a
//! value.
//!
//! A structure with a member of variable size has no type. The event takes it as bytes.

use std::fmt::Write as _;

use crate::manifest::{Data, DataKind, Size};

use super::common::{ATTRIBUTES, Mapped, SCALARS};
use super::names::{camel, snake};

/// Maximum number of values in a tuple of `wdk-etw`. The last value can be another tuple.
const MOST: usize = 8;

/// A member: its parameter, and the type and value that are stored.
struct Member {
    name: String,
    parameter: String,
    stored: String,
    value: String,
}

/// Returns the members of a structure, or `None` if it has no type.
fn members(data: &Data, mapped: &Mapped) -> Option<Vec<Member>> {
    let DataKind::Struct(members) = &data.kind else { return None };
    members.iter().map(|member| self::member(member, mapped)).collect()
}

fn member(data: &Data, mapped: &Mapped) -> Option<Member> {
    let DataKind::Value { encoding, map, .. } = &data.kind else { return None };
    let kind = encoding.name()?;
    let name = snake(&data.name);
    let same = |stored: String| Member { name: name.clone(), parameter: stored.clone(), stored, value: name.clone() };
    let scalar = SCALARS.iter().find(|(known, ..)| *known == kind).map(|(_, _, stored)| *stored);
    match (scalar, &data.count, &data.length) {
        (Some(stored), Size::None, Size::None) => {
            let map = map.as_ref().filter(|_| stored == "u32").and_then(|map| mapped.get(map));
            let (parameter, value) = match map {
                Some(map) => (map.as_str(), format!("{name}.0")),
                None if kind == "win:Boolean" => ("bool", format!("u32::from({name})")),
                None => return Some(same(stored.to_owned())),
            };
            Some(Member { parameter: parameter.to_owned(), stored: stored.to_owned(), value, ..same(String::new()) })
        }
        (Some(stored), Size::Fixed(count), Size::None) => Some(same(format!("[{stored}; {count}]"))),
        (None, Size::None, Size::Fixed(length)) if kind == "win:UnicodeString" => {
            Some(same(format!("[u16; {length}]")))
        }
        (None, Size::None, Size::Fixed(length)) if ["win:AnsiString", "win:Binary"].contains(&kind) => {
            Some(same(format!("[u8; {length}]")))
        }
        _ => None,
    }
}

/// Returns whether a structure has a type.
pub(super) fn is_typed(data: &Data, mapped: &Mapped) -> bool {
    members(data, mapped).is_some_and(|members| !members.is_empty())
}

/// Returns the names of the type and of the function for a structure of an event.
pub(super) fn names(function: &str, data: &Data) -> (String, String) {
    let name = format!("{function}_{}", data.name);
    (camel(&name), snake(&name))
}

/// Appends the type and the function of a structure.
pub(super) fn push(code: &mut String, function: &str, data: &Data, mapped: &Mapped) {
    let Some(members) = members(data, mapped) else { return };
    let (kind, make) = names(function, data);
    let stored =
        nest(&members, |member| &member.stored, |count, inner| format!("wdk_etw::__private::Packed{count}<{inner}>"));
    let value =
        nest(&members, |member| &member.value, |count, inner| format!("wdk_etw::__private::Packed{count}({inner})"));
    let _ = write!(
        code,
        "/// The structure `{0}` of [`{function}`]. Create it with [`{make}`].\n{ATTRIBUTES}pub type {kind} = \
         {stored};\n\n/// Creates the structure `{0}` of [`{function}`].\n{ATTRIBUTES}pub fn {make}(\n",
        data.name
    );
    for member in &members {
        let _ = writeln!(code, "    {}: {},", member.name, member.parameter);
    }
    let _ = write!(code, ") -> {kind} {{\n    {value}\n}}\n\n");
}

/// Nests tuples: if there are too many members for one tuple, its last value is a tuple of the rest.
fn nest(members: &[Member], part: fn(&Member) -> &String, tuple: fn(usize, &str) -> String) -> String {
    match members {
        [] => String::from("()"),
        [only] => part(only).clone(),
        _ if members.len() <= MOST => {
            tuple(members.len(), &members.iter().map(|member| part(member).as_str()).collect::<Vec<_>>().join(", "))
        }
        _ => {
            let (first, rest) = members.split_at(MOST - 1);
            let first: Vec<&str> = first.iter().map(|member| part(member).as_str()).collect();
            tuple(MOST, &format!("{}, {}", first.join(", "), nest(rest, part, tuple)))
        }
    }
}
