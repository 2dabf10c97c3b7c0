//! What an address is called.

/// One of the functions that an instruction comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its name, where the PDB has one.
    pub function: Option<String>,
    /// The source file and the line, where the compiler recorded them.
    pub source: Option<(&'a str, u32)>,
    /// Whether its code was inlined into the next frame's.
    pub is_inlined: bool,
}

/// A symbol at or before an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The symbol.
    pub name: String,
    /// Bytes from the symbol to the address.
    pub offset: u32,
}

impl std::fmt::Display for Nearest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.offset {
            0 => f.write_str(&self.name),
            offset => write!(f, "{}+{offset:#x}", self.name),
        }
    }
}
