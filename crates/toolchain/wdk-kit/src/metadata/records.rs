//! Turns structures, unions and bit fields of the metadata into those of C.

use windows_metadata::reader::{Field as Member, HasAttributes, TypeDef};
use windows_metadata::{Type as Metadata, TypeAttributes, Value};

use super::types::{Place, Speller};
use crate::model::{Field, Keyword, Record, Type};

/// Returns a record with its fields, packing and alignment.
pub(crate) fn record(speller: &Speller<'_>, name: &str, definition: TypeDef<'_>) -> Record {
    Record {
        keyword: keyword(definition),
        tag: format!("_{name}"),
        processor: None,
        packing: packing(speller, definition).map(u32::from),
        alignment: speller.table.alignments.get(name).cloned(),
        fields: fields(speller, name, definition),
    }
}

/// `struct` or `union`.
pub(crate) fn keyword(definition: TypeDef<'_>) -> Keyword {
    if definition.flags().contains(TypeAttributes::ExplicitLayout) { Keyword::Union } else { Keyword::Struct }
}

/// Returns the packing of a record, if it is not the compiler's default.
fn packing(speller: &Speller<'_>, definition: TypeDef<'_>) -> Option<u16> {
    let known = speller.table.packed.get(definition.name()).copied();
    known.or_else(|| definition.class_layout().map(|layout| layout.packing_size()).filter(|size| *size != 0))
}

fn fields(speller: &Speller<'_>, path: &str, definition: TypeDef<'_>) -> Vec<Field> {
    let mut fields = Vec::new();
    for member in definition.fields() {
        if member.name().starts_with("_bitfield") {
            bits(&mut fields, speller, member);
        } else {
            fields.push(field(speller, path, definition, member));
        }
    }
    fields
}

fn field(speller: &Speller<'_>, path: &str, owner: TypeDef<'_>, member: Member<'_>) -> Field {
    let name = member.name();
    let kind = member.ty();
    let (element, count) = match &kind {
        Metadata::ArrayFixed(element, count) => (element.as_ref(), u32::try_from(*count).ok()),
        other => (other, None),
    };
    let nested = match element {
        Metadata::ValueName(inner) if inner.namespace.is_empty() => {
            speller.index.nested(owner).find(|nested| nested.name() == inner.name)
        }
        _ => None,
    };
    if let Some(inner) = nested {
        let name = if name.starts_with("Anonymous") { "" } else { name };
        let path = if name.is_empty() { path.to_owned() } else { format!("{path}.{name}") };
        let fields = fields(speller, &path, inner);
        return Field::Nested { name: name.to_owned(), keyword: keyword(inner), alignment: None, fields, count };
    }
    let place = format!("{path}.{name}");
    let is_constant = member.has_attribute("ConstAttribute") && !speller.table.constant_pointers.contains(path);
    let is_constant = is_constant || speller.table.is_constant_field(&place);
    let element = speller.spell(element, Place::Field(&place), is_constant);
    let kind = match count {
        Some(count) => Type::Array { of: Box::new(element), count: Some(count) },
        None => element,
    };
    let alignment = speller.table.aligned.contains(&place).then_some(8);
    Field::Value { name: name.to_owned(), kind, alignment }
}

/// Adds the bit fields of one integer. Bits without a name become unnamed bit fields.
fn bits(fields: &mut Vec<Field>, speller: &Speller<'_>, member: Member<'_>) {
    // A bit field cannot have the type LARGE_INTEGER, which is a union.
    let kind = match member.ty() {
        Metadata::I64 => Type::name("LONGLONG"),
        other => speller.spell(&other, Place::Field(""), false),
    };
    let mut next = 0;
    for attribute in member.attributes().filter(|attribute| attribute.name() == "NativeBitfieldAttribute") {
        let values: Vec<Value> = attribute.value().into_iter().map(|(_, value)| value).collect();
        let [Value::Utf8(name), Value::I64(offset), Value::I64(width)] = values.as_slice() else { continue };
        let (Ok(offset), Ok(width)) = (u64::try_from(*offset), u64::try_from(*width)) else { continue };
        if offset > next {
            fields.push(Field::Bits { name: String::new(), kind: kind.clone(), width: offset - next });
        }
        fields.push(Field::Bits { name: name.clone(), kind: kind.clone(), width });
        next = offset + width;
    }
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
            let element = if let Metadata::ArrayFixed(element, _) = &kind { element.as_ref() } else { &kind };
            if let Metadata::ValueName(name) = element {
                found.push(name.name.clone());
            }
        }
    }
    for method in definition.methods().filter(|method| method.name() == "Invoke") {
        found.extend(method.signature(&[]).types.into_iter().filter_map(|kind| match kind {
            Metadata::ClassName(name) | Metadata::ValueName(name) => Some(name.name),
            _ => None,
        }));
        found.extend(definition.name().strip_prefix('P').map(str::to_owned));
    }
    found
}
