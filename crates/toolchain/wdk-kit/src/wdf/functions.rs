//! Parses the function table: `position Name: TYPE, TYPE -> TYPE`.

use super::reader::{Place, Reader, Signature, entries};

/// One function, at its position.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) place: Place,
    pub(crate) name: String,
    /// The signature without the driver's globals; `None` if the kit lacks the types.
    pub(crate) signature: Option<Signature>,
}

impl Function {
    /// Returns the function with only its name and its place in the table.
    pub(crate) fn without_signature(&self) -> Self {
        Self { signature: None, ..self.clone() }
    }
}

/// Reads the table, which must be complete and in order: the framework fills it by position.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<Function>, String> {
    let mut functions = Vec::new();
    for (place, entry) in entries(file, text)? {
        let mut reader = Reader::new(&place, &entry);
        let position = reader.number()?;
        if position.parse() != Ok(functions.len()) {
            return Err(place.error(&format!("expected position {}, found {position}", functions.len())));
        }
        let name = reader.name()?.to_owned();
        let signature = if reader.take(":") { Some(reader.signature()?) } else { None };
        reader.end()?;
        functions.push(Function { place, name, signature });
    }
    Ok(functions)
}
