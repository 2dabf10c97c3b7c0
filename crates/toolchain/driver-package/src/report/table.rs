//! Formats aligned text for a terminal.

use std::fmt::Write as _;

use command_line::escaped;

use crate::pe::{ExportTarget, Image, SymbolSource};
use crate::rules::{self, Severity, Verdict};

/// The decoration of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether headings are bold, with escape codes.
    pub bold: bool,
}

impl Style {
    fn heading(self, text: &str) -> String {
        if self.bold { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Returns the description of an image and its verdict.
#[must_use]
pub fn image(name: &str, image: &Image, verdict: &Verdict, style: Style) -> String {
    // The names in an image may contain anything.
    let mut text = format!("{}\n", style.heading(&escaped(name)));
    for (label, value) in summary(image) {
        let _ = writeln!(text, "  {label:<16} {}", escaped(&value));
    }
    let mut part = |title: String, lines: Vec<String>| {
        let _ = writeln!(text, "\n  {}", style.heading(&escaped(&title)));
        for line in lines {
            let _ = writeln!(text, "    {}", escaped(line.trim_end()));
        }
    };
    part(format!("sections ({})", image.sections.len()), sections(image));
    part(format!("imports ({})", image.imports.modules.len()), imports(image));
    if let Some(exports) = &image.exports {
        part(format!("exports of {} ({})", exports.module, exports.symbols.len()), export_lines(image));
    }
    let conclusion = if verdict.is_loadable() { "Windows would load it" } else { "Windows would refuse it" };
    part(format!("{conclusion} ({})", verdict.target().release), findings(verdict));
    text
}

/// Returns all rules, for `--rules`.
#[must_use]
pub fn rule_list() -> String {
    let mut text = String::new();
    for rule in rules::all() {
        let _ = writeln!(text, "{} ({})\n  rule    {}\n  reason  {}", rule.id, rule.severity, rule.what, rule.why);
        let _ = writeln!(text, "  source  {}\n", rule.source);
    }
    text
}

fn summary(image: &Image) -> Vec<(&'static str, String)> {
    let header = &image.header;
    let format = if header.is_pe32_plus { "PE32+" } else { "PE32" };
    let flags = |value: u16, names: Vec<&str>| format!("{value:#06x} {}", names.join(" ")).trim_end().to_owned();
    let sum = header.checksum;
    let right = if sum.is_right() { String::from("right") } else { format!("{:#010x} expected", sum.computed) };
    let mut lines = vec![
        ("machine", format!("{} ({:#06x}), {format}", header.machine, header.machine.0)),
        ("subsystem", format!("{} ({}), version {}", header.subsystem, header.subsystem.0, header.subsystem_version)),
        ("entry", entry(image)),
        ("characteristics", flags(header.characteristics.0, header.characteristics.names())),
        ("DLL flags", flags(header.dll_characteristics.0, header.dll_characteristics.names())),
        (
            "image",
            format!(
                "base {:#x}, size {:#x}, {} bytes in the file",
                header.image_base, header.size_of_image, image.file_size
            ),
        ),
        ("alignment", format!("{:#x} in memory, {:#x} in the file", header.section_alignment, header.file_alignment)),
        ("checksum", format!("{:#010x}, {right}", sum.stored)),
        ("relocations", relocations(image)),
        ("load config", load_config(image)),
        ("signature", signature(image)),
        ("framework", framework(image)),
        ("Windows", windows(image)),
    ];
    for entry in &image.debug {
        let pdb = entry.pdb.as_ref().map(|pdb| format!(": {} {{{}}} age {}", pdb.path, pdb.id, pdb.age));
        lines.push(("debug", format!("{}{}", entry.kind_name(), pdb.unwrap_or_default())));
    }
    lines
}

fn entry(image: &Image) -> String {
    let place = match image.entry_section() {
        _ if image.entry.rva == 0 => return "none".into(),
        Some(section) => format!("{:#x} in {} ({})", image.entry.rva, section.name, section.rights()),
        None => format!("{:#x} in no section", image.entry.rva),
    };
    match &image.entry.symbol {
        Some(symbol) => {
            let source = match symbol.source {
                SymbolSource::Exports => "exports",
                SymbolSource::Map => "map",
            };
            format!("{place}: {} (from its {source})", symbol.name)
        }
        None => place,
    }
}

/// Formats a number and its noun.
fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        _ if noun.ends_with('s') => format!("{number} {noun}es"),
        _ => format!("{number} {noun}s"),
    }
}

fn relocations(image: &Image) -> String {
    match &image.relocations {
        Some(relocations) => {
            format!("{} in {}", counted(relocations.fixups.len(), "address"), counted(relocations.blocks, "page"))
        }
        None => "none".into(),
    }
}

fn load_config(image: &Image) -> String {
    let Some(config) = &image.load_config else {
        return "none".into();
    };
    let cookie = match config.security_cookie {
        Some(cookie) if cookie != 0 => format!("security cookie at {cookie:#x}"),
        _ => "no security cookie".into(),
    };
    let flags = config.guard_flags.unwrap_or_default();
    let guard = if config.is_guarded() { "guarded" } else { "not guarded" };
    format!("{} bytes, {cookie}, {guard} (flags {flags:#x})", config.size)
}

fn signature(image: &Image) -> String {
    match &image.signature {
        Some(signature) => format!(
            "{} in {} bytes at {:#x}; `verify` checks who signed it",
            counted(signature.certificates.len(), "certificate"),
            signature.size,
            signature.offset
        ),
        None => "none in the file".into(),
    }
}

fn framework(image: &Image) -> String {
    let Some(client) = image.framework else {
        return "none".into();
    };
    let oldest = client.oldest_framework();
    let from = if oldest == client.minor { String::new() } else { format!(", runs on 1.{oldest} and later") };
    format!("KMDF {} with {} functions{from}", client.version(), client.functions)
}

fn windows(image: &Image) -> String {
    match rules::oldest_release(image) {
        Some(release) => format!("{} and later", release.described()),
        None => "no known release can load it".into(),
    }
}

fn sections(image: &Image) -> Vec<String> {
    let width = image.sections.iter().map(|section| section.name.chars().count()).max().unwrap_or(0).max(4);
    let title =
        format!("{:<width$}  {:>10}  {:>10}  {:>10}  {:>10}  rights", "name", "address", "size", "offset", "in file");
    let line = |section: &crate::pe::Section| {
        let discardable = if section.is_discardable() { " discardable" } else { "" };
        format!(
            "{:<width$}  {:>#10x}  {:>#10x}  {:>#10x}  {:>#10x}  {}{discardable}",
            section.name,
            section.rva,
            section.virtual_size,
            section.file_offset,
            section.file_size,
            section.rights()
        )
    };
    std::iter::once(title).chain(image.sections.iter().map(line)).collect()
}

fn imports(image: &Image) -> Vec<String> {
    let mut lines = Vec::new();
    for module in &image.imports.modules {
        lines.push(format!("{} ({})", module.name, module.routines.len()));
        lines.extend(module.routines.iter().map(|routine| format!("  {routine}")));
    }
    lines.extend(image.imports.delayed.iter().map(|name| format!("{name} (delayed)")));
    lines
}

fn export_lines(image: &Image) -> Vec<String> {
    let symbols = image.exports.iter().flat_map(|exports| &exports.symbols);
    let line = |export: &crate::pe::Export| {
        let name = export.name.as_deref().unwrap_or("(no name)");
        match &export.target {
            ExportTarget::Address(rva) => format!("{:>5}  {rva:>#10x}  {name}", export.ordinal),
            ExportTarget::Forward(to) => format!("{:>5}  {:>10}  {name} -> {to}", export.ordinal, ""),
        }
    };
    symbols.map(line).collect()
}

fn findings(verdict: &Verdict) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in verdict.findings() {
        let rule = finding.rule;
        let (word, about) = match rule.severity {
            Severity::Refused => ("REFUSED", ""),
            Severity::MemoryIntegrity => ("warning", ": not compatible with memory integrity"),
            Severity::Warning => ("warning", ""),
        };
        lines.push(format!("{word}  {}{about}: {}", rule.id, finding.found));
        lines.push(format!("         rule: {}", rule.what));
        lines.push(format!("         {} ({})", rule.why, rule.source));
    }
    if lines.is_empty() {
        lines.push("no rule is broken".into());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn numbers_have_the_plural_of_their_noun() {
        let texts = [(1, "page"), (2, "page"), (0, "address")].map(|(number, noun)| counted(number, noun));
        assert_eq!(texts, ["1 page", "2 pages", "0 addresses"]);
    }
}
