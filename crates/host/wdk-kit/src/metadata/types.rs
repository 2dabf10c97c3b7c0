//! Writes types of the metadata in C.
//!
//! The metadata has lost some C types: `LARGE_INTEGER` is a 64-bit integer, `PCUNICODE_STRING` is a pointer to a string with the
//! attribute of an input parameter, and `PEPROCESS` is an integer. The table has the original types.

use std::collections::HashSet;

use windows_metadata::Type;
use windows_metadata::reader::{HasAttributes, Index, Item, TypeCategory, TypeDef};

use super::table::Table;

/// Writes types in C.
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

    /// Returns a type in C. Pointers are to constant data if `is_constant`.
    pub(crate) fn spell(&self, kind: &Type, place: Place<'_>, is_constant: bool) -> String {
        let constant = |text: String| if is_constant { format!("const {text}") } else { text };
        match kind {
            Type::PtrMut(inner, depth) | Type::PtrConst(inner, depth) => {
                let stars = "*".repeat(*depth);
                let target = match (inner.as_ref(), self.table.pointees.get(place.name())) {
                    (Type::ISize, Some(tag)) => format!("struct {tag}"),
                    _ => self.spell(inner, place, false),
                };
                constant(format!("{target} {stars}"))
            }
            Type::ValueName(name) | Type::ClassName(name) => self.named(&name.namespace, &name.name, is_constant),
            Type::ArrayFixed(inner, _) | Type::Array(inner) | Type::RefMut(inner) | Type::RefConst(inner) => {
                self.spell(inner, place, is_constant)
            }
            Type::I64 if !self.table.is_plain(place.name()) => String::from("LARGE_INTEGER"),
            Type::U64 if matches!(place, Place::Field(field) if self.table.unsigned.contains(field)) => {
                String::from("ULARGE_INTEGER")
            }
            other => String::from(primitive(other)),
        }
    }

    fn named(&self, namespace: &str, name: &str, is_constant: bool) -> String {
        match (name, is_constant) {
            ("PWSTR", true) => return String::from("PCWSTR"),
            ("PSTR", true) => return String::from("PCSTR"),
            ("Guid", _) => return String::from("GUID"),
            _ => {}
        }
        let Some(definition) = self.find(namespace, name) else { return name.to_owned() };
        match definition.category() {
            // The type of a callback is a function or a pointer to it. Values are always pointers.
            TypeCategory::Delegate if !self.is_pointer(name) => format!("{name} *"),
            TypeCategory::Enum if !is_enumeration(definition) => {
                definition.underlying_type().map_or_else(|| String::from("ULONG"), |kind| primitive(&kind).to_owned())
            }
            TypeCategory::Interface | TypeCategory::Class => String::from("PVOID"),
            _ => name.trim_start_matches('_').to_owned(),
        }
    }
}

/// Whether this is an enumeration in C. Those are signed; groups of macros, which are enumerations in the metadata too, are not.
pub(crate) fn is_enumeration(definition: TypeDef<'_>) -> bool {
    definition.underlying_type() == Some(Type::I32) && !definition.has_attribute("FlagsAttribute")
}

/// Whether this is another name of a simple type.
pub(crate) fn is_alias(definition: TypeDef<'_>) -> bool {
    definition.has_attribute("NativeTypedefAttribute") || definition.has_attribute("MetadataTypedefAttribute")
}

/// Returns the WDK's name of a primitive type.
pub(crate) fn primitive(kind: &Type) -> &'static str {
    match kind {
        Type::Void => "VOID",
        Type::Bool => "BOOLEAN",
        Type::Char => "WCHAR",
        Type::I8 => "CHAR",
        Type::U8 => "UCHAR",
        Type::I16 => "SHORT",
        Type::U16 => "USHORT",
        Type::I32 => "LONG",
        Type::U32 => "ULONG",
        Type::I64 => "LONGLONG",
        Type::U64 => "ULONGLONG",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::ISize => "LONG_PTR",
        Type::USize => "ULONG_PTR",
        _ => "PVOID",
    }
}
