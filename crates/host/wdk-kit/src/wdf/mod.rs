//! `wdf.h`, made from the facts in `kit/wdf`: what the framework's types and functions are called and made of.
//!
//! The notation is in README.md. Declarations are grouped by topic, not by what C wants first; only those of one kind
//! keep their order.

mod functions;
mod header;
mod notation;
mod reader;

/// The minor versions of KMDF 1 that the kit has.
pub(crate) const MINORS: [u8; 1] = [33];

/// The file with the function table; every other one declares types.
pub(crate) const FUNCTIONS: &str = "functions.txt";

/// The header for all files of the folder, each with its name.
pub(crate) fn generate(files: &[(&str, &str)]) -> Result<String, String> {
    let table = files.iter().find(|(name, _)| *name == FUNCTIONS).map_or("", |(_, text)| text);
    let types: Vec<_> = files.iter().copied().filter(|(name, _)| *name != FUNCTIONS).collect();
    render(&types, table)
}

/// The header for the texts of the files that declare types, each with its name, and of the table.
pub(crate) fn render(types: &[(&str, &str)], table: &str) -> Result<String, String> {
    let mut declarations = Vec::new();
    for (name, text) in types {
        declarations.extend(notation::parse(name, text)?);
    }
    header::render(&declarations, &functions::parse(FUNCTIONS, table)?)
}
