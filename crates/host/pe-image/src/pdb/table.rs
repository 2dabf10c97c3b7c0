//! Functions and lines by address.

use std::collections::{BTreeMap, HashMap};

use super::address::{Addresses, Header};
use super::lines;
use super::module::{Function, Module, functions};
use super::msf::Msf;
use crate::bytes::part;
use crate::error::Error;

/// The stream with the debug information.
const DEBUG_INFORMATION: usize = 3;

/// Functions and lines, by their first address.
#[derive(Clone, Debug, Default)]
pub struct Table {
    functions: BTreeMap<u32, String>,
    /// Position of the file in `files`, and the line.
    lines: BTreeMap<u32, (usize, u32)>,
    files: Vec<String>,
}

impl Table {
    /// Reads the symbols of a program. What is damaged is left out as far as the rest makes sense without it.
    ///
    /// # Errors
    ///
    /// When the debug information or the addresses of sections are damaged.
    pub fn read(msf: &Msf<'_>) -> Result<Self, Error> {
        let damaged = |field, what: &'static str| move || Error::new(field, format!("{what} is missing or cut off"));
        let stream = msf.stream(DEBUG_INFORMATION).ok_or_else(damaged("DBI stream", "it"))?;
        let header = Header::read(&stream).ok_or_else(damaged("DBI stream", "its header"))?;
        let debug = part(&stream, header.debug.0, header.debug.1).ok_or_else(damaged("DBI stream", "its end"))?;
        let modules = part(&stream, header.modules.0, header.modules.1);
        let modules = modules.ok_or_else(damaged("DBI stream", "the list of modules"))?;
        let addresses = Addresses::read(msf, debug).ok_or_else(damaged("section headers", "the stream"))?;
        let names = msf.named("/names").unwrap_or_default();
        let mut table = Self::default();
        // A module's own record of a function replaces the public one, whose name is mangled.
        let public = msf.stream(header.symbols).unwrap_or_default();
        table.add_functions(functions(&public), &addresses);
        let mut files = HashMap::new();
        for module in Module::all(modules) {
            let Some(stream) = msf.stream(module.stream) else { continue };
            let (symbols, information) = module.parts(&stream);
            table.add_functions(functions(symbols), &addresses);
            lines::read(information, &names, &addresses, |(rva, name, number)| {
                let file = *files.entry(name).or_insert_with(|| {
                    table.files.push(String::from_utf8_lossy(name).into_owned());
                    table.files.len() - 1
                });
                table.lines.insert(rva, (file, number));
            });
        }
        Ok(table)
    }

    fn add_functions<'a>(&mut self, found: impl Iterator<Item = Function<'a>>, addresses: &Addresses) {
        for function in found {
            if let Some(rva) = addresses.rva(function.section, function.offset) {
                self.functions.insert(rva, String::from_utf8_lossy(function.name).into_owned());
            }
        }
    }

    /// The function of an address relative to the image, readable.
    #[must_use]
    pub fn function(&self, rva: u32) -> Option<String> {
        let (_, name) = self.functions.range(..=rva).next_back()?;
        Some(format!("{:#}", rustc_demangle::demangle(name)))
    }

    /// The source file and the line of an address.
    #[must_use]
    pub fn line(&self, rva: u32) -> Option<(&str, u32)> {
        let (_, (file, line)) = self.lines.range(..=rva).next_back()?;
        Some((self.files.get(*file)?, *line))
    }
}
