//! Reads the declarations of a generated Rust file: records with their fields, constants, routines with their parameters.
//!
//! Relies only on the format of generated files: each declaration and each field is on a separate line.

use std::collections::BTreeMap;

/// The declarations of one file, by name.
#[derive(Default)]
pub(crate) struct Module {
    /// Structures and unions.
    pub(crate) records: BTreeMap<String, Vec<Field>>,
    /// Other names of types.
    pub(crate) aliases: BTreeMap<String, String>,
    /// Constants, with the path to each.
    pub(crate) constants: BTreeMap<String, String>,
    /// Routines: the types of the parameters, and the module that exports the routine, if it is known.
    pub(crate) routines: BTreeMap<String, (Vec<String>, Option<String>)>,
}

/// A field's name and type.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) kind: String,
}

impl Module {
    /// Reads one file. `wanted` decides by the `#[cfg]` of a declaration whether it counts.
    pub(crate) fn parse(text: &str, wanted: impl Fn(&str) -> bool) -> Self {
        let mut module = Self::default();
        let mut condition = String::new();
        let mut inside = String::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let code = line.trim();
            if code.starts_with("#[") {
                if code.starts_with("#[cfg(") {
                    code.clone_into(&mut condition);
                }
                continue;
            }
            let counts = wanted(&std::mem::take(&mut condition));
            if let Some(name) = record_name(code) {
                let fields = lines.by_ref().map(str::trim).take_while(|line| *line != "}").filter_map(field).collect();
                if counts {
                    module.records.insert(name.to_owned(), fields);
                }
            } else if let Some(name) = code.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(" {")) {
                inside = format!("{name}::");
            } else if line == "}" {
                inside.clear();
            } else if let Some((name, value)) = code.strip_prefix("pub type ").and_then(|rest| rest.split_once(" = ")) {
                module.aliases.insert(name.to_owned(), value.trim_end_matches(';').to_owned());
            } else if let Some((name, kind)) = code.strip_prefix("pub const ").and_then(|rest| rest.split_once(": ")) {
                // Texts are not compared.
                if counts && !kind.contains("CStr") {
                    module.constants.insert(name.to_owned(), format!("{inside}{name}"));
                }
            } else if let Some((exporter, rest)) =
                code.strip_prefix("windows_link::link!(\"").and_then(|r| r.split_once('"'))
            {
                if let Some((_, declaration)) = rest.split_once(" fn ") {
                    module.add_routine(declaration, Some(exporter.to_owned()));
                }
            } else if let Some(start) = code.strip_prefix("pub fn ").filter(|start| !start.contains("self")) {
                let mut declaration = start.to_owned();
                while !declaration.ends_with(';') && !declaration.ends_with('{') {
                    let Some(next) = lines.next() else { break };
                    declaration.push_str(next.trim());
                }
                module.add_routine(&declaration, None);
            }
        }
        module
    }

    fn add_routine(&mut self, declaration: &str, exporter: Option<String>) {
        if let Some((name, rest)) = declaration.split_once('(') {
            self.routines.insert(name.trim().to_owned(), (parameters(rest), exporter));
        }
    }

    /// Returns the record that a name refers to.
    pub(crate) fn record<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        let mut name = name;
        for _ in 0..8 {
            if self.records.contains_key(name) {
                return Some(name);
            }
            name = self.aliases.get(name)?;
        }
        None
    }

    /// Returns a type with each name replaced by what it means, without spaces and without the underscores before tags.
    pub(crate) fn resolved(&self, kind: &str) -> String {
        let mut text = compact(kind);
        for _ in 0..12 {
            let next: String = words(&text).map(|word| self.replaced(word)).collect();
            if next == text {
                break;
            }
            text = next;
        }
        // On Windows, both have 32 bits.
        let text = text.replace("c_uint", "c_ulong").replace("c_int", "c_long");
        words(&text).map(|word| word.trim_start_matches('_')).collect()
    }

    /// Replaces a name, which may have a separator behind it.
    fn replaced(&self, word: &str) -> String {
        let name = word.trim_end_matches(is_separator);
        let target = self.aliases.get(name).filter(|_| !self.records.contains_key(name));
        target.map_or_else(|| word.to_owned(), |target| compact(target) + &word[name.len()..])
    }

    /// Returns every field, including those of nested records: its path without anonymous parts, and its full path.
    pub(crate) fn paths(&self, record: &str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        self.collect(record, record, "", "", &mut found);
        found
    }

    fn collect(&self, top: &str, record: &str, shown: &str, written: &str, found: &mut BTreeMap<String, String>) {
        for field in &self.records[record] {
            let join = |path: &str| if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            let anonymous = field.name.starts_with("Anonymous") || field.name.starts_with("__bindgen_anon");
            let inner_shown = if anonymous { shown.to_owned() } else { join(shown) };
            let inner_written = join(written);
            if !anonymous && !field.name.contains("bitfield") {
                found.insert(inner_shown.clone(), inner_written.clone());
            }
            // The name of a nested record starts with the name of the outer record.
            if field.kind.starts_with(&format!("{top}_")) && self.records.contains_key(&field.kind) {
                self.collect(top, &field.kind, &inner_shown, &inner_written, found);
            }
        }
    }
}

/// A type without spaces: `&` is a pointer, `@` a pointer to constant data.
fn compact(kind: &str) -> String {
    kind.replace("*mut ", "&").replace("*const ", "@").replace([' ', '\n'], "").replace("::Type", "")
}

fn is_separator(c: char) -> bool {
    !c.is_ascii_alphanumeric() && c != '_'
}

/// The names in a type, each with the separator behind it.
fn words(kind: &str) -> impl Iterator<Item = &str> {
    kind.split_inclusive(is_separator)
}

fn record_name(code: &str) -> Option<&str> {
    let rest = code.strip_prefix("pub struct ").or_else(|| code.strip_prefix("pub union "))?;
    rest.strip_suffix(" {")
}

fn field(line: &str) -> Option<Field> {
    let (name, kind) = line.strip_prefix("pub ")?.split_once(": ")?;
    Some(Field { name: name.trim_start_matches("r#").to_owned(), kind: kind.trim_end_matches(',').to_owned() })
}

/// Returns the types of the parameters in the text after an opening parenthesis.
fn parameters(text: &str) -> Vec<String> {
    let mut depth = 0_u32;
    let mut found = Vec::new();
    let mut current = String::new();
    // The `>` in the arrow of a callback is not a closing bracket.
    for c in text.replace("->", "\u{2192}").chars() {
        match c {
            ')' if depth == 0 => break,
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(std::mem::take(&mut current));
                continue;
            }
            _ => {}
        }
        current.push(c);
    }
    found.push(current);
    let kind =
        |parameter: &String| parameter.split_once(": ").map_or(parameter.as_str(), |(_, kind)| kind).trim().to_owned();
    found.iter().filter(|parameter| !parameter.trim().is_empty()).map(kind).collect()
}
