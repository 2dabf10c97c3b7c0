//! `wdf.h`, made from the facts in `kit/wdf`: what the framework's types and functions are called and made of.
//!
//! The notation is in README.md. Declarations are grouped by topic, not by what C wants first; only those of one kind
//! keep their order.

mod functions;
mod header;
mod notation;
mod reader;

use std::fs;
use std::path::Path;

/// The file with the function table; every other one declares types.
pub(crate) const FUNCTIONS: &str = "functions.txt";

/// The header for all files of the folder.
pub(crate) fn generate(folder: &Path) -> Result<String, String> {
    let describe = |error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(describe)? {
        names.push(entry.map_err(describe)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut types = Vec::new();
    let mut table = String::new();
    for name in names {
        let text = fs::read_to_string(folder.join(&name)).map_err(describe)?;
        if name == FUNCTIONS {
            table = text;
        } else {
            types.push((name, text));
        }
    }
    let types: Vec<(&str, &str)> = types.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    render(&types, &table)
}

/// The header for the texts of the files that declare types, each with its name, and of the table.
pub(crate) fn render(types: &[(&str, &str)], table: &str) -> Result<String, String> {
    let mut declarations = Vec::new();
    for (name, text) in types {
        declarations.extend(notation::parse(name, text)?);
    }
    header::render(&declarations, &functions::parse(FUNCTIONS, table)?)
}
