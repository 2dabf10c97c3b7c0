//! Adds declarations that Microsoft's metadata lacks, from bindings that Microsoft has published: `wdk-sys` 0.2.0 contains the
//! bindings that bindgen generated from the WDK's headers (22H2, x64, KMDF 1.33).
//!
//! The bindings become declarations of the model: constants, names of types, records, enumerations. Names that the kit already declares are
//! not added, and neither are declarations that need a name that is left out.

mod bits;
mod parse;
mod resolve;
#[cfg(test)]
mod tests;
mod tokens;
mod types;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::Error;
use crate::metadata::{Generated, KERNEL, PROCESSORS, Table, declared};
use crate::model::{self, Keyword, Member, Part, Signature, Source, Type, forwards};
use parse::{Bindings, Item, Record};
use resolve::nested;
use types::{NEVER, UNIT};

/// The bindings.
pub(crate) struct Published {
    /// Names and values, in the syntax of C.
    pub(crate) constants: BTreeMap<String, String>,
    items: Vec<Item>,
    routines: BTreeMap<String, Signature>,
    /// The keyword of each tag.
    tags: BTreeMap<String, Keyword>,
    aliases: BTreeMap<String, Type>,
    records: BTreeMap<String, Record>,
}

/// The declarations that are added to the kit.
struct Supplement {
    part: Part,
    /// Routines by the module that exports them.
    exports: BTreeMap<String, BTreeSet<String>>,
    /// Routines whose declarations replace those of the metadata.
    replaced: BTreeSet<String>,
}

impl Published {
    /// Reads the files in `dir`.
    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        let mut bindings = Bindings::default();
        for name in ["types.rs", "constants.rs", "ntddk.rs"] {
            let path = dir.join(name);
            bindings.read(&fs::read_to_string(&path).map_err(|error| Error::io(&path, &error))?);
        }
        let published = Self::from_bindings(bindings);
        if published.records.is_empty() || published.constants.is_empty() {
            // The build script of wdk-sys 0.2 writes what it generates to these files.
            return Err(Error::OverwrittenBindings(dir.to_path_buf()));
        }
        Ok(published)
    }

    fn from_bindings(Bindings { items, constants, routines }: Bindings) -> Self {
        let mut tags = BTreeMap::new();
        let mut aliases = BTreeMap::new();
        let mut records = BTreeMap::new();
        for item in &items {
            match item {
                Item::Record(record) => {
                    tags.insert(record.name.clone(), record.keyword);
                    records.insert(record.name.clone(), record.clone());
                }
                Item::Enumeration { name, .. } => drop(tags.insert(name.clone(), Keyword::Enum)),
                Item::Alias { name, target } => drop(aliases.insert(name.clone(), target.clone())),
            }
        }
        Self { constants, items, routines, tags, aliases, records }
    }

    /// Returns the tags of enumerations whose tag is not their name with an underscore.
    pub(crate) fn enumeration_tags(&self) -> BTreeMap<String, String> {
        let is_enumeration = |tag: &str| self.tags.get(tag) == Some(&Keyword::Enum);
        let without = self.tags.keys().filter(|tag| is_enumeration(tag) && !tag.starts_with('_'));
        let mut tags: BTreeMap<String, String> = without.map(|tag| (tag.clone(), tag.clone())).collect();
        for (name, target) in &self.aliases {
            let Type::Name(target) = target else { continue };
            if let Some(tag) = target.strip_suffix("::Type").filter(|tag| is_enumeration(tag)) {
                tags.insert(name.clone(), tag.to_owned());
            }
        }
        tags
    }

    /// Notes for the fields of records what the metadata has lost: which 64-bit integers are no `LARGE_INTEGER`, and which pointers are
    /// to constant data.
    pub(crate) fn fields(&self, table: &mut Table) {
        for (name, record) in self.records.iter().filter(|(name, _)| !name.contains("__bindgen")) {
            self.fields_of(record, name.trim_start_matches('_'), table);
        }
    }

    fn fields_of(&self, record: &Record, path: &str, table: &mut Table) {
        for (name, kind) in &record.fields {
            let place = format!("{path}.{name}");
            if let Some(inner) = nested(kind).and_then(|(inner, _)| self.records.get(inner)) {
                let path = if name.starts_with("__bindgen_anon") { path } else { &place };
                self.fields_of(inner, path, table);
                continue;
            }
            match self.without_aliases(kind) {
                Type::Name(name) if name == "::core::ffi::c_longlong" => drop(table.plain_fields.insert(place)),
                Type::Pointer { is_constant: true, .. } => drop(table.constant_fields.insert(place)),
                _ => {}
            }
        }
    }

    /// The type that a name means; of an array, the type of its elements.
    fn without_aliases<'k>(&'k self, kind: &'k Type) -> &'k Type {
        let mut kind = kind;
        // C does not allow cycles; the limit ends the loop if the bindings have one.
        for _ in 0..16 {
            kind = match kind {
                Type::Array { of, .. } => of,
                Type::Name(name) => match self.aliases.get(name) {
                    Some(target) => target,
                    None => return kind,
                },
                _ => return kind,
            };
        }
        kind
    }

    /// Returns records that are used instead of those of the metadata, by their names without an underscore.
    pub(crate) fn records(&self, table: &Table) -> BTreeMap<String, model::Record> {
        // Every name counts as declared, because the metadata has the same names.
        let declared = self.aliases.keys().chain(self.tags.keys()).cloned().collect();
        let complete = self.records.keys().cloned().collect();
        let writer = Writer::new(self, table, declared, complete);
        let record = |name: &String| {
            let record = self.records.get(&format!("_{name}")).and_then(|record| writer.record(record))?;
            Some((name.clone(), record))
        };
        table.better.iter().filter_map(record).collect()
    }

    /// Adds declarations that neither the metadata nor the handwritten headers (`written`) have, and replaces declarations of routines
    /// that have more information here.
    pub(crate) fn complete(&self, generated: &mut Generated, table: &Table, written: &[&str]) {
        let mut names = BTreeSet::new();
        let mut complete = BTreeSet::new();
        for text in written {
            names.extend(declared::names(text));
            complete.extend(declared::tags(text));
        }
        for part in generated.headers.values().flatten() {
            part.add_declared(&mut names, &mut complete);
        }
        let kernel = generated.headers.entry(String::from(KERNEL)).or_default();
        let mut routines = BTreeMap::new();
        for item in kernel.iter().flat_map(|part| &part.routines) {
            if let model::Item::Routine { name, signature, .. } = item {
                routines.insert(name.clone(), signature.clone());
            }
        }
        let Supplement { part, exports, replaced } = self.supplement(table, &names, &complete, &routines);
        let is_kept =
            |item: &model::Item| !matches!(item, model::Item::Routine { name, .. } if replaced.contains(name));
        for part in kernel.iter_mut() {
            part.routines.retain(is_kept);
        }
        generated.supplement = Some(part);
        for (module, names) in exports {
            generated.exports.entry(module).or_default().extend(names);
        }
    }

    /// Returns the declarations that the kit does not have. `declared` has the names of the kit, `complete` the tags of records with
    /// fields, and `routines` the kit's routines.
    fn supplement(
        &self,
        table: &Table,
        declared: &BTreeSet<String>,
        complete: &BTreeSet<String>,
        routines: &BTreeMap<String, Signature>,
    ) -> Supplement {
        let mut writer = Writer::new(self, table, declared.clone(), complete.clone());
        // An item can need an item that comes later, so this repeats until no more items can be declared.
        let mut pending: Vec<&Item> = self.items.iter().collect();
        loop {
            let before = pending.len();
            pending.retain(|item| !writer.item(item));
            if pending.len() == before {
                break;
            }
        }
        let mut part = Part::new(Source::Bindings);
        for (name, value) in &self.constants {
            if !name.starts_with('_') && !writer.is_left_out(name) && !declared.contains(name) {
                part.constants.push(model::Item::Constant { name: name.clone(), value: value.clone() });
            }
        }
        let mut exports = BTreeMap::<String, BTreeSet<String>>::new();
        for (name, module) in &table.published {
            let Some(routine) = self.routines.get(name).filter(|_| !declared.contains(name)) else { continue };
            if let Some(declaration) = writer.routine(name, routine) {
                part.routines.push(declaration);
                exports.entry(module.clone()).or_default().insert(name.clone());
            }
        }
        let mut replaced = BTreeSet::new();
        for (name, metadata) in routines {
            let better = self.routines.get(name).and_then(|routine| writer.routine(name, routine));
            if let Some(better) = better.filter(|better| says_more(better, metadata)) {
                part.routines.push(better);
                replaced.insert(name.clone());
            }
        }
        part.types = [forwards(&writer.types), writer.types].concat();
        part.records = [forwards(&writer.records), writer.records].concat();
        Supplement { part, exports, replaced }
    }
}

/// Whether a declaration has information that the metadata has lost: whether pointers are to constant data, 64-bit integers that are
/// not `LARGE_INTEGER`, page numbers, which have 32 bits in the metadata, or that a routine never returns.
fn says_more(declaration: &model::Item, metadata: &Signature) -> bool {
    let model::Item::Routine { signature, never_returns, .. } = declaration else { return false };
    let count = |signature: &Signature, is_meant: fn(&Type) -> bool| {
        let mut count = 0;
        signature.visit(&mut |kind| count += usize::from(is_meant(kind)));
        count
    };
    let is_constant = |kind: &Type| match kind {
        Type::Pointer { is_constant, .. } => *is_constant,
        // In the WDK, this one is not to constant data.
        Type::Name(name) if name == "PCANSI_STRING" => false,
        Type::Name(name) => {
            let rest = name.strip_prefix("LPC").or_else(|| name.strip_prefix("PC"));
            rest.is_some_and(|rest| {
                ["SZ", "WCH", "CH", "STR", "WSTR", "GUID", "STRING"].contains(&rest) || rest.contains('_')
            })
        }
        _ => false,
    };
    let is_union = |kind: &Type| matches!(kind, Type::Name(name) if name.ends_with("LARGE_INTEGER"));
    let is_page_number = |kind: &Type| matches!(kind, Type::Name(name) if name == "PFN_NUMBER");
    *never_returns
        || count(signature, is_page_number) > 0
        || count(signature, is_constant) != count(metadata, is_constant)
        || count(signature, is_union) < count(metadata, is_union)
}

/// Records whose fields are right only for x64, the processor of the published bindings.
const OF_ONE_PROCESSOR: [&str; 5] = ["_CONTEXT", "_KTRAP_FRAME", "_KEXCEPTION_FRAME", "_KPCR", "_KSWITCH_FRAME"];

struct Writer<'p> {
    published: &'p Published,
    table: &'p Table,
    declared: BTreeSet<String>,
    complete: BTreeSet<String>,
    /// Declarations that need no complete record.
    types: Vec<model::Item>,
    records: Vec<model::Item>,
    /// Names that are declared in `records`.
    late: BTreeSet<String>,
}

impl<'p> Writer<'p> {
    fn new(published: &'p Published, table: &'p Table, declared: BTreeSet<String>, complete: BTreeSet<String>) -> Self {
        let types = Vec::new();
        let records = Vec::new();
        let late = BTreeSet::new();
        Self { published, table, declared, complete, types, records, late }
    }

    fn is_left_out(&self, name: &str) -> bool {
        let plain = name.trim_start_matches('_');
        self.table.is_left_out(name) || self.table.is_left_out(plain) || self.table.is_unpublished(plain)
    }

    /// Declares an item. Returns whether the item is done: it is declared, or it will never be.
    fn item(&mut self, item: &Item) -> bool {
        match item {
            Item::Alias { name, target } => self.alias(name, target),
            Item::Enumeration { name, is_unsigned, members } => {
                self.enumeration(name, *is_unsigned, members);
                true
            }
            Item::Record(record) => self.whole_record(record),
        }
    }

    fn alias(&mut self, name: &str, target: &Type) -> bool {
        if self.declared.contains(name) || self.is_left_out(name) || name.contains("__bindgen") {
            return true;
        }
        let Some(kind) = self.resolve(target, true) else { return false };
        // In C, the record of an array must be complete before the array.
        let mut base = target;
        while let Type::Pointer { to, .. } = base {
            base = to;
        }
        let is_late =
            matches!(target, Type::Array { .. }) || matches!(base, Type::Name(base) if self.late.contains(base));
        let alias = model::Item::Alias { name: name.to_owned(), kind };
        if is_late {
            self.late.insert(name.to_owned());
            self.records.push(alias);
        } else {
            self.types.push(alias);
        }
        self.declared.insert(name.to_owned());
        true
    }

    fn enumeration(&mut self, name: &str, is_unsigned: bool, members: &[(String, String)]) {
        if self.declared.contains(name) || self.is_left_out(name) || name.contains("bindgen_ty") {
            return;
        }
        let mut list = Vec::new();
        for (member, value) in members {
            if self.declared.insert(member.clone()) {
                list.push(Member { name: member.clone(), value: Some(value.clone()) });
            }
        }
        if !list.is_empty() {
            self.types.push(model::Item::Enumeration { tag: name.to_owned(), name: None, is_unsigned, members: list });
            self.declared.insert(name.to_owned());
        }
    }

    fn whole_record(&mut self, record: &Record) -> bool {
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
        let Some(declaration) = self.record(record) else { return false };
        if !name.starts_with('_') {
            let kind = Type::Tag(record.keyword, name.clone());
            self.types.push(model::Item::Alias { name: name.clone(), kind });
        }
        let is_special = OF_ONE_PROCESSOR.contains(&name.as_str());
        let [x64, _] = PROCESSORS;
        let processor = is_special.then_some(x64.macro_name);
        self.records.push(model::Item::Record(model::Record { processor, ..declaration }));
        self.complete.insert(name.clone());
        self.declared.insert(name.clone());
        true
    }

    /// Returns a record with its fields, packing and alignment.
    fn record(&self, record: &Record) -> Option<model::Record> {
        Some(model::Record {
            keyword: record.keyword,
            tag: record.name.clone(),
            processor: None,
            packing: record.packing,
            alignment: record.alignment.map(|size| size.to_string()),
            fields: self.fields(record)?,
        })
    }

    fn routine(&self, name: &str, routine: &Signature) -> Option<model::Item> {
        let never_returns = routine.result == Type::name(NEVER);
        let result =
            if never_returns { self.resolve(&Type::name(UNIT), true)? } else { self.resolve(&routine.result, true)? };
        let signature = self.signature(routine, result)?;
        Some(model::Item::Routine { name: name.to_owned(), signature, never_returns })
    }
}
