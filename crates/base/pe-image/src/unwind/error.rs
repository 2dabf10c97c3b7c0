//! Why unwinding failed.

use std::fmt;

/// What is wrong with the tables or the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnwindError {
    /// A structure is not completely within the image.
    Outside {
        /// The structure, in the terms of the documentation.
        field: &'static str,
        /// Address of the structure, relative to the image.
        rva: u32,
    },
    /// An unknown version of `UNWIND_INFO`.
    Version(u8),
    /// An operation that is unknown or whose operands are truncated.
    Code {
        /// `UNWIND_CODE.UnwindOp`.
        operation: u8,
        /// The index of the code in its array.
        index: u8,
    },
    /// More chained entries than any function has.
    Chain,
    /// The stack has no word at this address.
    Stack(u64),
}

impl fmt::Display for UnwindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Outside { field, rva } => write!(f, "{field} at {rva:#x} is not completely within the image"),
            Self::Version(version) => write!(f, "UNWIND_INFO has the unknown version {version}"),
            Self::Code { operation, index } => {
                write!(f, "unwind code {index} with operation {operation} is unknown or truncated")
            }
            Self::Chain => f.write_str("the chain of unwind information has no end"),
            Self::Stack(address) => write!(f, "the stack has no word at {address:#x}"),
        }
    }
}

impl std::error::Error for UnwindError {}
