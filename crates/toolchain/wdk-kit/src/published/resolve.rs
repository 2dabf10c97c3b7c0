//! Finds the types of C for those of the bindings, as far as they are declared.

use super::Writer;
use super::parse::Record;
use super::types::UNIT;
use crate::model::{Field, Keyword, Parameter, Signature, Type};

/// Types of Rust and `core::ffi`, each with its type in C.
const PRIMITIVES: [(&str, &str); 24] = [
    ("::core::ffi::c_void", "void"),
    ("::core::ffi::c_char", "char"),
    ("::core::ffi::c_schar", "signed char"),
    ("::core::ffi::c_uchar", "unsigned char"),
    ("::core::ffi::c_short", "short"),
    ("::core::ffi::c_ushort", "unsigned short"),
    ("::core::ffi::c_int", "int"),
    ("::core::ffi::c_uint", "unsigned int"),
    ("::core::ffi::c_long", "long"),
    ("::core::ffi::c_ulong", "unsigned long"),
    ("::core::ffi::c_longlong", "long long"),
    ("::core::ffi::c_ulonglong", "unsigned long long"),
    (UNIT, "void"),
    ("u8", "unsigned char"),
    ("i8", "signed char"),
    ("u16", "unsigned short"),
    ("i16", "short"),
    ("u32", "unsigned int"),
    ("i32", "int"),
    ("u64", "unsigned long long"),
    ("i64", "long long"),
    ("usize", "size_t"),
    ("f32", "float"),
    ("f64", "double"),
];

impl Writer<'_> {
    /// Returns a type of C. Returns `None` if the type is not declared, or if a value of the type is needed (`is_value`) and its
    /// record is not complete.
    pub(super) fn resolve(&self, kind: &Type, is_value: bool) -> Option<Type> {
        Some(match kind {
            Type::Pointer { to, is_constant } => {
                // In C++, wchar_t is not another name of a 16-bit integer. The headers have names for those, which bindgen keeps.
                let to = match to.as_ref() {
                    Type::Name(name) if name == "::core::ffi::c_ushort" => Type::name("wchar_t"),
                    to => self.resolve(to, false)?,
                };
                Type::Pointer { to: Box::new(to), is_constant: *is_constant }
            }
            Type::Array { of, count } => Type::Array { of: Box::new(self.resolve(of, is_value)?), count: *count },
            Type::Function(signature) => {
                let result = self.resolve(&signature.result, false)?;
                Type::Function(Box::new(self.signature(signature, result)?))
            }
            Type::Name(name) => match PRIMITIVES.iter().find(|(rust, _)| rust == name) {
                Some((_, c)) => Type::name(*c),
                None => self.named(name, is_value)?,
            },
            Type::Tag(..) => kind.clone(),
        })
    }

    /// Returns the signature with its parameters resolved and with this result.
    pub(super) fn signature(&self, signature: &Signature, result: Type) -> Option<Signature> {
        let mut parameters = Vec::new();
        for parameter in &signature.parameters {
            parameters.push(Parameter { kind: self.resolve(&parameter.kind, true)?, ..parameter.clone() });
        }
        Some(Signature { result, parameters, ..signature.clone() })
    }

    /// Returns a named type of C, if it is declared. `is_value` means that its record must be complete.
    fn named(&self, name: &str, is_value: bool) -> Option<Type> {
        if let Some(tag) = name.strip_suffix("::Type") {
            return self.declared.contains(tag).then(|| Type::Tag(Keyword::Enum, tag.to_owned()));
        }
        if name.contains("__bindgen") || self.is_left_out(name) || (is_value && !self.is_complete(name)) {
            return None;
        }
        match self.published.tags.get(name) {
            Some(keyword) if name.starts_with('_') => Some(Type::Tag(*keyword, name.to_owned())),
            _ => self.declared.contains(name).then(|| Type::name(name)),
        }
    }

    /// Whether a value of the type can be a field: the record behind its name is complete.
    fn is_complete(&self, name: &str) -> bool {
        let mut name = name;
        // An alias can refer to another alias. C does not allow cycles; the limit ends the loop if the bindings have one.
        for _ in 0..16 {
            if self.published.records.contains_key(name) {
                return self.complete.contains(name);
            }
            match self.published.aliases.get(name) {
                Some(Type::Name(target)) => name = target,
                _ => return true,
            }
        }
        false
    }

    /// Returns the fields of a record. Records without a name are written inside of it.
    pub(super) fn fields(&self, record: &Record) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        for (name, kind) in &record.fields {
            if name.starts_with("_bitfield_align") {
                continue;
            }
            if name.starts_with("_bitfield_") {
                fields.extend(self.bit_fields(record, name)?);
                continue;
            }
            if name == "_unused" || name.contains("__bindgen_padding") || name == "_address" {
                return None;
            }
            fields.push(match nested(kind) {
                Some((inner, count)) => self.nested(name, inner, count)?,
                None => Field::Value { name: name.clone(), kind: self.resolve(kind, true)?, alignment: None },
            });
        }
        Some(fields)
    }

    /// Returns a field whose record has no name.
    fn nested(&self, name: &str, inner: &str, count: Option<u32>) -> Option<Field> {
        let record = self.published.records.get(inner).filter(|record| record.packing.is_none())?;
        // The alignment of bit fields follows from the types of their units.
        let alignment = record.alignment.filter(|_| record.bits.is_empty());
        let name = if name.starts_with("__bindgen_anon_") { "" } else { name }.to_owned();
        Some(Field::Nested { name, keyword: record.keyword, alignment, fields: self.fields(record)?, count })
    }

    fn bit_fields(&self, record: &Record, unit: &str) -> Option<Vec<Field>> {
        let mut fields = Vec::new();
        let mut end = 0;
        for bits in record.bits.iter().filter(|bits| bits.unit == unit) {
            let kind = self.resolve(&bits.kind, true)?;
            if bits.start > end {
                let width = u64::from(bits.start - end);
                fields.push(Field::Bits { name: String::new(), kind: kind.clone(), width });
            }
            fields.push(Field::Bits { name: bits.name.clone(), kind, width: u64::from(bits.width) });
            end = bits.start + bits.width;
        }
        (!fields.is_empty()).then_some(fields)
    }
}

/// The name of a record that bindgen made for a field, and the length of the array if the field is one.
pub(super) fn nested(kind: &Type) -> Option<(&str, Option<u32>)> {
    let (name, count) = match kind {
        Type::Name(name) => (name, None),
        Type::Array { of, count } => match of.as_ref() {
            Type::Name(name) => (name, *count),
            _ => return None,
        },
        _ => return None,
    };
    name.contains("__bindgen_ty_").then_some((name, count))
}
