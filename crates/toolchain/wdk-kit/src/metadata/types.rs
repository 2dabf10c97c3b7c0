//! Turns types of the metadata into those of C.
//!
//! The metadata has lost some C types: `LARGE_INTEGER` is a 64-bit integer, `PCUNICODE_STRING` is a pointer to a string with the
//! attribute of an input parameter, and `PEPROCESS` is an integer. The table has the original types.

use std::collections::HashSet;

use windows_metadata::Type as Metadata;
use windows_metadata::reader::{HasAttributes, Index, Item, TypeCategory, TypeDef};

use super::table::Table;
use crate::model::{Keyword, Type};

/// Turns types into those of C.
pub(crate) struct Speller<'a> {
    pub(crate) index: &'a Index,
    pub(crate) table: &'a Table,
    /// The names of all callbacks.
    callbacks: HashSet<&'a str>,
}

/// Where a type is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place<'a> {
    /// A routine, by name.
    Routine(&'a str),
    /// A function of the driver, by the name of its type.
    Callback(&'a str),
    /// `Record.Field`.
    Field(&'a str),
}

impl<'a> Place<'a> {
    fn name(self) -> &'a str {
        let (Self::Routine(name) | Self::Callback(name) | Self::Field(name)) = self;
        name
    }
}

impl<'a> Speller<'a> {
    pub(crate) fn new(index: &'a Index, table: &'a Table) -> Self {
        let callbacks = index.types().filter(|of| of.category() == TypeCategory::Delegate).map(|of| of.name());
        Self { index, table, callbacks: callbacks.collect() }
    }

    /// Whether the type of a callback is a pointer, by its name. `PCI_SET_ATS` is a function, because there is `PPCI_SET_ATS`.
    pub(crate) fn is_pointer(&self, name: &str) -> bool {
        let is_prefixed = name.starts_with('P') || name.starts_with("pHal") || name.starts_with("pKd");
        is_prefixed && !self.callbacks.contains(format!("P{name}").as_str())
    }

    /// Returns the definition of a named type.
    pub(crate) fn find(&self, namespace: &str, name: &str) -> Option<TypeDef<'a>> {
        self.index.get_item(namespace, name).find_map(|item| match item {
            Item::Type(definition) => Some(definition),
            _ => None,
        })
    }

    /// Returns a type of C. Pointers are to constant data if `is_constant`.
    pub(crate) fn spell(&self, kind: &Metadata, place: Place<'_>, is_constant: bool) -> Type {
        match kind {
            Metadata::PtrMut(inner, depth) | Metadata::PtrConst(inner, depth) => {
                let target = match (inner.as_ref(), self.table.pointees.get(place.name())) {
                    (Metadata::ISize, Some(tag)) => Type::Tag(Keyword::Struct, tag.clone()),
                    (Metadata::Void, Some(tag)) if matches!(place, Place::Field(_)) => {
                        Type::Tag(Keyword::Struct, tag.clone())
                    }
                    _ => self.spell(inner, place, false),
                };
                let first = if is_constant { target.pointer_to_constant() } else { target.pointer_to() };
                (1..*depth).fold(first, |kind, _| kind.pointer_to())
            }
            Metadata::ValueName(name) | Metadata::ClassName(name) => {
                self.named(&name.namespace, &name.name, is_constant)
            }
            Metadata::ArrayFixed(inner, _)
            | Metadata::Array(inner)
            | Metadata::RefMut(inner)
            | Metadata::RefConst(inner) => self.spell(inner, place, is_constant),
            Metadata::I64 if !self.table.is_plain(place.name()) => Type::name("LARGE_INTEGER"),
            Metadata::U64 if matches!(place, Place::Field(field) if self.table.unsigned.contains(field)) => {
                Type::name("ULARGE_INTEGER")
            }
            other => Type::name(primitive(other)),
        }
    }

    fn named(&self, namespace: &str, name: &str, is_constant: bool) -> Type {
        match (name, is_constant) {
            ("PWSTR", true) => return Type::name("PCWSTR"),
            ("PSTR", true) => return Type::name("PCSTR"),
            ("Guid", _) => return Type::name("GUID"),
            _ => {}
        }
        let Some(definition) = self.find(namespace, name) else { return Type::name(name) };
        match definition.category() {
            // The type of a callback is a function or a pointer to it. Values are always pointers.
            TypeCategory::Delegate if !self.is_pointer(name) => Type::name(name).pointer_to(),
            TypeCategory::Enum if !is_enumeration(definition) => {
                Type::name(definition.underlying_type().map_or("ULONG", |kind| primitive(&kind)))
            }
            TypeCategory::Interface | TypeCategory::Class => Type::name("PVOID"),
            _ => Type::name(name.trim_start_matches('_')),
        }
    }
}

/// Whether this is an enumeration in C. Those are signed; groups of macros, which are enumerations in the metadata too, are not.
pub(crate) fn is_enumeration(definition: TypeDef<'_>) -> bool {
    definition.underlying_type() == Some(Metadata::I32) && !definition.has_attribute("FlagsAttribute")
}

/// Whether this is another name of a simple type.
pub(crate) fn is_alias(definition: TypeDef<'_>) -> bool {
    definition.has_attribute("NativeTypedefAttribute") || definition.has_attribute("MetadataTypedefAttribute")
}

/// Returns the WDK's name of a primitive type.
pub(crate) fn primitive(kind: &Metadata) -> &'static str {
    match kind {
        Metadata::Void => "VOID",
        Metadata::Bool => "BOOLEAN",
        Metadata::Char => "WCHAR",
        Metadata::I8 => "CHAR",
        Metadata::U8 => "UCHAR",
        Metadata::I16 => "SHORT",
        Metadata::U16 => "USHORT",
        Metadata::I32 => "LONG",
        Metadata::U32 => "ULONG",
        Metadata::I64 => "LONGLONG",
        Metadata::U64 => "ULONGLONG",
        Metadata::F32 => "float",
        Metadata::F64 => "double",
        Metadata::ISize => "LONG_PTR",
        Metadata::USize => "ULONG_PTR",
        _ => "PVOID",
    }
}
