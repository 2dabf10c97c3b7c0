//! JSON, one object for an image. Addresses and flags are numbers.

use std::fmt::Write as _;

use crate::pe::{Export, ExportTarget, Image, Imported, SymbolSource};
use crate::rules::Verdict;

/// A JSON value under construction.
enum Json {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(&'static str, Json)>),
}

/// The description of an image and what Windows would say to it.
#[must_use]
pub fn image(name: &str, image: &Image, verdict: &Verdict) -> String {
    let header = &image.header;
    let signature = image.signature.as_ref().map(|signature| {
        Json::Object(vec![
            ("offset", signature.offset.into()),
            ("size", signature.size.into()),
            ("certificates", count(signature.certificates.len())),
            ("problems", list(&signature.problems, |problem| problem.as_str().into())),
        ])
    });
    let relocations = image.relocations.as_ref().map(|relocations| {
        Json::Object(vec![("pages", count(relocations.blocks)), ("addresses", count(relocations.fixups))])
    });
    let load_config = image.load_config.as_ref().map(|config| {
        Json::Object(vec![
            ("size", config.size.into()),
            ("security_cookie", config.security_cookie.map(Json::Number).into()),
            ("guard_flags", config.guard_flags.map(Json::from).into()),
            ("guard_functions", config.guard_functions.map(Json::Number).into()),
        ])
    });
    let framework = image.framework.map(|client| {
        Json::Object(vec![
            ("version", client.version().as_str().into()),
            ("functions", client.functions.into()),
            ("oldest_version", format!("{}.{}", client.major, client.oldest_framework()).as_str().into()),
        ])
    });
    let value = Json::Object(vec![
        ("file", name.into()),
        ("size", Json::Number(image.file_size)),
        ("machine", Json::Number(header.machine.0.into())),
        ("machine_name", header.machine.name().map(Json::from).into()),
        ("pe32_plus", Json::Bool(header.is_pe32_plus)),
        ("timestamp", header.timestamp.into()),
        ("subsystem", Json::Number(header.subsystem.0.into())),
        ("subsystem_name", header.subsystem.name().map(Json::from).into()),
        ("subsystem_version", header.subsystem_version.to_string().as_str().into()),
        ("entry", entry(image)),
        ("characteristics", Json::Number(header.characteristics.0.into())),
        ("dll_characteristics", Json::Number(header.dll_characteristics.0.into())),
        ("image_base", Json::Number(header.image_base)),
        ("size_of_image", header.size_of_image.into()),
        ("section_alignment", header.section_alignment.into()),
        ("file_alignment", header.file_alignment.into()),
        (
            "checksum",
            Json::Object(vec![
                ("stored", header.checksum.stored.into()),
                ("computed", header.checksum.computed.into()),
            ]),
        ),
        ("sections", sections(image)),
        ("imports", imports(image)),
        ("delay_imports", list(&image.imports.delayed, |name| name.as_str().into())),
        ("exports", image.exports.as_ref().map(|exports| list(&exports.symbols, export)).into()),
        ("relocations", relocations.into()),
        ("load_config", load_config.into()),
        ("signature", signature.into()),
        ("framework", framework.into()),
        ("oldest_windows", image.oldest_release().map(|release| release.name().into()).into()),
        ("oldest_build", image.oldest_release().map(|release| release.build().into()).into()),
        ("debug", debug(image)),
        ("tls", Json::Bool(image.has_tls)),
        ("clr", Json::Bool(image.has_clr)),
        ("windows", verdict.target().release.name().into()),
        ("loadable", Json::Bool(verdict.is_loadable())),
        ("findings", findings(verdict)),
    ]);
    let mut text = String::new();
    value.write(&mut text, 0);
    text
}

fn entry(image: &Image) -> Json {
    let symbol = image.entry.symbol.as_ref();
    let source = symbol.map(|symbol| match symbol.source {
        SymbolSource::Exports => Json::from("exports"),
        SymbolSource::Map => "map".into(),
    });
    Json::Object(vec![
        ("rva", image.entry.rva.into()),
        ("section", image.entry_section().map(|section| section.name.as_str().into()).into()),
        ("symbol", symbol.map(|symbol| symbol.name.as_str().into()).into()),
        ("symbol_source", source.into()),
    ])
}

fn sections(image: &Image) -> Json {
    list(&image.sections, |section| {
        Json::Object(vec![
            ("name", section.name.as_str().into()),
            ("rva", section.rva.into()),
            ("virtual_size", section.virtual_size.into()),
            ("file_offset", section.file_offset.into()),
            ("file_size", section.file_size.into()),
            ("flags", section.flags.0.into()),
            ("rights", section.rights().as_str().into()),
        ])
    })
}

fn imports(image: &Image) -> Json {
    list(&image.imports.modules, |module| {
        let routines = list(&module.routines, |routine| match routine {
            Imported::Name(name) => name.as_str().into(),
            Imported::Ordinal(ordinal) => Json::Number((*ordinal).into()),
        });
        Json::Object(vec![("module", module.name.as_str().into()), ("routines", routines)])
    })
}

fn export(export: &Export) -> Json {
    let (rva, forward) = match &export.target {
        ExportTarget::Address(rva) => (Some(Json::from(*rva)), None),
        ExportTarget::Forward(to) => (None, Some(Json::from(to.as_str()))),
    };
    Json::Object(vec![
        ("name", export.name.as_deref().map(Json::from).into()),
        ("ordinal", export.ordinal.into()),
        ("rva", rva.into()),
        ("forward", forward.into()),
    ])
}

fn debug(image: &Image) -> Json {
    list(&image.debug, |entry| {
        let pdb = entry.pdb.as_ref();
        Json::Object(vec![
            ("type", entry.kind.into()),
            ("pdb", pdb.map(|pdb| pdb.path.as_str().into()).into()),
            ("id", pdb.map(|pdb| pdb.id.as_str().into()).into()),
            ("age", pdb.map(|pdb| pdb.age.into()).into()),
        ])
    })
}

fn findings(verdict: &Verdict) -> Json {
    list(verdict.findings(), |finding| {
        Json::Object(vec![
            ("rule", finding.rule.id.into()),
            ("severity", finding.rule.severity.to_string().as_str().into()),
            ("found", finding.found.as_str().into()),
            ("asked", finding.rule.what.into()),
            ("why", finding.rule.why.into()),
            ("source", finding.rule.source.into()),
        ])
    })
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Json) -> Json {
    Json::List(items.iter().map(value).collect())
}

fn count(number: usize) -> Json {
    Json::Number(u64::try_from(number).unwrap_or(u64::MAX))
}

impl From<u32> for Json {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Option<Json>> for Json {
    fn from(value: Option<Json>) -> Self {
        value.unwrap_or(Self::Null)
    }
}

impl Json {
    fn write(&self, text: &mut String, depth: usize) {
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Number(value) => {
                let _ = write!(text, "{value}");
            }
            Self::Text(value) => write_text(text, value),
            Self::List(items) => {
                let items = items.iter().map(|item| (None, item));
                write_all(text, depth, ['[', ']'], items);
            }
            Self::Object(members) => {
                let members = members.iter().map(|(name, value)| (Some(*name), value));
                write_all(text, depth, ['{', '}'], members);
            }
        }
    }
}

fn write_all<'a>(
    text: &mut String,
    depth: usize,
    [open, close]: [char; 2],
    items: impl Iterator<Item = (Option<&'static str>, &'a Json)>,
) {
    let mut empty = true;
    text.push(open);
    for (name, value) in items {
        text.push_str(if empty { "\n" } else { ",\n" });
        empty = false;
        text.push_str(&"  ".repeat(depth + 1));
        if let Some(name) = name {
            write_text(text, name);
            text.push_str(": ");
        }
        value.write(text, depth + 1);
    }
    if !empty {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    }
    text.push(close);
}

fn write_text(text: &mut String, value: &str) {
    text.push('"');
    for character in value.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            control if control.is_control() => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

/// Several reports as one list.
#[must_use]
pub fn list_of(reports: &[String]) -> String {
    match reports {
        [] => "[]".into(),
        reports => format!("[\n{}\n]", reports.join(",\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn text_is_escaped_and_empty_lists_stay_on_their_line() {
        let value = Json::Object(vec![("a", "q\"\\\n".into()), ("b", Json::List(vec![])), ("c", Json::Null)]);
        let mut text = String::new();
        value.write(&mut text, 0);
        assert_eq!(text, "{\n  \"a\": \"q\\\"\\\\\\u000a\",\n  \"b\": [],\n  \"c\": null\n}");
    }
}
