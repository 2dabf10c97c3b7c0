//! What symbols say about an address: its functions, source lines, and the nearest symbol.

/// One of the functions that an instruction belongs to: the function that was called, or a function that was inlined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The name of the function, if the PDB has one.
    pub function: Option<String>,
    /// The source file and the line, if the compiler recorded them.
    pub source: Option<(&'a str, u32)>,
    /// Whether the code of this function was inlined into the next frame's function.
    pub is_inlined: bool,
}

/// A symbol at or before an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The name of the symbol.
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
