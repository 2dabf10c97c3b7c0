//! Adds declarations that Microsoft's metadata lacks, from bindings that Microsoft has published: `wdk-sys` 0.2.0 contains the
//! bindings that bindgen generated from the WDK's headers (22H2, x64, KMDF 1.33).
//!
//! The bindings are converted back to C: constants, names of types, records, enumerations. Names that the kit already declares are
//! not added, and neither are declarations that need a name that is left out.

mod parse;
mod spell;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::Error;
use crate::metadata::Table;
use parse::{Item, Record, Routine};

/// The bindings.
pub(crate) struct Published {
    /// Names and values, in the syntax of C.
    pub(crate) constants: BTreeMap<String, String>,
    items: Vec<Item>,
    routines: BTreeMap<String, Routine>,
    /// The keyword of each tag: `struct`, `union` or `enum`.
    tags: BTreeMap<String, &'static str>,
    aliases: BTreeMap<String, String>,
    records: BTreeMap<String, Record>,
}

/// The declarations that are added to the kit.
#[derive(Default)]
pub(crate) struct Supplement {
    /// The text of a header.
    pub(crate) text: String,
    /// Routines by the module that exports them.
    pub(crate) exports: BTreeMap<String, BTreeSet<String>>,
    /// Routines whose declarations replace those of the metadata.
    pub(crate) replaced: BTreeSet<String>,
}

impl Published {
    /// Reads the files in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        let text = |name: &str| {
            let path = folder.join(name);
            let text = fs::read_to_string(&path).map_err(|error| Error::io(&path, &error))?;
            // The bindings were generated on Windows and have its line endings.
            Ok::<_, Error>(text.replace("\r\n", "\n"))
        };
        let items = parse::items(&text("types.rs")?);
        let (mut tags, mut aliases, mut records) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for item in &items {
            match item {
                Item::Record(record) => {
                    tags.insert(record.name.clone(), if record.is_union { "union" } else { "struct" });
                    records.insert(record.name.clone(), record.clone());
                }
                Item::Enumeration { name, .. } => drop(tags.insert(name.clone(), "enum")),
                Item::Alias { name, target } => drop(aliases.insert(name.clone(), target.clone())),
            }
        }
        let constants = parse::constants(&text("constants.rs")?);
        if records.is_empty() || constants.is_empty() {
            // The build script of wdk-sys 0.2 writes what it generates to these files.
            return Err(Error::OverwrittenBindings(folder.to_path_buf()));
        }
        Ok(Self { constants, items, routines: parse::routines(&text("ntddk.rs")?), tags, aliases, records })
    }

    /// Returns the tags of enumerations whose tag is not their name with an underscore.
    pub(crate) fn enumeration_tags(&self) -> BTreeMap<String, String> {
        let is_enumeration = |tag: &str| self.tags.get(tag) == Some(&"enum");
        let without = self.tags.keys().filter(|tag| is_enumeration(tag) && !tag.starts_with('_'));
        let mut tags: BTreeMap<String, String> = without.map(|tag| (tag.clone(), tag.clone())).collect();
        for (name, target) in &self.aliases {
            if let Some(tag) = target.strip_suffix("::Type").filter(|tag| is_enumeration(tag)) {
                tags.insert(name.clone(), tag.to_owned());
            }
        }
        tags
    }

    /// Returns declarations of records that are used instead of those of the metadata, by their names without an underscore.
    pub(crate) fn records(&self, table: &Table) -> BTreeMap<String, String> {
        // Every name counts as declared, because the metadata has the same names.
        let declared = self.aliases.keys().chain(self.tags.keys()).cloned().collect();
        let complete = self.records.keys().cloned().collect();
        let writer = Writer::new(self, table, declared, complete);
        let mut found = BTreeMap::new();
        for name in &table.better {
            let Some(record) = self.records.get(&format!("_{name}")) else { continue };
            if let Some(text) = writer.record(record) {
                found.insert(name.clone(), text);
            }
        }
        found
    }

    /// Returns the declarations that the kit does not have. `declared` has the names of the kit, `complete` the tags of records with
    /// fields, and `routines` the declarations of the kit's routines.
    pub(crate) fn supplement(
        &self,
        table: &Table,
        declared: &BTreeSet<String>,
        complete: &BTreeSet<String>,
        routines: &BTreeMap<String, String>,
    ) -> Supplement {
        let mut writer = Writer::new(self, table, declared.clone(), complete.clone());
        let mut text = String::from("#ifndef WDK_KIT_NO_CONSTANTS\n");
        for (name, value) in &self.constants {
            if !name.starts_with('_') && !writer.is_left_out(name) && !declared.contains(name) {
                let _ = writeln!(text, "#define {name} {value}");
            }
        }
        // An item can need an item that comes later, so this repeats until no more items can be declared.
        let mut pending: Vec<&Item> = self.items.iter().collect();
        loop {
            let before = pending.len();
            pending.retain(|item| !writer.item(item));
            if pending.len() == before {
                break;
            }
        }
        text.push_str("#endif\n#ifndef WDK_KIT_NO_TYPES\n");
        text.push_str(&tags_in(&writer.types));
        let _ = write!(text, "{}#endif\n#ifndef WDK_KIT_NO_RECORDS\n{}", writer.types, tags_in(&writer.records));
        let _ = write!(text, "{}#endif\n#ifndef WDK_KIT_NO_ROUTINES\n", writer.records);
        let mut exports = BTreeMap::<String, BTreeSet<String>>::new();
        for (name, module) in &table.published {
            let Some(routine) = self.routines.get(name).filter(|_| !declared.contains(name)) else { continue };
            if let Some(declaration) = writer.routine(name, routine) {
                text.push_str(&declaration);
                exports.entry(module.clone()).or_default().insert(name.clone());
            }
        }
        let mut replaced = BTreeSet::new();
        for (name, metadata) in routines {
            let better = self.routines.get(name).and_then(|routine| writer.routine(name, routine));
            if let Some(better) = better.filter(|better| says_more(better, metadata)) {
                text.push_str(&better);
                replaced.insert(name.clone());
            }
        }
        text.push_str("#endif\n");
        Supplement { text, exports, replaced }
    }
}

/// Whether a declaration has information that the metadata has lost: pointers to constant data, 64-bit integers that are not
/// `LARGE_INTEGER`, or that a routine never returns.
fn says_more(declaration: &str, metadata: &str) -> bool {
    let words = |text: &str| {
        let words: Vec<String> =
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').map(str::to_owned).collect();
        words
    };
    let count = |text: &str, is_meant: fn(&str) -> bool| words(text).iter().filter(|word| is_meant(word)).count();
    let is_constant = |word: &str| {
        let rest = word.strip_prefix("LPC").or_else(|| word.strip_prefix("PC"));
        word == "const"
            || rest.is_some_and(|rest| ["SZ", "WCH", "CH", "STR", "WSTR", "GUID"].contains(&rest) || rest.contains('_'))
    };
    let is_union = |word: &str| word.ends_with("LARGE_INTEGER");
    declaration.starts_with(NEVER)
        || count(declaration, is_constant) > count(metadata, is_constant)
        || count(declaration, is_union) < count(metadata, is_union)
}

/// The start of the declaration of a routine that does not return.
const NEVER: &str = "__declspec(noreturn)";

/// Declares the tags that a text refers to. In C, a tag that first appears in a list of parameters would be a different type.
fn tags_in(text: &str) -> String {
    let words: Vec<&str> = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let mut tags = BTreeSet::new();
    for pair in words.windows(2) {
        if let [keyword @ ("struct" | "union"), tag] = pair
            && tag.starts_with('_')
        {
            tags.insert(format!("{keyword} {tag};\n"));
        }
    }
    tags.into_iter().collect()
}

/// Records whose fields are right only for x64, the processor of the published bindings.
const OF_ONE_PROCESSOR: [&str; 5] = ["_CONTEXT", "_KTRAP_FRAME", "_KEXCEPTION_FRAME", "_KPCR", "_KSWITCH_FRAME"];

struct Writer<'p> {
    published: &'p Published,
    table: &'p Table,
    declared: BTreeSet<String>,
    complete: BTreeSet<String>,
    /// Declarations that need no complete record.
    types: String,
    records: String,
    /// Names that are declared in `records`.
    late: BTreeSet<String>,
}

impl<'p> Writer<'p> {
    fn new(published: &'p Published, table: &'p Table, declared: BTreeSet<String>, complete: BTreeSet<String>) -> Self {
        let (types, records, late) = (String::new(), String::new(), BTreeSet::new());
        Self { published, table, declared, complete, types, records, late }
    }

    fn is_left_out(&self, name: &str) -> bool {
        let plain = name.trim_start_matches('_');
        self.table.is_left_out(name) || self.table.is_left_out(plain) || self.table.is_unpublished(plain)
    }

    /// Declares an item. Returns whether the item is done: it is declared, or it will never be.
    fn item(&mut self, item: &Item) -> bool {
        match item {
            Item::Alias { name, target } => {
                if self.declared.contains(name) || self.is_left_out(name) || name.contains("__bindgen") {
                    return true;
                }
                let Some(text) = self.spell(target, name, false) else { return false };
                // In C, the record of an array must be complete before the array.
                let base = target.trim_start_matches("*mut ").trim_start_matches("*const ");
                let is_late = target.starts_with('[') || self.late.contains(base);
                if is_late {
                    self.late.insert(name.clone());
                }
                let place = if is_late { &mut self.records } else { &mut self.types };
                let _ = writeln!(place, "typedef {text};");
                self.declared.insert(name.clone());
                true
            }
            Item::Enumeration { name, kind, members } => {
                if self.declared.contains(name) || self.is_left_out(name) || name.contains("bindgen_ty") {
                    return true;
                }
                let mut text = String::new();
                for (member, value) in members {
                    if self.declared.insert(member.clone()) {
                        let _ = write!(text, "{member} = {value}, ");
                    }
                }
                if !text.is_empty() {
                    let kind = if kind.ends_with("c_int") { "" } else { ": unsigned int " };
                    let _ = writeln!(self.types, "enum {name} {kind}{{ {text}}};");
                    self.declared.insert(name.clone());
                }
                true
            }
            Item::Record(record) => {
                let name = &record.name;
                if self.complete.contains(name)
                    || self.is_left_out(name)
                    || name.contains("__bindgen")
                    || record.fields.is_empty()
                    // A record without a tag is in the kit if its typedef is.
                    || (!name.starts_with('_') && self.declared.contains(name))
                {
                    return true;
                }
                let Some(text) = self.record(record) else { return false };
                if !name.starts_with('_') {
                    let keyword = self.published.tags.get(name).copied().unwrap_or("struct");
                    let _ = writeln!(self.types, "typedef {keyword} {name} {name};");
                }
                let is_special = OF_ONE_PROCESSOR.contains(&name.as_str());
                let guard = if is_special { ("#if defined(_AMD64_)\n", "#endif\n") } else { ("", "") };
                let _ = write!(self.records, "{}{text};\n{}", guard.0, guard.1);
                self.complete.insert(name.clone());
                self.declared.insert(name.clone());
                true
            }
        }
    }

    /// Returns a record with its fields, packing and alignment.
    fn record(&self, record: &Record) -> Option<String> {
        let keyword = if record.is_union { "union" } else { "struct" };
        let align = record.alignment.map(|size| format!("DECLSPEC_ALIGN({size}) ")).unwrap_or_default();
        let text = format!("{keyword} {align}{} {}", record.name, self.body(record)?);
        Some(match record.packing {
            Some(size) => format!("#pragma pack(push, {size})\n{text};\n#pragma pack(pop)\n"),
            None => text,
        })
    }

    fn routine(&self, name: &str, routine: &Routine) -> Option<String> {
        let mut parameters = Vec::new();
        for kind in &routine.parameters {
            parameters.push(if kind == "..." { kind.clone() } else { self.spell(kind, "", false)? });
        }
        let list = if parameters.is_empty() { String::from("VOID") } else { parameters.join(", ") };
        let (never, result) = if routine.result == "!" { (NEVER, "()") } else { ("", routine.result.as_str()) };
        Some(format!("{never} {};\n", self.spell(result, &format!("{name}({list})"), false)?).trim_start().to_owned())
    }
}
