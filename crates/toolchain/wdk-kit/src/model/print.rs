//! Writes declarations in C.

use std::fmt::Write as _;

use super::{Convention, Field, Item, Keyword, Member, Part, Record, Signature, Source, Type};

/// Writes the blocks of a header that need no complete record: constants and types.
pub(crate) fn early(parts: &[Part]) -> String {
    parts.iter().map(|part| guarded(part.source, &(constants(part) + &types(part)))).collect()
}

/// Writes the other blocks: records and routines. Handwritten records can be included between both.
pub(crate) fn late(parts: &[Part]) -> String {
    parts.iter().map(|part| guarded(part.source, &(records(part) + &routines(part)))).collect()
}

/// Writes all blocks of a header without handwritten records.
pub(crate) fn whole(part: &Part) -> String {
    guarded(part.source, &[constants(part), types(part), records(part), routines(part)].concat())
}

fn constants(part: &Part) -> String {
    block("WDK_KIT_NO_CONSTANTS", &part.constants)
}

fn types(part: &Part) -> String {
    block("WDK_KIT_NO_TYPES", &part.types)
}

fn records(part: &Part) -> String {
    block("WDK_KIT_NO_RECORDS", &part.records)
}

fn routines(part: &Part) -> String {
    block("WDK_KIT_NO_ROUTINES", &part.routines)
}

fn guarded(source: Source, text: &str) -> String {
    match source {
        Source::Metadata(processor) => format!("#if defined({processor})\n{text}#endif\n"),
        Source::Bindings => text.to_owned(),
    }
}

fn block(without: &str, items: &[Item]) -> String {
    let mut text = format!("#ifndef {without}\n");
    for one in items {
        item(&mut text, one);
    }
    text + "#endif\n"
}

fn item(text: &mut String, item: &Item) {
    let _ = match item {
        Item::Constant { name, value } => writeln!(text, "#define {name} {value}"),
        Item::Guid { name, value } => writeln!(text, "DEFINE_GUID({name}, {value});"),
        Item::Forward { keyword, tag } => writeln!(text, "{} {tag};", keyword.text()),
        Item::Enumeration { tag, name: Some(name), members: list, .. } => {
            writeln!(text, "typedef enum {tag} {{ {}}} {name};", members(list))
        }
        Item::Enumeration { tag, name: None, is_unsigned, members: list } => {
            let kind = if *is_unsigned { ": unsigned int " } else { "" };
            writeln!(text, "enum {tag} {kind}{{ {}}};", members(list))
        }
        Item::Alias { name, kind } => writeln!(text, "typedef {};", declaration(kind, name)),
        Item::Record(one) => {
            text.push_str(&record(one));
            Ok(())
        }
        Item::Written { text: body, .. } => writeln!(text, "{body};"),
        Item::Routine { name, signature, never_returns } => {
            let never = if *never_returns { "__declspec(noreturn) " } else { "" };
            writeln!(text, "{never}{};", function(signature, name))
        }
    };
}

fn members(members: &[Member]) -> String {
    let mut text = String::new();
    for Member { name, value } in members {
        let _ = match value {
            Some(value) => write!(text, "{name} = {value}, "),
            None => write!(text, "{name} "),
        };
    }
    text
}

fn record(record: &Record) -> String {
    let Record { keyword, tag, processor, packing, alignment, fields: list } = record;
    let align = alignment.as_ref().map_or_else(String::new, |size| format!("DECLSPEC_ALIGN({size}) "));
    let mut text = format!("{} {align}{tag} {{ {}}};\n", keyword.text(), fields(list));
    if let Some(size) = packing {
        text = format!("#pragma pack(push, {size})\n{text}#pragma pack(pop)\n");
    }
    if let Some(processor) = processor {
        text = format!("#if defined({processor})\n{text}#endif\n");
    }
    text
}

fn fields(fields: &[Field]) -> String {
    let mut text = String::new();
    let align = |size: &Option<u32>| size.map_or_else(String::new, |size| format!("DECLSPEC_ALIGN({size}) "));
    for field in fields {
        let _ = match field {
            Field::Value { name, kind, alignment } => write!(text, "{}{}; ", align(alignment), declaration(kind, name)),
            Field::Bits { name, kind, width } => write!(text, "{} : {width}; ", declaration(kind, name)),
            Field::Nested { name, keyword, alignment, fields: inner, count } => {
                let count = count.map_or_else(String::new, |count| format!("[{count}]"));
                let keyword = keyword.text();
                let align = align(alignment);
                let inner = self::fields(inner);
                write!(text, "{keyword} {align}{{ {inner}}} {name}{count}; ")
            }
        };
    }
    text
}

/// Writes the declaration of `name` with this type. The declarator grows from the name outwards, as in C.
fn declaration(kind: &Type, name: &str) -> String {
    match kind {
        Type::Name(base) => format!("{base} {name}").trim_end().to_owned(),
        Type::Tag(keyword, tag) => format!("{} {tag} {name}", keyword.text()).trim_end().to_owned(),
        Type::Pointer { to, is_constant: false } => declaration(to, &format!("*{name}")),
        Type::Pointer { to, is_constant: true } if matches!(**to, Type::Pointer { .. }) => {
            declaration(to, &format!("const *{name}"))
        }
        Type::Pointer { to, is_constant: true } => format!("const {}", declaration(to, &format!("*{name}"))),
        Type::Array { of, count } => {
            let count = count.map_or_else(String::new, |count| count.to_string());
            let name = if name.starts_with('*') { format!("({name})") } else { name.to_owned() };
            declaration(of, &format!("{name}[{count}]"))
        }
        Type::Function(signature) => function(signature, name),
    }
}

fn function(signature: &Signature, name: &str) -> String {
    let convention = match signature.convention {
        Convention::Unwritten => "",
        Convention::Nt => "NTAPI ",
        Convention::C => "__cdecl ",
    };
    let mut list: Vec<String> =
        signature.parameters.iter().map(|parameter| declaration(&parameter.kind, &parameter.name)).collect();
    if signature.is_open {
        list.push(String::from("..."));
    }
    let list = if list.is_empty() { String::from("VOID") } else { list.join(", ") };
    if name.starts_with('*') {
        declaration(&signature.result, &format!("({convention}{name})({list})"))
    } else {
        declaration(&signature.result, &format!("{convention}{name}({list})"))
    }
}

impl Keyword {
    fn text(self) -> &'static str {
        match self {
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
        }
    }
}
