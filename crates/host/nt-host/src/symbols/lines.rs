//! The tables that a PDB becomes: functions and lines, by address.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;

use pdb::{AddressMap, FallibleIterator as _, LineProgram, PDB, PdbInternalSectionOffset, StringTable, SymbolData};

/// Functions and lines, by their first address.
#[derive(Debug, Default)]
pub(super) struct Table {
    functions: BTreeMap<u32, String>,
    lines: BTreeMap<u32, (usize, u32)>,
    files: Vec<String>,
}

impl Table {
    pub(super) fn read(file: File) -> pdb::Result<Self> {
        let mut pdb = PDB::open(file)?;
        let mut table = Self::default();
        let map = pdb.address_map()?;
        let globals = pdb.global_symbols()?;
        let mut symbols = globals.iter();
        while let Some(symbol) = symbols.next()? {
            if let Ok(SymbolData::Public(public)) = symbol.parse()
                && public.function
                && let Some(rva) = public.offset.to_rva(&map)
            {
                table.functions.insert(rva.0, public.name.to_string().into_owned());
            }
        }
        let strings = pdb.string_table().ok();
        let debug = pdb.debug_information()?;
        let mut modules = debug.modules()?;
        while let Some(module) = modules.next()? {
            let Some(info) = pdb.module_info(&module)? else { continue };
            // A module without lines is no reason to know nothing.
            let program = info.line_program().ok();
            let mut symbols = info.symbols()?;
            while let Some(symbol) = symbols.next()? {
                let Ok(SymbolData::Procedure(procedure)) = symbol.parse() else { continue };
                let Some(rva) = procedure.offset.to_rva(&map) else { continue };
                table.functions.insert(rva.0, procedure.name.to_string().into_owned());
                if let (Some(program), Some(strings)) = (&program, &strings) {
                    table.read_lines(program, procedure.offset, strings, &map)?;
                }
            }
        }
        Ok(table)
    }

    /// The lines of one procedure. Those of a module cannot be read in one go: where its code is in several sections, as
    /// that of drivers is, the reader takes them for damaged.
    fn read_lines(
        &mut self,
        program: &LineProgram<'_>,
        procedure: PdbInternalSectionOffset,
        strings: &StringTable<'_>,
        map: &AddressMap<'_>,
    ) -> pdb::Result<()> {
        let mut lines = program.lines_for_symbol(procedure);
        while let Some(line) = lines.next()? {
            let Some(rva) = line.offset.to_rva(map) else { continue };
            let name = program.get_file_info(line.file_index).and_then(|file| file.name.to_string_lossy(strings));
            let file = self.file(name.map(Cow::into_owned).unwrap_or_default());
            self.lines.insert(rva.0, (file, line.line_start));
        }
        Ok(())
    }

    fn file(&mut self, name: String) -> usize {
        self.files.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.files.push(name);
            self.files.len() - 1
        })
    }

    pub(super) fn symbol(&self, rva: u32) -> Option<String> {
        self.functions.range(..=rva).next_back().map(|(_, name)| demangle(name))
    }

    pub(super) fn line(&self, rva: u32) -> Option<(String, u32)> {
        let (_, (file, line)) = self.lines.range(..=rva).next_back()?;
        Some((self.files.get(*file)?.clone(), *line))
    }
}

/// Makes a name of Rust's legacy mangling readable: `_ZN4core3fmt17h…E`. Others stay as they are.
fn demangle(name: &str) -> String {
    let Some(mut rest) = name.strip_prefix("_ZN") else { return name.to_owned() };
    let mut parts = Vec::new();
    while let Some(digits) = rest.find(|c: char| !c.is_ascii_digit()).filter(|digits| *digits != 0) {
        let (length, tail) = rest.split_at(digits);
        let Some((part, tail)) = length.parse().ok().and_then(|length: usize| tail.split_at_checked(length)) else {
            return name.to_owned();
        };
        let is_hash = part.len() == 17 && part.starts_with('h');
        if !is_hash {
            parts.push(part.replace("$LT$", "<").replace("$GT$", ">").replace("..", "::"));
        }
        rest = tail;
    }
    parts.join("::")
}

#[cfg(test)]
mod tests {
    use super::demangle;

    #[test]
    fn legacy_names_lose_their_numbers_and_their_hash() {
        assert_eq!(demangle("_ZN7lookup_4load17h0123456789abcdefE"), "lookup_::load");
        assert_eq!(demangle("DriverEntry"), "DriverEntry");
        assert_eq!(demangle("_ZN99x"), "_ZN99x");
    }
}
