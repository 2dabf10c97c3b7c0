//! Makes the declarations of one header: names and callbacks first, then records, then routines.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use windows_metadata::reader::{HasAttributes, MethodDef, ParamDirection, TypeCategory, TypeDef};
use windows_metadata::{MethodCallAttributes, Signature as Metadata, Type as MetadataType};

use super::records;
use super::select::{Header, Routine};
use super::types::{Place, Speller, is_alias, primitive};
use crate::model::{Convention, Item, Keyword, Member, Parameter, Part, Record, Signature, Source, Type};

/// Makes the declarations of a header. `names` has all names that are declared so far; the names that this header declares are
/// added. `better` has records that replace those of the metadata.
pub(crate) fn declare(
    speller: &Speller<'_>,
    header: &Header<'_>,
    source: Source,
    names: &mut BTreeSet<String>,
    better: &BTreeMap<String, Record>,
) -> Part {
    let mut writer = Writer { speller, names, part: Part::new(source) };
    let constants = header.constants.iter();
    let constants = constants.map(|(name, value)| Item::Constant { name: name.clone(), value: value.clone() });
    let identifiers = header.identifiers.iter();
    let identifiers = identifiers.map(|(name, value)| Item::Guid { name: name.clone(), value: value.clone() });
    writer.part.constants = constants.chain(identifiers).collect();
    for definition in &header.types {
        writer.name(*definition);
    }
    let all: HashSet<&str> = header.types.iter().map(TypeDef::name).collect();
    for definition in header.types.iter().filter(|of| of.category() == TypeCategory::Delegate) {
        writer.callback(&all, *definition);
    }
    for definition in header.types.iter().filter(|of| is_record(**of)) {
        writer.record(*definition, better);
    }
    for routine in &header.routines {
        writer.routine(routine);
    }
    writer.part
}

fn is_record(definition: TypeDef<'_>) -> bool {
    definition.category() == TypeCategory::Struct && !is_alias(definition)
}

struct Writer<'w, 'a> {
    speller: &'w Speller<'a>,
    names: &'w mut BTreeSet<String>,
    part: Part,
}

impl Writer<'_, '_> {
    /// Declares another name of a type.
    fn typedef(&mut self, name: &str, kind: Type) {
        self.part.types.push(Item::Alias { name: name.to_owned(), kind });
    }

    /// Declares the name of a type and of the pointers to it.
    fn name(&mut self, definition: TypeDef<'_>) {
        let name = definition.name().trim_start_matches('_');
        match definition.category() {
            TypeCategory::Enum => {
                let members = self.members(definition);
                let tag = self.speller.table.tags.get(name).cloned().unwrap_or_else(|| format!("_{name}"));
                let name = name.to_owned();
                self.part.types.push(Item::Enumeration { tag, name: Some(name.clone()), is_unsigned: false, members });
                self.pointers(&name);
            }
            TypeCategory::Struct if is_alias(definition) => self.alias(name, definition),
            TypeCategory::Struct => {
                self.typedef(name, Type::Tag(records::keyword(definition), format!("_{name}")));
                self.pointers(name);
            }
            _ => {}
        }
    }

    /// Returns the members of an enumeration. In C, all enumerations share one namespace, so a name that is already declared is
    /// left out.
    fn members(&mut self, definition: TypeDef<'_>) -> Vec<Member> {
        let mut members = Vec::new();
        for field in definition.fields() {
            if let Some(constant) = field.constant()
                && self.names.insert(field.name().to_owned())
            {
                let value = match constant.value() {
                    windows_metadata::Value::I32(value) => value.to_string(),
                    windows_metadata::Value::U32(value) => value.to_string(),
                    _ => continue,
                };
                members.push(Member { name: field.name().to_owned(), value: Some(value) });
            }
        }
        if members.is_empty() {
            // C does not allow an enumeration without members.
            members.push(Member { name: format!("_{}_NONE", definition.name()), value: None });
        }
        members
    }

    fn alias(&mut self, name: &str, definition: TypeDef<'_>) {
        let structure = |tag: String| Type::Tag(Keyword::Struct, tag);
        let inner = definition.fields().next().map(|field| field.ty());
        let opaque = self.speller.table.opaque.get(name);
        match (inner, opaque, name.strip_prefix('P')) {
            (_, Some(tag), _) => self.typedef(name, structure(tag.clone()).pointer_to()),
            (Some(MetadataType::ISize), None, Some(target)) => {
                self.typedef(name, structure(format!("_{target}")).pointer_to());
            }
            (Some(MetadataType::ISize), None, None) => {
                self.typedef(name, structure(format!("_{name}")));
                self.pointers(name);
            }
            (Some(MetadataType::PtrMut(..) | MetadataType::PtrConst(..)), ..) => {
                self.typedef(name, Type::name("PVOID"));
            }
            (Some(kind), ..) => {
                self.typedef(name, Type::name(primitive(&kind)));
                self.pointers(name);
            }
            (None, ..) => {}
        }
    }

    fn pointers(&mut self, name: &str) {
        let table = self.speller.table;
        let target = || Type::name(name);
        if self.names.insert(format!("P{name}")) {
            self.typedef(&format!("P{name}"), target().pointer_to());
        }
        let is_wanted = table.constant.contains(name) || table.constant_in_callbacks.contains(name);
        if is_wanted && self.names.insert(format!("PC{name}")) {
            self.typedef(&format!("PC{name}"), target().pointer_to_constant());
        }
    }

    /// Declares both the type of the function and the pointer to it, whichever of the two the metadata has.
    fn callback(&mut self, all: &HashSet<&str>, definition: TypeDef<'_>) {
        let name = definition.name();
        let trimmed = name.trim_start_matches('_');
        let function = if self.speller.is_pointer(name) { name[1..].trim_start_matches('_') } else { trimmed };
        if function != trimmed && all.contains(function) {
            // In the metadata, the pointer has lost its parameters, but the type of the function has them.
            return;
        }
        let Some(method) = definition.methods().find(|method| method.name() == "Invoke") else { return };
        let signature = self.signature(method, Place::Callback(function));
        let kind = Type::Function(Box::new(Signature { convention: Convention::Nt, ..signature }));
        if function == trimmed || self.names.insert(function.to_owned()) {
            self.typedef(function, kind);
            for pointer in [format!("P{function}"), name.to_owned()] {
                if pointer != function && (all.contains(pointer.as_str()) || self.names.insert(pointer.clone())) {
                    self.typedef(&pointer, Type::name(function).pointer_to());
                }
            }
        } else {
            self.typedef(name, kind.pointer_to());
        }
    }

    /// Returns the signature of a function. One with any number of parameters has the convention of C.
    fn signature(&self, method: MethodDef<'_>, place: Place<'_>) -> Signature {
        let signature: Metadata = method.signature(&[]);
        let rows: Vec<_> = method.params().filter(|row| row.sequence() > 0).collect();
        let mut parameters = Vec::new();
        for (at, kind) in signature.types.iter().enumerate() {
            let row = rows.iter().find(|row| usize::from(row.sequence()) == at + 1);
            let is_input = row.is_some_and(|row| row.direction() == ParamDirection::Input);
            let is_constant = row.is_some_and(|row| row.has_attribute("ConstAttribute"))
                || (is_input && self.points_to_constant(kind, place));
            let name = row.map_or("", |row| row.name()).to_owned();
            parameters.push(Parameter { name, kind: self.speller.spell(kind, place, is_constant) });
        }
        let is_open = signature.flags == MethodCallAttributes::VARARG;
        Signature {
            result: self.speller.spell(&signature.return_type, place, false),
            convention: if is_open { Convention::C } else { Convention::Nt },
            parameters,
            is_open,
        }
    }

    /// Whether an input parameter of this type is a pointer to constant data in the WDK.
    fn points_to_constant(&self, kind: &MetadataType, place: Place<'_>) -> bool {
        let MetadataType::PtrMut(inner, 1) = kind else { return false };
        let name = match inner.as_ref() {
            MetadataType::ValueName(name) => name.name.as_str(),
            MetadataType::Void => "VOID",
            _ => return false,
        };
        match place {
            Place::Callback(_) => self.speller.table.constant_in_callbacks.contains(name),
            _ => self.speller.table.constant.contains(name),
        }
    }

    fn record(&mut self, definition: TypeDef<'_>, better: &BTreeMap<String, Record>) {
        let name = definition.name().trim_start_matches('_');
        if definition.fields().next().is_none() {
            return;
        }
        let item = match (better.get(name), self.speller.table.records.get(name)) {
            (Some(record), _) => Item::Record(record.clone()),
            (None, Some(text)) => Item::Written { tag: format!("_{name}"), text: text.clone() },
            (None, None) => Item::Record(records::record(self.speller, name, definition)),
        };
        self.part.records.push(item);
    }

    fn routine(&mut self, routine: &Routine<'_>) {
        let name = routine.method.name();
        let signature = self.signature(routine.method, Place::Routine(name));
        self.part.routines.push(Item::Routine { name: name.to_owned(), signature, never_returns: false });
    }
}
