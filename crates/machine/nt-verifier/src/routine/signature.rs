//! Signatures: the kinds of a routine's parameters and of its result.

use std::fmt;

/// The kind of a parameter or result, as the calling convention sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No result.
    Void,
    /// An unsigned integer of this many bytes. The upper bytes of its slot are undefined.
    Unsigned(usize),
    /// A signed integer of this many bytes. The upper bytes of its slot are undefined.
    Signed(usize),
    /// `BOOLEAN`: the lowest byte of a slot.
    Boolean,
    /// `NTSTATUS`: the lower half of a slot.
    Status,
    /// An address of data or code.
    Pointer,
    /// A handle of the kernel or of the framework: as wide as an address.
    Handle,
    /// The variable arguments.
    Rest,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Void => f.write_str("void"),
            Self::Unsigned(bytes) => write!(f, "u{}", bytes * 8),
            Self::Signed(bytes) => write!(f, "i{}", bytes * 8),
            Self::Boolean => f.write_str("boolean"),
            Self::Status => f.write_str("status"),
            Self::Pointer => f.write_str("pointer"),
            Self::Handle => f.write_str("handle"),
            Self::Rest => f.write_str("..."),
        }
    }
}

/// The kinds of a routine's parameters and of its result. The macros [`routines!`](super::routines) and
/// [`functions!`](super::functions) derive it from the types in the declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The kinds that each declared parameter has. A counted buffer has two.
    pub declared: &'static [&'static [Kind]],
    /// The kind of the result.
    pub result: Kind,
}

impl Signature {
    /// Returns the kinds of the parameters, in the order of their slots.
    pub fn parameters(&self) -> impl Iterator<Item = Kind> {
        self.declared.iter().copied().flatten().copied()
    }
}

/// Like `u32, pointer -> status`.
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, kind) in self.parameters().enumerate() {
            write!(f, "{}{kind}", if index == 0 { "" } else { ", " })?;
        }
        write!(f, "{}-> {}", if self.declared.is_empty() { "" } else { " " }, self.result)
    }
}
