//! Generates the function of an event.
//!
//! Each field becomes a parameter, except a field that is the length or the count of others: their slices have that
//! number. Structures have their own types ([`structure`]). Fields without an equivalent in Rust (structures with
//! members of variable size, arrays of strings) are passed as the bytes of the payload.

use std::fmt::Write as _;

use crate::manifest::{Data, DataKind, Event, Provider, Size};

use super::common::{ATTRIBUTES, Mapped, SCALARS, one_line};
use super::names::snake;
use super::structure;

/// Returns the names of the types and functions for an event's structures.
pub(super) fn structures(provider: &Provider, event: &Event, function: &str, mapped: &Mapped) -> Vec<(String, String)> {
    let template = provider.templates.iter().find(|template| template.id == event.template);
    let fields = template.into_iter().flat_map(|template| &template.fields);
    let typed = fields.filter(|field| structure::is_typed(field, mapped));
    typed.map(|field| structure::names(function, field)).collect()
}

/// Returns the symbol of an event, or a name made of its id and version if it has none.
pub(super) fn name(event: &Event) -> String {
    if event.symbol.is_empty() { format!("event_{}_v{}", event.id, event.version) } else { event.symbol.clone() }
}

/// The parameter of a field, and how the field is written.
struct Field {
    name: String,
    /// The parameter's type; `None` for a field whose value follows from others.
    parameter: Option<String>,
    /// Statements that run before the event is written.
    before: String,
    /// The descriptors.
    descriptors: Vec<String>,
}

const INVALID_PARAMETER: &str = "return wdk_etw::NtStatus::InvalidParameter";

/// Appends the descriptor and the function of an event.
pub(super) fn push(code: &mut String, provider: &Provider, event: &Event, function: &str, mapped: &Mapped) {
    let numbers = provider.numbers(event);
    let constant = function.to_ascii_uppercase();
    let text =
        event.message.as_ref().map_or_else(|| ".".to_owned(), |message| format!(": {}", one_line(&message.text)));
    let _ = write!(
        code,
        "/// Descriptor of event {} version {}.\n{ATTRIBUTES}pub const {constant}: wdk_etw::EventDescriptor =\n    \
         wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int({}), wdk_etw::Keyword::from_bits({:#x}))\n        \
         .with_id_version({}, {})\n        .with_channel(wdk_etw::Channel::from_int({}))\n        \
         .with_opcode(wdk_etw::Opcode::from_int({}))\n        .with_task({});\n\n",
        event.id,
        event.version,
        numbers.level,
        numbers.keyword,
        event.id,
        event.version,
        numbers.channel,
        numbers.opcode,
        numbers.task,
    );
    let template = provider.templates.iter().find(|template| template.id == event.template);
    let fields = template.map_or(&[][..], |template| &template.fields);
    for field in fields {
        if structure::is_typed(field, mapped) {
            structure::push(code, function, field, mapped);
        }
    }
    let fields: Vec<Field> = fields.iter().map(|field| self::field(function, field, fields, mapped)).collect();
    let _ = write!(
        code,
        "/// Writes event {} version {}{text}\n///\n/// `activity` is the event's activity id. If no session enabled \
         the event, it is not written, and the status is `STATUS_SUCCESS`.\n///\n/// # Errors\n///\n/// Returns the \
         errors of [`Provider::write`](wdk_etw::Provider::write), `STATUS_INVALID_PARAMETER` if a length or a value \
         does not fit its field, and `STATUS_INVALID_SID` if a SID is truncated.\n///\n/// # IRQL\n///\n/// Any. Above \
         `APC_LEVEL`, all data must be resident.\n{ATTRIBUTES}pub fn {function}(\n    activity: \
         Option<&wdk_etw::Guid>,\n",
        event.id, event.version
    );
    for field in &fields {
        if let Some(parameter) = &field.parameter {
            let _ = writeln!(code, "    {}: {parameter},", field.name);
        }
    }
    let _ = write!(
        code,
        ") -> wdk_etw::NtStatus {{\n    if !PROVIDER.enabled({constant}.level, {constant}.keyword) {{\n        \
         return wdk_etw::NtStatus::Success;\n    }}\n"
    );
    for field in &fields {
        code.push_str(&field.before);
    }
    let _ = writeln!(code, "    PROVIDER.write(&{constant}, activity, None, &[");
    for descriptor in fields.iter().flat_map(|field| &field.descriptors) {
        let _ = writeln!(code, "        wdk_etw::__private::{descriptor},");
    }
    code.push_str("    ])\n}\n\n");
}

/// Returns whether a field's value is a slice whose length determines the value of a length or count field.
fn is_slice(field: &Data, mapped: &Mapped) -> bool {
    let DataKind::Value { encoding, .. } = &field.kind else {
        return matches!(field.count, Size::Field(_)) && structure::is_typed(field, mapped);
    };
    let name = encoding.name().unwrap_or_default();
    match (&field.count, &field.length) {
        (Size::Field(_), Size::None) => SCALARS.iter().any(|(known, ..)| *known == name),
        (Size::None, Size::Field(_)) => ["win:UnicodeString", "win:AnsiString", "win:Binary"].contains(&name),
        _ => false,
    }
}

/// Returns the fields whose length or count this field is.
fn users<'a>(field: &'a Data, fields: &'a [Data]) -> impl Iterator<Item = &'a Data> {
    let refers = |size: &Size| matches!(size, Size::Field(name) if *name == field.name);
    fields.iter().filter(move |other| refers(&other.count) || refers(&other.length))
}

fn field(function: &str, data: &Data, fields: &[Data], mapped: &Mapped) -> Field {
    let name = snake(&data.name);
    let with_parameter = |parameter: String, before: String, descriptors: Vec<String>| Field {
        name: name.clone(),
        parameter: Some(parameter),
        before,
        descriptors,
    };
    let value = format!("value_descriptor(&{name})");
    let slice = format!("slice_descriptor({name})");
    let DataKind::Value { encoding, map, .. } = &data.kind else {
        if !structure::is_typed(data, mapped) {
            return with_parameter("&[u8]".to_owned(), String::new(), vec![slice]);
        }
        let (kind, _) = structure::names(function, data);
        return match &data.count {
            Size::None => with_parameter(format!("&{kind}"), String::new(), vec![format!("value_descriptor({name})")]),
            Size::Fixed(count) => with_parameter(format!("&[{kind}; {count}]"), String::new(), vec![slice]),
            Size::Field(_) => with_parameter(format!("&[{kind}]"), String::new(), vec![slice]),
        };
    };
    let kind = encoding.name().unwrap_or_default();
    let scalar = SCALARS.iter().find(|(known, ..)| *known == kind);
    let users: Vec<&Data> = users(data, fields).collect();
    if !users.is_empty() && users.iter().all(|user| is_slice(user, mapped)) {
        return length(&name, scalar.map_or("u32", |(_, one, _)| one), &users);
    }
    match (scalar, &data.count, &data.length) {
        (Some((_, one, _)), Size::None, _) => match map.as_ref().and_then(|map| mapped.get(map)) {
            Some(map) => {
                let convert = match *one {
                    "u32" => format!("    let {name} = {name}.0;\n"),
                    one => {
                        format!("    let Ok({name}) = <{one}>::try_from({name}.0) else {{ {INVALID_PARAMETER} }};\n")
                    }
                };
                with_parameter(map.clone(), convert, vec![value])
            }
            None if *one == "bool" => {
                with_parameter("bool".to_owned(), format!("    let {name} = u32::from({name});\n"), vec![value])
            }
            None if one.starts_with('&') => {
                with_parameter((*one).to_owned(), String::new(), vec![format!("value_descriptor({name})")])
            }
            None => with_parameter((*one).to_owned(), String::new(), vec![value]),
        },
        (Some((.., many)), Size::Fixed(count), _) => {
            with_parameter(format!("&[{many}; {count}]"), String::new(), vec![slice])
        }
        (Some((.., many)), Size::Field(_), _) => with_parameter(format!("&[{many}]"), String::new(), vec![slice]),
        (None, Size::None, length) => text(&name, kind, length),
        // Values of different sizes, one after another.
        (None, ..) => with_parameter("&[u8]".to_owned(), String::new(), vec![slice]),
    }
}

/// Generates a field that is the length or the count of others. These must all have the same length.
fn length(name: &str, kind: &str, users: &[&Data]) -> Field {
    let mut before = String::new();
    if let [first, others @ ..] = users {
        let first = snake(&first.name);
        for other in others {
            let other = snake(&other.name);
            let _ = writeln!(before, "    if {other}.len() != {first}.len() {{ {INVALID_PARAMETER}; }}");
        }
        let _ =
            writeln!(before, "    let Ok({name}) = <{kind}>::try_from({first}.len()) else {{ {INVALID_PARAMETER} }};");
    }
    Field { name: name.to_owned(), parameter: None, before, descriptors: vec![format!("value_descriptor(&{name})")] }
}

/// Generates text or data of variable size.
fn text(name: &str, kind: &str, length: &Size) -> Field {
    let unit = if kind.contains("Unicode") { "u16" } else { "u8" };
    let mut before = String::new();
    let mut descriptors = vec![format!("slice_descriptor({name})")];
    let mut parameter = format!("&[{unit}]");
    match (kind, length) {
        ("win:UnicodeString" | "win:AnsiString" | "win:Binary", Size::Fixed(count)) => {
            parameter = format!("&[{unit}; {count}]");
        }
        // Terminated text: the text up to its NUL, then a NUL.
        ("win:UnicodeString" | "win:AnsiString", Size::None) => {
            before = format!("    let {name} = wdk_etw::__private::until_nul({name});\n");
            descriptors.push(format!("value_descriptor(&0_{unit})"));
        }
        ("win:SID", _) => {
            before = format!(
                "    let Some({name}) = wdk_etw::__private::sid({name}) else {{ return wdk_etw::NtStatus::InvalidSid }};\n"
            );
        }
        ("win:CountedUnicodeString" | "win:CountedAnsiString" | "win:CountedBinary", _) => {
            let cut = match kind {
                "win:CountedUnicodeString" => "utf16",
                "win:CountedAnsiString" => "utf8",
                _ => "elements",
            };
            before = format!(
                "    let {name} = wdk_etw::__private::{cut}({name});\n    let {name}_size = \
                 wdk_etw::__private::byte_count({name});\n"
            );
            descriptors.insert(0, format!("value_descriptor(&{name}_size)"));
        }
        _ => {}
    }
    Field { name: name.to_owned(), parameter: Some(parameter), before, descriptors }
}
