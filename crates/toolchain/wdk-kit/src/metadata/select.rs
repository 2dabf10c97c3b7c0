//! Selects the routines, types and constants of the metadata for each header.

use std::collections::{BTreeMap, BTreeSet};

use windows_metadata::reader::{Field, HasAttributes, Index, Item, MethodDef, TypeCategory, TypeDef};
use windows_metadata::{Type, Value};

use super::records;
use super::table::Table;
use super::types::{Speller, is_enumeration};

/// The declarations of one generated header.
#[derive(Default)]
pub(crate) struct Header<'a> {
    pub(crate) routines: Vec<Routine<'a>>,
    pub(crate) types: Vec<TypeDef<'a>>,
    /// Name and value as C writes them.
    pub(crate) constants: Vec<(String, String)>,
    /// Names of GUIDs, which are variables in C.
    pub(crate) identifiers: Vec<(String, String)>,
}

/// A routine, and the module that exports it.
pub(crate) struct Routine<'a> {
    pub(crate) method: MethodDef<'a>,
    pub(crate) module: String,
}

/// Assigns the metadata to headers, in the order of the table. If several headers need a declaration, the first one gets it.
pub(crate) fn select<'a>(
    speller: &Speller<'a>,
    declared: &BTreeSet<String>,
    constants: &BTreeMap<String, String>,
) -> Vec<(String, Header<'a>)> {
    let table = speller.table;
    let mut order: Vec<&str> = Vec::new();
    let some = table.constants.iter().map(|(header, ..)| header);
    let namespaces = table.namespaces.iter().map(|(_, header)| header);
    for header in namespaces.chain(some).chain(table.names.values()) {
        if !order.contains(&header.as_str()) {
            order.push(header);
        }
    }
    let mut single = BTreeMap::<&str, Vec<_>>::new();
    for (_, name, item) in speller.index.iter_items() {
        if let Some(header) = table.names.get(name) {
            single.entry(header).or_default().push((name, item));
        }
    }
    let mut selection = Selection { speller, taken: declared.clone(), constants };
    let mut headers = Vec::new();
    for name in order {
        headers.push((name.to_owned(), selection.header(name, single.remove(name).unwrap_or_default())));
    }
    headers
}

struct Selection<'a, 's> {
    speller: &'s Speller<'a>,
    /// Values that replace those of the metadata.
    constants: &'s BTreeMap<String, String>,
    /// All names that are declared so far.
    taken: BTreeSet<String>,
}

impl<'a> Selection<'a, '_> {
    /// Selects the items of a header's namespaces and its single items, in the order of their names.
    fn header(&mut self, header: &str, single: Vec<(&'a str, Item<'a>)>) -> Header<'a> {
        let index = self.speller.index;
        let table = self.speller.table;
        let namespaces = table.namespaces.iter().filter(|(_, of)| of == header);
        let mut items: Vec<_> = namespaces.flat_map(|(name, _)| index.namespace_items(name)).chain(single).collect();
        items.sort_by_key(|(name, _)| *name);
        let mut chosen = Header::default();
        let mut pending = Vec::new();
        for (name, item) in items {
            if table.is_left_out(name) {
                continue;
            }
            match item {
                Item::Fn(method) => self.routine(&mut chosen, &mut pending, method),
                Item::Type(definition) => pending.push(definition),
                Item::Const(field) => self.constant(&mut chosen, field),
            }
        }
        self.types(&mut chosen, pending);
        for (prefix, field) in group_members(index, table, header) {
            // A pattern that all other headers leave out can be the only content of this header, as `STATUS_*` is for ntstatus.h.
            if table.without.contains(&format!("{prefix}*")) || !table.is_left_out(field.name()) {
                self.constant(&mut chosen, field);
            }
        }
        chosen
    }

    fn routine(&mut self, chosen: &mut Header<'a>, pending: &mut Vec<TypeDef<'a>>, method: MethodDef<'a>) {
        let Some(map) = method.impl_map() else { return };
        let module = map.import_scope().name().to_ascii_lowercase();
        let Some(module) = self.speller.table.modules.get(&module) else { return };
        if self.taken.insert(method.name().to_owned()) {
            let signature = method.signature(&[]);
            for kind in signature.types.iter().chain([&signature.return_type]) {
                pending.extend(self.definition(kind));
            }
            chosen.routines.push(Routine { method, module: module.clone() });
        }
    }

    /// Adds all pending types, and all types that they refer to.
    fn types(&mut self, chosen: &mut Header<'a>, mut pending: Vec<TypeDef<'a>>) {
        while let Some(definition) = pending.pop() {
            let name = definition.name().trim_start_matches('_').to_owned();
            // Names that the table leaves out are not skipped here, because another declaration needs them.
            if self.taken.contains(&name) {
                continue;
            }
            if definition.category() == TypeCategory::Enum && !is_enumeration(definition) {
                for field in definition.fields() {
                    self.constant(chosen, field);
                }
                continue;
            }
            let by_hand = self.speller.table.records.contains_key(&name);
            self.taken.insert(name);
            // A record that is written by hand says itself what it needs.
            let mut inside = Vec::new();
            if !by_hand {
                inside.push(definition);
                inside.extend(self.speller.index.nested_recursive(definition));
            }
            for part in inside {
                for field in part.fields() {
                    pending.extend(self.definition(&field.ty()));
                }
                for method in part.methods().filter(|method| method.name() == "Invoke") {
                    let signature = method.signature(&[]);
                    for kind in signature.types.iter().chain([&signature.return_type]) {
                        pending.extend(self.definition(kind));
                    }
                }
            }
            chosen.types.push(definition);
        }
        chosen.types.sort_by_cached_key(TypeDef::name);
        order_by_content(self.speller, &mut chosen.types);
    }

    fn constant(&mut self, chosen: &mut Header<'a>, field: Field<'a>) {
        let name = field.name();
        if self.taken.contains(name) {
            return;
        }
        if let Some(value) = field.constant() {
            let status = || is_status(name, &field.ty()).then(|| status(&value.value())).flatten();
            let text = self.constants.get(name).cloned().or_else(status).or_else(|| number(&value.value()));
            if let Some(text) = text {
                self.taken.insert(name.to_owned());
                chosen.constants.push((name.to_owned(), text));
            }
        } else if let Some(attribute) = field.find_attribute("GuidAttribute") {
            self.taken.insert(name.to_owned());
            let parts: Vec<_> = attribute.value().iter().filter_map(|(_, part)| number(part)).collect();
            chosen.identifiers.push((name.to_owned(), parts.join(", ")));
        }
    }

    fn definition(&self, kind: &Type) -> Option<TypeDef<'a>> {
        match kind {
            Type::ValueName(name) | Type::ClassName(name) => self.speller.find(&name.namespace, &name.name),
            Type::PtrMut(inner, _) | Type::PtrConst(inner, _) | Type::ArrayFixed(inner, _) | Type::Array(inner) => {
                self.definition(inner)
            }
            _ => None,
        }
    }
}

/// Returns the constants of namespaces from which only some constants are taken, with the prefix that selects them. This includes
/// constants that are members of enumerations in the metadata.
fn group_members<'a, 't>(index: &'a Index, table: &'t Table, header: &str) -> Vec<(&'t str, Field<'a>)> {
    let mut found = Vec::new();
    for (_, namespace, prefixes) in table.constants.iter().filter(|(of, ..)| of == header) {
        let mut add = |field: Field<'a>| {
            let prefix = prefixes.iter().find(|prefix| field.name().starts_with(prefix.as_str()));
            found.extend(prefix.map(|prefix| (prefix.as_str(), field)));
        };
        for (_, item) in index.namespace_items(namespace) {
            match item {
                Item::Const(field) => add(field),
                Item::Type(definition)
                    if definition.category() == TypeCategory::Enum && !is_enumeration(definition) =>
                {
                    definition.fields().for_each(&mut add);
                }
                _ => {}
            }
        }
    }
    found.sort_by_cached_key(|(_, field)| field.name());
    found
}

/// Sorts records so that each comes after the records that it contains.
fn order_by_content(speller: &Speller<'_>, types: &mut Vec<TypeDef<'_>>) {
    let position: BTreeMap<&str, usize> = types.iter().enumerate().map(|(at, of)| (of.name(), at)).collect();
    let mut ordered = Vec::with_capacity(types.len());
    let mut state = vec![false; types.len()];
    for start in 0..types.len() {
        visit(speller, types, &position, &mut state, &mut ordered, start);
    }
    *types = ordered;
}

fn visit<'a>(
    speller: &Speller<'_>,
    types: &[TypeDef<'a>],
    position: &BTreeMap<&str, usize>,
    seen: &mut [bool],
    ordered: &mut Vec<TypeDef<'a>>,
    at: usize,
) {
    let (Some(of), Some(seen_before)) = (types.get(at), seen.get_mut(at)) else {
        return;
    };
    if std::mem::replace(seen_before, true) {
        return;
    }
    for name in records::contained(speller, *of) {
        if let Some(inner) = position.get(name.as_str()) {
            visit(speller, types, position, seen, ordered, *inner);
        }
    }
    ordered.push(*of);
}

/// Whether a constant is a status, by its type or by its name: some second names of statuses are integers in the metadata.
fn is_status(name: &str, kind: &Type) -> bool {
    name.starts_with("STATUS_") || matches!(kind, Type::ValueName(name) if name.name == "NTSTATUS")
}

/// Returns a status with its type, as C code needs it for comparisons. Bindgen generates no constants for such macros; wdk-sys has
/// its own definitions.
fn status(value: &Value) -> Option<String> {
    match value {
        Value::I32(value) => Some(format!("((NTSTATUS)0x{value:08X})")),
        _ => None,
    }
}

/// Returns a number or a text as the value of a macro.
fn number(value: &Value) -> Option<String> {
    Some(match value {
        Value::Bool(value) => u8::from(*value).to_string(),
        Value::U8(value) => value.to_string(),
        Value::U16(value) => value.to_string(),
        Value::U32(value) => value.to_string(),
        Value::U64(value) | Value::USize(value) => value.to_string(),
        Value::I8(value) => signed(i64::from(*value)),
        Value::I16(value) => signed(i64::from(*value)),
        Value::I32(value) => signed(i64::from(*value)),
        Value::I64(value) | Value::ISize(value) => signed(*value),
        Value::Utf8(text) | Value::Utf16(text) => format!("L\"{}\"", text.escape_default()),
        _ => return None,
    })
}

fn signed(value: i64) -> String {
    if value < 0 { format!("({value})") } else { value.to_string() }
}
