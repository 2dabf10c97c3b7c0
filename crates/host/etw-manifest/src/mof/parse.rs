//! The text of the classes.

use std::sync::Arc;

use etw_types::{Guid, InType, OutType};

use super::{Class, KernelClasses};
use crate::schema::{EventSchema, Extent, Field, Source};
use crate::types::Encoding;

/// Names and numbers of types, the version, and the fields.
type Layout<'a> = (Vec<(&'a str, u8)>, u8, Vec<Field>);

/// Reads classes. The error is the line that is not understood.
pub(super) fn parse<'a>(text: &'a str, into: &mut KernelClasses) -> Result<(), &'a str> {
    let mut class: Option<Guid> = None;
    let mut layout: Option<Layout<'_>> = None;
    for line in text.lines().chain(["class"]) {
        let indentation = line.len() - line.trim_start().len();
        let words = line.trim();
        if (words.is_empty() && line != "class") || words.starts_with('#') {
            continue;
        }
        if indentation == 4 {
            let fields = layout.as_mut().map(|(_, _, fields)| fields).ok_or(line)?;
            for declaration in words.split(',').map(str::trim).filter(|declaration| !declaration.is_empty()) {
                let field = field(declaration, fields).ok_or(line)?;
                fields.push(field);
            }
            continue;
        }
        if let Some((types, version, fields)) = layout.take() {
            let class = class.and_then(|guid| into.classes.get_mut(&guid)).ok_or(line)?;
            add(class, &types, version, &fields);
        }
        if indentation == 2 {
            layout = Some(types(words).ok_or(line)?);
        } else if let Some(declaration) = words.strip_prefix("class ") {
            class = Some(declare(declaration, into).ok_or(line)?);
        }
    }
    Ok(())
}

/// `Name GUID` and perhaps `group 0x03`.
fn declare(declaration: &str, into: &mut KernelClasses) -> Option<Guid> {
    let mut words = declaration.split_whitespace();
    let (name, guid) = (words.next()?, Guid::parse(words.next()?).ok()?);
    into.classes.entry(guid).or_insert_with(|| Class { name: name.into(), types: std::collections::HashMap::new() });
    if words.next() == Some("group") {
        let group = u8::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
        let place = usize::from(group);
        into.groups.resize(into.groups.len().max(place + 1), None);
        *into.groups.get_mut(place)? = Some(guid);
    }
    Some(guid)
}

/// `Start 1, End 2 version 0`.
fn types(words: &str) -> Option<Layout<'_>> {
    let (types, version) = words.rsplit_once(" version ")?;
    let types = types.split(',').map(|one| {
        let (name, number) = one.trim().rsplit_once(' ')?;
        Some((name, number.parse().ok()?))
    });
    Some((types.collect::<Option<_>>()?, version.parse().ok()?, Vec::new()))
}

/// `uint32 Name`, `char16[4] Name`, `pointer[*] Name`, `wstring[Count] Name`.
fn field(declaration: &str, before: &[Field]) -> Option<Field> {
    let (word, name) = declaration.split_once(' ')?;
    let (word, count) = match word.split_once('[') {
        Some((word, count)) => (word, count.strip_suffix(']')),
        None => (word, None),
    };
    let value = Encoding::Value;
    let (encoding, out) = match word {
        "sint8" => (value(InType::I8), OutType::Default),
        "uint8" => (value(InType::U8), OutType::Default),
        "boolean" => (value(InType::U8), OutType::Boolean),
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
        "filetime" => (value(InType::FileTime), OutType::Default),
        "guid" => (value(InType::Guid), OutType::Default),
        "string" => (value(InType::CStr8), OutType::Default),
        "wstring" => (value(InType::CStr16), OutType::Default),
        "char16" => (Encoding::Char16, OutType::Default),
        "ipv4" => (value(InType::U32), OutType::IPv4),
        "ipv6" => (value(InType::Binary), OutType::IPv6),
        "port" => (value(InType::U16), OutType::Port),
        "pointer" => (Encoding::Pointer, OutType::Default),
        "size" => (Encoding::Size, OutType::Default),
        "sid" => (Encoding::TokenUser, OutType::Default),
        "bytes" => (Encoding::RestBytes, OutType::Default),
        _ => return None,
    };
    let count = match count {
        None => Extent::None,
        Some("*") => Extent::Rest,
        Some(number) if number.starts_with(|first: char| first.is_ascii_digit()) => Extent::Fixed(number.parse().ok()?),
        Some(field) => {
            let place = before.iter().position(|other| *other.name == *field)?;
            Extent::Field(u16::try_from(place).ok()?)
        }
    };
    let (encoding, count, length) = match (word, count) {
        ("ipv6", count) => (encoding, count, Extent::Fixed(16)),
        // Bytes without a meaning of their own are one value.
        ("uint8", Extent::Fixed(length)) => (value(InType::Binary), Extent::None, Extent::Fixed(length)),
        (_, count) => (encoding, count, Extent::None),
    };
    Some(Field { name: name.into(), encoding, out, count, length, map: None })
}

fn add(class: &mut Class, types: &[(&str, u8)], version: u8, fields: &[Field]) {
    for (name, number) in types {
        let schema = EventSchema {
            provider: Arc::clone(&class.name),
            name: (*name).into(),
            level: None,
            channel: None,
            keywords: Vec::new(),
            message: None,
            fields: fields.to_vec(),
            top_level: fields.len(),
            source: Source::BuiltIn,
        };
        let versions = class.types.entry(*number).or_default();
        versions.push((version, Arc::new(schema)));
        versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    }
}
