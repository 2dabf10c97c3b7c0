//! Writes one header: names and callbacks first, then records, then routines.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;

use windows_metadata::reader::{HasAttributes, MethodDef, ParamDirection, TypeCategory, TypeDef};
use windows_metadata::{MethodCallAttributes, Signature, Type};

use super::records;
use super::select::{Header, Routine};
use super::types::{Place, Speller, is_alias, primitive};

/// The two halves of a header. Handwritten records can be included between them.
pub(crate) struct Text {
    /// Declarations that need no complete record: constants, enumerations, names of records and of pointers, callbacks.
    pub(crate) early: String,
    /// Records and routines.
    pub(crate) late: String,
}

/// Writes a header. Its parts are in `#ifndef` blocks, so that a run of bindgen can leave out the parts that it does not use. `names`
/// has all names that are declared so far; the names that this header declares are added.
pub(crate) fn write(speller: &Speller<'_>, header: &Header<'_>, names: &mut BTreeSet<String>) -> Text {
    let mut writer = Writer { speller, names, early: String::new(), late: String::new() };
    writer.early.push_str("#ifndef WDK_KIT_NO_CONSTANTS\n");
    for (name, value) in &header.constants {
        let _ = writeln!(writer.early, "#define {name} {value}");
    }
    for name in &header.identifiers {
        let _ = writeln!(writer.early, "extern const GUID {name};");
    }
    writer.early.push_str("#endif\n#ifndef WDK_KIT_NO_TYPES\n");
    for definition in &header.types {
        writer.name(*definition);
    }
    let all: HashSet<&str> = header.types.iter().map(TypeDef::name).collect();
    for definition in header.types.iter().filter(|of| of.category() == TypeCategory::Delegate) {
        writer.callback(&all, *definition);
    }
    writer.early.push_str("#endif\n");
    writer.late.push_str("#ifndef WDK_KIT_NO_RECORDS\n");
    for definition in header.types.iter().filter(|of| is_record(**of)) {
        writer.record(*definition);
    }
    writer.late.push_str("#endif\n#ifndef WDK_KIT_NO_ROUTINES\n");
    for routine in &header.routines {
        writer.routine(routine);
    }
    writer.late.push_str("#endif\n");
    Text { early: writer.early, late: writer.late }
}

fn is_record(definition: TypeDef<'_>) -> bool {
    definition.category() == TypeCategory::Struct && !is_alias(definition)
}

struct Writer<'w, 'a> {
    speller: &'w Speller<'a>,
    names: &'w mut BTreeSet<String>,
    early: String,
    late: String,
}

impl Writer<'_, '_> {
    /// Declares the name of a type and of the pointers to it.
    fn name(&mut self, definition: TypeDef<'_>) {
        let name = definition.name().trim_start_matches('_');
        match definition.category() {
            TypeCategory::Enum => {
                let members = self.members(definition);
                let tag = self.speller.table.tags.get(name).cloned().unwrap_or_else(|| format!("_{name}"));
                let _ = writeln!(self.early, "typedef enum {tag} {{ {members}}} {name};");
                self.pointers(name);
            }
            TypeCategory::Struct if is_alias(definition) => self.alias(name, definition),
            TypeCategory::Struct => {
                let _ = writeln!(self.early, "typedef {} _{name} {name};", records::keyword(definition));
                self.pointers(name);
            }
            _ => {}
        }
    }

    /// Returns the members of an enumeration. In C, all enumerations share one namespace, so a name that is already declared is
    /// left out.
    fn members(&mut self, definition: TypeDef<'_>) -> String {
        let mut text = String::new();
        for field in definition.fields() {
            if let Some(constant) = field.constant()
                && self.names.insert(field.name().to_owned())
            {
                let value = match constant.value() {
                    windows_metadata::Value::I32(value) => i64::from(value),
                    windows_metadata::Value::U32(value) => i64::from(value),
                    _ => continue,
                };
                let _ = write!(text, "{} = {value}, ", field.name());
            }
        }
        if text.is_empty() {
            // C does not allow an enumeration without members.
            text = format!("_{}_NONE ", definition.name());
        }
        text
    }

    fn alias(&mut self, name: &str, definition: TypeDef<'_>) {
        let inner = definition.fields().next().map(|field| field.ty());
        let opaque = self.speller.table.opaque.get(name);
        let _ = match (inner, opaque, name.strip_prefix('P')) {
            (_, Some(tag), _) => writeln!(self.early, "typedef struct {tag} *{name};"),
            (Some(Type::ISize), None, Some(target)) => writeln!(self.early, "typedef struct _{target} *{name};"),
            (Some(Type::ISize), None, None) => {
                let _ = writeln!(self.early, "typedef struct _{name} {name};");
                self.pointers(name);
                Ok(())
            }
            (Some(Type::PtrMut(..) | Type::PtrConst(..)), ..) => writeln!(self.early, "typedef PVOID {name};"),
            (Some(kind), ..) => {
                let _ = writeln!(self.early, "typedef {} {name};", primitive(&kind));
                self.pointers(name);
                Ok(())
            }
            (None, ..) => Ok(()),
        };
    }

    fn pointers(&mut self, name: &str) {
        for (prefix, constant) in [("P", ""), ("PC", "const ")] {
            let pointer = format!("{prefix}{name}");
            let table = self.speller.table;
            let is_wanted =
                constant.is_empty() || table.constant.contains(name) || table.constant_in_callbacks.contains(name);
            if is_wanted && self.names.insert(pointer.clone()) {
                let _ = writeln!(self.early, "typedef {constant}{name} *{pointer};");
            }
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
        let signature = method.signature(&[]);
        let result = self.speller.spell(&signature.return_type, Place::Callback(function), false);
        let parameters = self.parameters(method, &signature, Place::Callback(function));
        if function == trimmed || self.names.insert(function.to_owned()) {
            let _ = writeln!(self.early, "typedef {result} NTAPI {function}({parameters});");
            for pointer in [format!("P{function}"), name.to_owned()] {
                if pointer != function && (all.contains(pointer.as_str()) || self.names.insert(pointer.clone())) {
                    let _ = writeln!(self.early, "typedef {function} *{pointer};");
                }
            }
        } else {
            let _ = writeln!(self.early, "typedef {result} (NTAPI *{name})({parameters});");
        }
    }

    fn parameters(&self, method: MethodDef<'_>, signature: &Signature, place: Place<'_>) -> String {
        let is_open = signature.flags == MethodCallAttributes::VARARG;
        let rows: Vec<_> = method.params().filter(|row| row.sequence() > 0).collect();
        let mut list = Vec::new();
        for (at, kind) in signature.types.iter().enumerate() {
            let row = rows.iter().find(|row| usize::from(row.sequence()) == at + 1);
            let is_input = row.is_some_and(|row| row.direction() == ParamDirection::Input);
            let is_constant = row.is_some_and(|row| row.has_attribute("ConstAttribute"))
                || (is_input && self.points_to_constant(kind, place));
            let name = row.map_or("", |row| row.name());
            list.push(format!("{} {name}", self.speller.spell(kind, place, is_constant)));
        }
        if is_open {
            list.push(String::from("..."));
        }
        if list.is_empty() { String::from("VOID") } else { list.join(", ") }
    }

    /// Whether an input parameter of this type is a pointer to constant data in the WDK.
    fn points_to_constant(&self, kind: &Type, place: Place<'_>) -> bool {
        let Type::PtrMut(inner, 1) = kind else { return false };
        let name = match inner.as_ref() {
            Type::ValueName(name) => name.name.as_str(),
            Type::Void => "VOID",
            _ => return false,
        };
        match place {
            Place::Callback(_) => self.speller.table.constant_in_callbacks.contains(name),
            _ => self.speller.table.constant.contains(name),
        }
    }

    fn record(&mut self, definition: TypeDef<'_>) {
        let name = definition.name().trim_start_matches('_');
        if definition.fields().next().is_none() {
            return;
        }
        if let Some(text) = self.speller.table.records.get(name) {
            let _ = writeln!(self.late, "{text};");
            return;
        }
        let body = records::body(self.speller, name, definition);
        let keyword = match self.speller.table.alignments.get(name) {
            Some(alignment) => format!("{} DECLSPEC_ALIGN({alignment})", records::keyword(definition)),
            None => records::keyword(definition).to_owned(),
        };
        let _ = match records::packing(self.speller, definition) {
            Some(size) => {
                writeln!(self.late, "#pragma pack(push, {size})\n{keyword} _{name} {body};\n#pragma pack(pop)")
            }
            None => writeln!(self.late, "{keyword} _{name} {body};"),
        };
    }

    fn routine(&mut self, routine: &Routine<'_>) {
        let method = routine.method;
        let name = method.name();
        let signature = method.signature(&[]);
        let result = self.speller.spell(&signature.return_type, Place::Routine(name), false);
        let parameters = self.parameters(method, &signature, Place::Routine(name));
        let convention = if parameters.ends_with("...") { "__cdecl" } else { "NTAPI" };
        let _ = writeln!(self.late, "{result} {convention} {name}({parameters});");
    }
}
