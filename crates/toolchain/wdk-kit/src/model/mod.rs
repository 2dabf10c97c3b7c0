//! The declarations of C that the kit's headers consist of.
//!
//! Microsoft's metadata and Microsoft's bindings are read into these types. What a declaration names or needs is asked of them, and
//! `print` writes each header once, at the end. Nothing reads the written text again.

mod print;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

pub(crate) use print::{early, late, whole};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A name that a typedef or the language declares.
    Name(String),
    /// The tag of a record or of an enumeration.
    Tag(Keyword, String),
    /// A pointer. `is_constant` means that what it points to is constant.
    Pointer { to: Box<Type>, is_constant: bool },
    /// An array; without a count, it is as long as the memory behind it.
    Array { of: Box<Type>, count: Option<u32> },
    /// A function.
    Function(Box<Signature>),
}

/// What stands before a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Keyword {
    Struct,
    Union,
    Enum,
}

/// The parameters and the result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) result: Type,
    pub(crate) convention: Convention,
    pub(crate) parameters: Vec<Parameter>,
    /// Whether more parameters may follow.
    pub(crate) is_open: bool,
}

/// A calling convention. On the processors of the kit, all of them are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Convention {
    /// Not written, as in bindings.
    Unwritten,
    /// `NTAPI`.
    Nt,
    /// `__cdecl`, of functions with any number of parameters.
    C,
}

/// A parameter. Bindings have no names of parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) kind: Type,
}

/// A declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A macro with a value.
    Constant { name: String, value: String },
    /// A GUID, which is a variable, and its eleven numbers.
    Guid { name: String, value: String },
    /// A tag without its fields.
    Forward { keyword: Keyword, tag: String },
    /// An enumeration, with a name if it is declared with a typedef.
    Enumeration { tag: String, name: Option<String>, is_unsigned: bool, members: Vec<Member> },
    /// Another name of a type.
    Alias { name: String, kind: Type },
    /// A structure or a union.
    Record(Record),
    /// A record that is written by hand: its tag, and its text without the semicolon.
    Written { tag: String, text: String },
    /// A function of the kernel.
    Routine { name: String, signature: Signature, never_returns: bool },
}

/// A member of an enumeration. The value is missing if only the compiler needs the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: Option<String>,
}

/// A structure or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) keyword: Keyword,
    pub(crate) tag: String,
    /// The macro of the processor that has it, if not all have it.
    pub(crate) processor: Option<&'static str>,
    pub(crate) packing: Option<u32>,
    /// An alignment, as C writes it.
    pub(crate) alignment: Option<String>,
    pub(crate) fields: Vec<Field>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Value {
        name: String,
        kind: Type,
        alignment: Option<u32>,
    },
    /// A bit field; without a name, bits that are not used.
    Bits {
        name: String,
        kind: Type,
        width: u64,
    },
    /// A record inside of the record, with or without a name.
    Nested {
        name: String,
        keyword: Keyword,
        alignment: Option<u32>,
        fields: Vec<Field>,
        count: Option<u32>,
    },
}

/// Where declarations come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Microsoft's metadata, which differs between processors: the macro of the processor.
    Metadata(&'static str),
    /// Microsoft's bindings, which are the same for all processors.
    Bindings,
}

/// Declarations from one source, in the four blocks of a header. A run of bindgen can leave out the blocks that it does not use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) source: Source,
    pub(crate) constants: Vec<Item>,
    /// Declarations that need no complete record.
    pub(crate) types: Vec<Item>,
    pub(crate) records: Vec<Item>,
    pub(crate) routines: Vec<Item>,
}

impl Type {
    pub(crate) fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    pub(crate) fn pointer_to(self) -> Self {
        Self::Pointer { to: Box::new(self), is_constant: false }
    }

    pub(crate) fn pointer_to_constant(self) -> Self {
        Self::Pointer { to: Box::new(self), is_constant: true }
    }

    /// Calls `see` with this type and every type that it is made of.
    pub(crate) fn visit<'t>(&'t self, see: &mut impl FnMut(&'t Self)) {
        see(self);
        match self {
            Self::Name(_) | Self::Tag(..) => {}
            Self::Pointer { to, .. } => to.visit(see),
            Self::Array { of, .. } => of.visit(see),
            Self::Function(signature) => signature.visit(see),
        }
    }
}

impl Signature {
    /// As [`Type::visit`], for the result and all parameters.
    pub(crate) fn visit<'t>(&'t self, see: &mut impl FnMut(&'t Type)) {
        self.result.visit(see);
        self.parameters.iter().for_each(|parameter| parameter.kind.visit(see));
    }
}

impl Item {
    /// Calls `see` with every type that the declaration uses.
    pub(crate) fn visit<'t>(&'t self, see: &mut impl FnMut(&'t Type)) {
        match self {
            Self::Alias { kind, .. } => kind.visit(see),
            Self::Record(record) => visit_fields(&record.fields, see),
            Self::Routine { signature, .. } => signature.visit(see),
            Self::Constant { .. }
            | Self::Guid { .. }
            | Self::Forward { .. }
            | Self::Enumeration { .. }
            | Self::Written { .. } => {}
        }
    }

    /// Adds the names that it declares: of types, tags with a body, members, macros, variables and functions.
    fn add_names(&self, names: &mut BTreeSet<String>) {
        match self {
            Self::Constant { name, .. }
            | Self::Guid { name, .. }
            | Self::Alias { name, .. }
            | Self::Routine { name, .. }
            | Self::Written { tag: name, .. }
            | Self::Record(Record { tag: name, .. }) => drop(names.insert(name.clone())),
            Self::Enumeration { tag, name, members, .. } => {
                names.extend(name.iter().chain([tag]).chain(members.iter().map(|member| &member.name)).cloned());
            }
            Self::Forward { .. } => {}
        }
    }

    /// The tag that gets its body here.
    fn complete_tag(&self) -> Option<&String> {
        match self {
            Self::Enumeration { tag, .. } | Self::Record(Record { tag, .. }) | Self::Written { tag, .. } => Some(tag),
            _ => None,
        }
    }
}

fn visit_fields<'t>(fields: &'t [Field], see: &mut impl FnMut(&'t Type)) {
    for field in fields {
        match field {
            Field::Value { kind, .. } | Field::Bits { kind, .. } => kind.visit(see),
            Field::Nested { fields, .. } => visit_fields(fields, see),
        }
    }
}

/// Returns declarations of the records that the items refer to by their tags. In C, a tag that first appears in a list of parameters
/// would be a different type. A tag without an underscore has been declared by a typedef.
pub(crate) fn forwards(items: &[Item]) -> Vec<Item> {
    let mut tags = BTreeSet::new();
    for item in items {
        item.visit(&mut |kind| {
            if let Type::Tag(keyword @ (Keyword::Struct | Keyword::Union), tag) = kind {
                tags.insert((*keyword, tag.clone()));
            }
        });
        if let Item::Record(record) = item {
            tags.insert((record.keyword, record.tag.clone()));
        }
    }
    tags.into_iter()
        .filter(|(_, tag)| tag.starts_with('_'))
        .map(|(keyword, tag)| Item::Forward { keyword, tag })
        .collect()
}

impl Part {
    pub(crate) fn new(source: Source) -> Self {
        Self { source, constants: Vec::new(), types: Vec::new(), records: Vec::new(), routines: Vec::new() }
    }

    /// All declarations.
    pub(crate) fn items(&self) -> impl Iterator<Item = &Item> {
        [&self.constants, &self.types, &self.records, &self.routines].into_iter().flatten()
    }

    /// Adds the names that are declared here to `names`, and the tags of enumerations and of records with fields to `complete`.
    pub(crate) fn add_declared(&self, names: &mut BTreeSet<String>, complete: &mut BTreeSet<String>) {
        for item in self.items() {
            item.add_names(names);
            complete.extend(item.complete_tag().cloned());
        }
    }
}
