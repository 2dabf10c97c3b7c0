//! Parses the text of classes and providers.

use std::collections::HashMap;
use std::sync::Arc;

use etw_types::{Guid, InType, OutType};

use super::{Group, Table};
use crate::schema::{EventSchema, Extent, Field, MapEntry, Source, ValueMap};
use crate::types::Encoding;

/// Value maps of a provider, by name.
type Maps = HashMap<String, Arc<ValueMap>>;

/// A declaration that is followed by a list.
enum Item {
    /// Names and numbers of events, and their version.
    Events(Vec<(String, u16)>, u8),
    /// The name of a map, and whether its values are bits.
    Map(String, bool),
}

/// Parses classes and providers. The error is the first invalid line.
pub(super) fn parse(text: &str, into: &mut Table) -> Result<(), String> {
    let mut group = None;
    let mut maps = Maps::new();
    let mut lines = logical_lines(text).into_iter().peekable();
    while let Some(line) = lines.next() {
        let words = line.trim();
        let read = match line.len() - line.trim_start().len() {
            0 => {
                maps.clear();
                group = declare_group(words, into);
                group.map(drop)
            }
            2 => {
                let items = lines.next_if(|next| next.starts_with("    "));
                let items = items.as_deref().map_or("", str::trim);
                declare_item(words).and_then(|item| list(items, item, group, &mut maps, into))
            }
            _ => None,
        };
        read.ok_or(line)?;
    }
    Ok(())
}

/// Returns the lines without comments. A line that ends with a comma or a semicolon continues on the next line.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        match lines.last_mut() {
            Some(last) if last.ends_with([',', ';']) => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.trim_end().to_owned()),
        }
    }
    lines
}

/// Parses `class Name GUID`, optionally followed by `group 0x03`, or `provider Name GUID`.
fn declare_group(words: &str, into: &mut Table) -> Option<Guid> {
    let mut words = words.split_whitespace();
    let is_classic = match words.next()? {
        "class" => true,
        "provider" => false,
        _ => return None,
    };
    let name = words.next()?;
    let guid = Guid::parse(words.next()?).ok()?;
    into.groups.entry(guid).or_insert_with(|| Group { name: name.into(), is_classic, events: HashMap::new() });
    if words.next() == Some("group") {
        let number = u8::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let place = usize::from(number);
        into.hooks.resize(into.hooks.len().max(place + 1), None);
        *into.hooks.get_mut(place)? = Some(guid);
    }
    Some(guid)
}

/// Parses `Start 1, End 2 version 0`, `map Name values` or `map Name bits`.
fn declare_item(words: &str) -> Option<Item> {
    if let Some(map) = words.strip_prefix("map ") {
        let (name, kind) = map.split_once(' ')?;
        return matches!(kind, "values" | "bits").then(|| Item::Map(name.to_owned(), kind == "bits"));
    }
    let (events, version) = words.rsplit_once(" version ")?;
    let events = events.split(',').map(|one| {
        let (name, number) = one.trim().rsplit_once(' ')?;
        Some((name.to_owned(), number.parse().ok()?))
    });
    Some(Item::Events(events.collect::<Option<_>>()?, version.parse().ok()?))
}

/// Parses the fields of events, if there are any, or the values of a map.
fn list(words: &str, item: Item, group: Option<Guid>, maps: &mut Maps, into: &mut Table) -> Option<()> {
    match item {
        Item::Map(name, is_bits) => {
            let entries = words.split(',').map(|entry| {
                let (value, name) = entry.trim().split_once(' ')?;
                let value = match value.strip_prefix("0x") {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => value.parse().ok()?,
                };
                Some(MapEntry { value, name: name.into() })
            });
            let map = ValueMap::new(&name, is_bits, entries.collect::<Option<_>>()?);
            maps.insert(name, Arc::new(map));
        }
        Item::Events(events, version) => {
            let declarations: Vec<&str> = words.split(',').map(str::trim).filter(|words| !words.is_empty()).collect();
            let top_level = declarations.len();
            let mut fields = Vec::new();
            let mut members = Vec::new();
            for declaration in declarations {
                let (own, inner) = declaration.split_once(": ").unwrap_or((declaration, ""));
                let mut own = field(own, &fields, 0, maps)?;
                let first = top_level + members.len();
                for member in inner.split(';').map(str::trim).filter(|member| !member.is_empty()) {
                    let member = field(member, members.get(first - top_level..)?, first, maps)?;
                    members.push(member);
                }
                if let Encoding::Struct { .. } = own.encoding {
                    let count = top_level + members.len() - first;
                    own.encoding = Encoding::Struct { first: first.try_into().ok()?, members: count.try_into().ok()? };
                }
                fields.push(own);
            }
            fields.append(&mut members);
            add(into, group, &events, version, &fields, top_level)?;
        }
    }
    Some(())
}

/// Parses `uint32 Name`, `uint32<Map> Name`, `char16[4] Name`, `pointer[*] Name` or `wstring[Count] Name`. A named count is one
/// of the fields in `before`, whose first element has the index `first` in the schema.
fn field(declaration: &str, before: &[Field], first: usize, maps: &Maps) -> Option<Field> {
    let (word, name) = declaration.split_once(' ')?;
    let (word, count) = match word.split_once('[') {
        Some((word, count)) => (word, Some(count.strip_suffix(']')?)),
        None => (word, None),
    };
    let (word, map) = match word.split_once('<') {
        Some((word, map)) => (word, Some(Arc::clone(maps.get(map.strip_suffix('>')?)?))),
        None => (word, None),
    };
    let value = Encoding::Value;
    let (encoding, out) = match word {
        "sint8" => (value(InType::I8), OutType::Default),
        "uint8" => (value(InType::U8), OutType::Default),
        "boolean" => (value(InType::U8), OutType::Boolean),
        "bool32" => (value(InType::Bool32), OutType::Default),
        "sint16" => (value(InType::I16), OutType::Default),
        "uint16" => (value(InType::U16), OutType::Default),
        "hex16" => (value(InType::U16), OutType::Hex),
        "sint32" => (value(InType::I32), OutType::Default),
        "uint32" => (value(InType::U32), OutType::Default),
        "hex32" => (value(InType::Hex32), OutType::Default),
        "pid" => (value(InType::U32), OutType::Pid),
        "tid" => (value(InType::U32), OutType::Tid),
        "ntstatus" => (value(InType::U32), OutType::NtStatus),
        "sint64" => (value(InType::I64), OutType::Default),
        "uint64" | "ticks" => (value(InType::U64), OutType::Default),
        "hex64" => (value(InType::Hex64), OutType::Default),
        "double" => (value(InType::F64), OutType::Default),
        "filetime" => (value(InType::FileTime), OutType::Default),
        "guid" => (value(InType::Guid), OutType::Default),
        "string" => (value(InType::CStr8), OutType::Default),
        "wstring" => (value(InType::CStr16), OutType::Default),
        "char16" => (Encoding::Char16, OutType::Default),
        "binary" => (value(InType::Binary), OutType::Default),
        "ipv4" => (value(InType::U32), OutType::IPv4),
        "ipv6" => (value(InType::Binary), OutType::IPv6),
        "port" => (value(InType::U16), OutType::Port),
        "pointer" => (Encoding::Pointer, OutType::Default),
        "size" => (Encoding::Size, OutType::Default),
        "sid" => (Encoding::TokenUser, OutType::Default),
        "label" => (value(InType::Sid), OutType::Default),
        "bytes" => (Encoding::RestBytes, OutType::Default),
        "struct" => (Encoding::Struct { first: 0, members: 0 }, OutType::Default),
        _ => return None,
    };
    let count = match count {
        None => Extent::None,
        Some("*") => Extent::Rest,
        Some(number) if number.starts_with(|first: char| first.is_ascii_digit()) => Extent::Fixed(number.parse().ok()?),
        Some(field) => {
            let place = before.iter().position(|other| *other.name == *field)?;
            Extent::Field(u16::try_from(first + place).ok()?)
        }
    };
    let (encoding, count, length) = match (word, count) {
        ("ipv6", count) => (encoding, count, Extent::Fixed(16)),
        ("binary", length) => (encoding, Extent::None, length),
        // Bytes without a type of their own are a single binary value.
        ("uint8", Extent::Fixed(length)) => (value(InType::Binary), Extent::None, Extent::Fixed(length)),
        (_, count) => (encoding, count, Extent::None),
    };
    Some(Field { name: name.into(), encoding, out, count, length, map })
}

fn add(
    into: &mut Table,
    group: Option<Guid>,
    events: &[(String, u16)],
    version: u8,
    fields: &[Field],
    top_level: usize,
) -> Option<()> {
    let group = into.groups.get_mut(&group?)?;
    for (name, number) in events {
        let schema = EventSchema {
            provider: Arc::clone(&group.name),
            name: name.as_str().into(),
            level: None,
            channel: None,
            keywords: Vec::new(),
            message: None,
            fields: fields.into(),
            top_level,
            source: Source::BuiltIn,
        };
        let versions = group.events.entry(*number).or_default();
        versions.push((version, Arc::new(schema)));
        versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    }
    Some(())
}
