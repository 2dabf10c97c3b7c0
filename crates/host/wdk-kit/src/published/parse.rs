//! Parses the output of bindgen. Relies on its formatting: items start at the beginning of a line.

use std::collections::BTreeMap;

/// A declaration of a type.
pub(crate) enum Item {
    /// Another name of a type.
    Alias {
        name: String,
        target: String,
    },
    /// An enumeration: its tag, the type of its values, its members.
    Enumeration {
        name: String,
        kind: String,
        members: Vec<(String, String)>,
    },
    Record(Record),
}

/// A structure or a union.
#[derive(Clone, Default)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) is_union: bool,
    pub(crate) packing: Option<u32>,
    pub(crate) alignment: Option<u32>,
    /// Names and types; a unit of bit fields is `_bitfield_N`.
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) bits: Vec<Bits>,
}

/// A bit field.
#[derive(Clone)]
pub(crate) struct Bits {
    pub(crate) unit: String,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) start: u32,
    pub(crate) width: u32,
}

/// A routine.
pub(crate) struct Routine {
    pub(crate) parameters: Vec<String>,
    pub(crate) result: String,
}

/// Returns the macros that are numbers or texts.
pub(crate) fn constants(text: &str) -> BTreeMap<String, String> {
    let mut constants = BTreeMap::new();
    for statement in text.split(";\n") {
        let Some(rest) = statement.trim_start().strip_prefix("pub const ") else { continue };
        let Some((head, value)) = rest.split_once('=') else { continue };
        let Some((name, kind)) = head.split_once(':') else { continue };
        let value = match kind.trim() {
            "u32" | "i32" => value.trim().to_owned(),
            "u64" => format!("{}ULL", value.trim()),
            "i64" => format!("{}LL", value.trim()),
            "u8" => value.trim().trim_end_matches("u8").to_owned(),
            "&::core::ffi::CStr" => {
                let Some((_, text)) = value.split_once("b\"") else { continue };
                let Some((text, _)) = text.rsplit_once("\\0\"") else { continue };
                format!("\"{text}\"")
            }
            _ => continue,
        };
        let value = if value.starts_with('-') { format!("({value})") } else { value };
        constants.insert(name.trim().to_owned(), value);
    }
    constants
}

/// Returns the routines of `extern` blocks.
pub(crate) fn routines(text: &str) -> BTreeMap<String, Routine> {
    let mut routines = BTreeMap::new();
    for part in text.split("    pub fn ").skip(1) {
        let declaration = part.split(';').next().unwrap_or_default();
        let Some((name, rest)) = declaration.split_once('(') else { continue };
        let Some((list, result)) = rest.rsplit_once(')').map(|(list, rest)| match rest.split_once("->") {
            // The last bracket can be one of the result's type.
            Some((_, result)) => (list, result.trim().to_owned()),
            None => (list, String::from("()")),
        }) else {
            continue;
        };
        let kind = |one: &String| plain(one.split_once(": ").map_or(one.as_str(), |(_, kind)| kind));
        let parameters = split(list).iter().map(kind).collect();
        routines.insert(name.to_owned(), Routine { parameters, result: plain(&result) });
    }
    routines
}

/// Returns the declarations of types.
pub(crate) fn items(text: &str) -> Vec<Item> {
    let mut items = Vec::new();
    let mut lines = text.lines();
    let (mut packing, mut alignment) = (None, None);
    let mut places = BTreeMap::<String, usize>::new();
    let mut uses = Vec::new();
    while let Some(line) = lines.next() {
        if let Some(repr) = line.strip_prefix("#[repr(") {
            packing = repr.split_once("packed").map(|(_, rest)| number(rest).unwrap_or(1));
            alignment = repr.split_once("align(").and_then(|(_, rest)| number(rest));
        } else if let Some((head, is_union)) = line
            .strip_prefix("pub struct ")
            .map(|head| (head, false))
            .or(line.strip_prefix("pub union ").map(|head| (head, true)))
        {
            if let Some(name) = head.strip_suffix(" {").filter(|name| !name.contains('<')) {
                let fields = split(&block(&mut lines)).iter().filter_map(|field| field_of(field)).collect();
                places.insert(name.to_owned(), items.len());
                let record = Record { name: name.to_owned(), is_union, packing, alignment, fields, bits: Vec::new() };
                items.push(Item::Record(record));
            }
            (packing, alignment) = (None, None);
        } else if let Some(head) = line.strip_prefix("pub type ") {
            let mut statement = head.to_owned();
            while !statement.ends_with(';') {
                statement.push(' ');
                statement.push_str(lines.next().unwrap_or(";").trim());
            }
            if let Some((name, target)) = statement.trim_end_matches(';').split_once(" =") {
                items.push(Item::Alias { name: name.to_owned(), target: plain(target) });
            }
        } else if let Some(name) = line.strip_prefix("pub mod ").and_then(|head| head.strip_suffix(" {")) {
            items.push(enumeration(name, &block(&mut lines)));
        } else if let Some((tag, name)) =
            line.strip_prefix("pub use self::").and_then(|rest| rest.trim_end_matches(';').split_once("::Type as "))
        {
            uses.push((items.len(), tag.to_owned(), name.to_owned()));
        } else if let Some(name) = line.strip_prefix("impl ").and_then(|head| head.strip_suffix(" {")) {
            let body = block(&mut lines);
            if let Some(Item::Record(record)) = places.get(name).and_then(|at| items.get_mut(*at)) {
                record.bits = bits(&body);
            }
        }
    }
    for (at, tag, name) in uses.into_iter().rev() {
        items.insert(at, Item::Alias { name, target: format!("{tag}::Type") });
    }
    items
}

/// Returns the lines up to the bracket that closes the item.
fn block<'a>(lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut text = String::new();
    for line in lines.take_while(|line| *line != "}") {
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn field_of(field: &str) -> Option<(String, String)> {
    let (name, kind) = field.trim().strip_prefix("pub ")?.split_once(':')?;
    Some((name.trim_start_matches("r#").to_owned(), plain(kind)))
}

fn enumeration(name: &str, body: &str) -> Item {
    let (mut kind, mut members) = (String::new(), Vec::new());
    for statement in body.split(';').map(str::trim) {
        if let Some(target) = statement.strip_prefix("pub type Type = ") {
            kind = plain(target);
        } else if let Some((member, value)) =
            statement.strip_prefix("pub const ").and_then(|rest| rest.split_once(": Type = "))
        {
            members.push((member.to_owned(), value.trim().to_owned()));
        }
    }
    Item::Enumeration { name: name.to_owned(), kind, members }
}

/// Returns the bit fields, from the functions that read them: `self._bitfield_1.get(3usize, 5u8)`.
fn bits(body: &str) -> Vec<Bits> {
    let mut found = Vec::new();
    for function in body.split("pub fn ").skip(1) {
        let Some((name, rest)) = function.split_once("(&self) -> ") else { continue };
        let Some((kind, rest)) = rest.split_once(" {") else { continue };
        let Some(unit) = rest.find("_bitfield_").map(|at| &rest[at..]) else { continue };
        let Some((unit, rest)) = unit.split_once(".get(") else { continue };
        let mut numbers = rest.split(',').map(|part| number(part.trim()));
        if let (Some(Some(start)), Some(Some(width))) = (numbers.next(), numbers.next()) {
            let name = name.trim_start_matches("r#").to_owned();
            found.push(Bits { unit: unit.trim().to_owned(), name, kind: plain(kind), start, width });
        }
    }
    found
}

fn number(text: &str) -> Option<u32> {
    let digits: String = text.trim_start_matches('(').chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Normalises white space: single spaces between words, and none at the ends or after an opening bracket.
fn plain(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches(',').replace("( ", "(").replace(", )", ")").replace("< ", "<").replace(", >", ">")
}

/// Splits at commas outside of brackets.
pub(crate) fn split(text: &str) -> Vec<String> {
    let (mut depth, mut parts, mut part) = (0_i32, Vec::new(), String::new());
    let mut previous = ' ';
    for c in text.chars() {
        match c {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' => depth -= 1,
            '>' if previous != '-' => depth -= 1,
            _ => {}
        }
        if c == ',' && depth == 0 {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(c);
        }
        previous = c;
    }
    if !part.trim().is_empty() {
        parts.push(part);
    }
    parts
}
