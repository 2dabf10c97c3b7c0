//! Writes structures, unions and bit fields in C.

use std::fmt::Write as _;

use windows_metadata::reader::{Field, HasAttributes, TypeDef};
use windows_metadata::{Type, TypeAttributes, Value};

use super::types::{Place, Speller};

/// Returns the body of a record with its braces.
pub(crate) fn body(speller: &Speller<'_>, path: &str, definition: TypeDef<'_>) -> String {
    let mut text = String::from("{ ");
    for field in definition.fields() {
        text.push_str(&member(speller, path, definition, field));
    }
    text.push('}');
    text
}

/// `struct` or `union`.
pub(crate) fn keyword(definition: TypeDef<'_>) -> &'static str {
    if definition.flags().contains(TypeAttributes::ExplicitLayout) { "union" } else { "struct" }
}

/// Returns the packing of a record, if it is not the compiler's default.
pub(crate) fn packing(speller: &Speller<'_>, definition: TypeDef<'_>) -> Option<u16> {
    let known = speller.table.packed.get(definition.name()).copied();
    known.or_else(|| definition.class_layout().map(|layout| layout.packing_size()).filter(|size| *size != 0))
}

fn member(speller: &Speller<'_>, path: &str, owner: TypeDef<'_>, field: Field<'_>) -> String {
    let name = field.name();
    let kind = field.ty();
    if name.starts_with("_bitfield") {
        return bits(speller, &kind, field);
    }
    let (element, count) = match &kind {
        Type::ArrayFixed(element, count) => (element.as_ref(), format!("[{count}]")),
        other => (other, String::new()),
    };
    let nested = match element {
        Type::ValueName(inner) if inner.namespace.is_empty() => {
            speller.index.nested(owner).find(|nested| nested.name() == inner.name)
        }
        _ => None,
    };
    let shown = if name.starts_with("Anonymous") { "" } else { name };
    if let Some(inner) = nested {
        let path = if shown.is_empty() { path.to_owned() } else { format!("{path}.{shown}") };
        return format!("{} {} {shown}{count}; ", keyword(inner), body(speller, &path, inner));
    }
    let place = format!("{path}.{name}");
    let is_constant = field.has_attribute("ConstAttribute");
    let alignment = if speller.table.aligned.contains(&place) { "DECLSPEC_ALIGN(8) " } else { "" };
    format!("{alignment}{} {name}{count}; ", speller.spell(element, Place::Field(&place), is_constant))
}

/// Returns the bit fields of one integer. Bits without a name become unnamed bit fields.
fn bits(speller: &Speller<'_>, kind: &Type, field: Field<'_>) -> String {
    // A bit field cannot have the type LARGE_INTEGER, which is a union.
    let kind = match kind {
        Type::I64 => String::from("LONGLONG"),
        other => speller.spell(other, Place::Field(""), false),
    };
    let mut text = String::new();
    let mut next = 0;
    for attribute in field.attributes().filter(|attribute| attribute.name() == "NativeBitfieldAttribute") {
        let values: Vec<Value> = attribute.value().into_iter().map(|(_, value)| value).collect();
        let [Value::Utf8(name), Value::I64(offset), Value::I64(width)] = values.as_slice() else { continue };
        if *offset > next {
            let _ = write!(text, "{kind} : {}; ", offset - next);
        }
        let _ = write!(text, "{kind} {name} : {width}; ");
        next = offset + width;
    }
    text
}

/// Returns the types that must be declared before this one: for a record, the records that it contains by value at any depth; for a
/// callback, the callbacks that it takes.
pub(crate) fn contained(speller: &Speller<'_>, definition: TypeDef<'_>) -> Vec<String> {
    let mut found = Vec::new();
    let mut pending = vec![definition];
    while let Some(current) = pending.pop() {
        pending.extend(speller.index.nested(current));
        for field in current.fields() {
            let kind = field.ty();
            let element = if let Type::ArrayFixed(element, _) = &kind { element.as_ref() } else { &kind };
            if let Type::ValueName(name) = element {
                found.push(name.name.clone());
            }
        }
    }
    for method in definition.methods().filter(|method| method.name() == "Invoke") {
        found.extend(method.signature(&[]).types.into_iter().filter_map(|kind| match kind {
            Type::ClassName(name) | Type::ValueName(name) => Some(name.name),
            _ => None,
        }));
        found.extend(definition.name().strip_prefix('P').map(str::to_owned));
    }
    found
}
