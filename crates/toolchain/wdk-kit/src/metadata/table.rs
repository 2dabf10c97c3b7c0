//! Reads `kit/metadata/*.txt`: which parts of the metadata are used, and information that the metadata lacks.
//!
//! An entry is a keyword with its arguments. Lines that start with a space continue the entry. `#` starts a comment.

use std::collections::{BTreeMap, BTreeSet};

/// All lines by keyword.
#[derive(Default)]
pub(crate) struct Table {
    /// Namespaces whose routines, types and constants are all taken, each with the header that they go to.
    pub(crate) namespaces: Vec<(String, String)>,
    /// Constants from namespaces that are not taken as a whole: the header that they go to, the namespace, and their prefixes.
    pub(crate) constants: Vec<(String, String, Vec<String>)>,
    /// Single names that are taken from other namespaces, with the header that they go to.
    pub(crate) names: BTreeMap<String, String>,
    /// Patterns of names that are left out.
    pub(crate) without: Vec<String>,
    /// Routines with 64-bit integers that are `LONGLONG` and not `LARGE_INTEGER`.
    pub(crate) plain: Vec<String>,
    /// `Record.Field`: the same for fields, and pointers to constant data. The published bindings have these.
    pub(crate) plain_fields: BTreeSet<String>,
    pub(crate) constant_fields: BTreeSet<String>,
    /// `Record.Field`: unsigned 64-bit integers that are a `ULARGE_INTEGER`.
    pub(crate) unsigned: BTreeSet<String>,
    /// Types that routines take by a pointer to constant data.
    pub(crate) constant: BTreeSet<String>,
    /// Types that callbacks take by a pointer to constant data.
    pub(crate) constant_in_callbacks: BTreeSet<String>,
    /// Records whose pointers are constant themselves. What they point to can be changed.
    pub(crate) constant_pointers: BTreeSet<String>,
    /// Pointers to structures that no header declares, with the tag that the WDK gives them.
    pub(crate) opaque: BTreeMap<String, String>,
    /// Tags of enumerations that are not the name with an underscore.
    pub(crate) tags: BTreeMap<String, String>,
    /// `Routine`, `Record.Field`: pointers to structures that the metadata has no name for, with their tags.
    pub(crate) pointees: BTreeMap<String, String>,
    /// `Record.Field`: fields with the alignment of pointers.
    pub(crate) aligned: BTreeSet<String>,
    /// Records with an explicit alignment.
    pub(crate) alignments: BTreeMap<String, String>,
    /// Records whose fields are packed.
    pub(crate) packed: BTreeMap<String, u16>,
    /// Records that are wrong in the metadata, with their declarations in C.
    pub(crate) records: BTreeMap<String, String>,
    /// Import libraries without a header: file, module, names of routines.
    pub(crate) libraries: Vec<(String, String, Vec<String>)>,
    /// The same for all routines of a module of the metadata: file, module, name of the module in the metadata.
    pub(crate) libraries_of: Vec<(String, String, String)>,
    /// Routines whose declarations Microsoft's published bindings have, with the module that exports them.
    pub(crate) published: BTreeMap<String, String>,
    /// Records that are right in the published bindings. In the metadata, they have their 32-bit layout or lack arrays.
    pub(crate) better: Vec<String>,
    /// Routines and variables that a module exports and no header declares: module and name.
    pub(crate) exports: Vec<(String, String)>,
    pub(crate) data: Vec<(String, String)>,
    /// Patterns of names in the published bindings that are left out.
    pub(crate) unpublished: Vec<String>,
    /// Annotations for static analysis, without and with arguments.
    pub(crate) annotations: Vec<String>,
    pub(crate) annotations_of: Vec<String>,
    /// Modules of the metadata, with the module that drivers import from.
    pub(crate) modules: BTreeMap<String, String>,
}

impl Table {
    /// Adds the lines of one file.
    pub(crate) fn read(&mut self, file: &str, text: &str) -> Result<(), String> {
        for (line, entry) in entries(text) {
            let mut words = entry.split_whitespace().map(str::to_owned);
            let keyword = words.next().unwrap_or_default();
            let rest: Vec<String> = words.collect();
            let place = || format!("kit/metadata/{file}:{line}");
            self.add(&keyword, rest).ok_or_else(|| format!("{}: `{keyword}` is unknown or incomplete", place()))?;
        }
        Ok(())
    }

    fn add(&mut self, keyword: &str, rest: Vec<String>) -> Option<()> {
        let mut words = rest.into_iter();
        match keyword {
            "namespace" => {
                let header = words.next()?;
                self.namespaces.extend(words.map(|name| (name, header.clone())));
            }
            "constants" => self.constants.push((words.next()?, words.next()?, words.collect())),
            "names" => {
                let header = words.next()?;
                self.names.extend(words.map(|name| (name, header.clone())));
            }
            "without" => self.without.extend(words),
            "plain" => self.plain.extend(words),
            "unsigned" => self.unsigned.extend(words),
            "constant" => self.constant.extend(words),
            "constant-in-callbacks" => self.constant_in_callbacks.extend(words),
            "constant-pointers" => self.constant_pointers.extend(words),
            "opaque" => drop(self.opaque.insert(words.next()?, words.next()?)),
            "tag" => drop(self.tags.insert(words.next()?, words.next()?)),
            "pointee" => drop(self.pointees.insert(words.next()?, words.next()?)),
            "aligned" => {
                let record = words.next()?;
                self.aligned.extend(words.map(|field| format!("{record}.{field}")));
            }
            "alignment" => drop(self.alignments.insert(words.next()?, words.next()?)),
            "packed" => {
                let size = words.next()?.parse().ok()?;
                self.packed.extend(words.map(|name| (name, size)));
            }
            "library" => self.libraries.push((words.next()?, words.next()?, words.collect())),
            "library-of" => self.libraries_of.push((words.next()?, words.next()?, words.next()?)),
            "published" => {
                let module = words.next()?;
                self.published.extend(words.map(|name| (name, module.clone())));
            }
            "exports" => {
                let module = words.next()?;
                self.exports.extend(words.map(|name| (module.clone(), name)));
            }
            "data" => {
                let module = words.next()?;
                self.data.extend(words.map(|name| (module.clone(), name)));
            }
            "annotations" => self.annotations.extend(words),
            "annotations-of" => self.annotations_of.extend(words),
            "better" => self.better.extend(words),
            "unpublished" => self.unpublished.extend(words),
            "module" => drop(self.modules.insert(words.next()?.to_ascii_lowercase(), words.next()?)),
            _ => return None,
        }
        Some(())
    }

    /// Whether a name is left out.
    pub(crate) fn is_left_out(&self, name: &str) -> bool {
        matches(&self.without, name)
    }

    /// Whether a name of the published bindings is left out.
    pub(crate) fn is_unpublished(&self, name: &str) -> bool {
        matches(&self.unpublished, name)
    }

    /// Whether a signed 64-bit integer at this place is `LONGLONG`.
    pub(crate) fn is_plain(&self, place: &str) -> bool {
        self.plain_fields.contains(place.trim_start_matches('_')) || matches(&self.plain, place)
    }

    /// Whether the pointer in this field is to constant data, whatever the metadata says.
    pub(crate) fn is_constant_field(&self, place: &str) -> bool {
        self.constant_fields.contains(place.trim_start_matches('_'))
    }
}

fn matches(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| match pattern.split_once('*') {
        Some((start, end)) => name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end),
        None => pattern == name,
    })
}

/// Returns each entry with the number of its first line.
fn entries(text: &str) -> Vec<(usize, String)> {
    let mut entries: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        if code.trim().is_empty() {
            continue;
        }
        match entries.last_mut() {
            Some((_, entry)) if code.starts_with(' ') => entry.push_str(code),
            _ => entries.push((index + 1, code.to_owned())),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn entries_go_on_in_indented_lines_and_patterns_have_one_star() {
        let mut table = Table::default();
        table.read("t", "# all\nwithout A* # why\n  *B C*D\nnamespace h.h N.One\n  N.Two\n").unwrap();
        assert_eq!(table.namespaces.len(), 2);
        for (name, expected) in [("Ax", true), ("xB", true), ("CxD", true), ("C", false), ("x", false)] {
            assert_eq!(table.is_left_out(name), expected, "{name}");
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        let error = Table::default().read("t.txt", "\nwhatever x\n").unwrap_err();
        assert!(error.starts_with("kit/metadata/t.txt:2: `whatever`"), "{error}");
    }
}
