//! Functions and lines by address.

use std::collections::{BTreeMap, HashMap};

use super::address::{Addresses, Header};
use super::annotations;
use super::lines::Information;
use super::module::{Function, Module, Symbol, symbols};
use super::msf::Msf;
use super::names::Names;
use crate::bytes::part;
use crate::bytes::printable;
use crate::error::Error;
use crate::frame::{Frame, Nearest};

/// The stream with the debug information.
const DEBUG_INFORMATION: usize = 3;
/// Maximum nesting depth of inlined calls; deeper ones are left out. Optimisers stop long before.
const DEEPEST: usize = 256;

/// Functions and lines, by start address.
#[derive(Clone, Debug)]
pub struct Table {
    addresses: Addresses,
    functions: BTreeMap<u32, Named>,
    /// Index of the file in `files`, and the line. `None` marks the end of code with lines.
    lines: BTreeMap<u32, Option<(usize, u32)>>,
    files: Files,
    names: Names,
}

/// A function of the image.
#[derive(Clone, Debug)]
struct Named {
    name: String,
    size: Option<u32>,
    inlined: Vec<Inlined>,
}

/// Code of a function that was inlined into another one.
#[derive(Clone, Copy, Debug)]
struct Inlined {
    start: u32,
    end: u32,
    call: Call,
    source: Option<(usize, u32)>,
    /// Whether the code comes from another file than the inlined function. LLVM merges all calls on a line of a macro into one
    /// call with the name of the first; a different file shows that this name is not reliable.
    is_elsewhere: bool,
}

/// One inlined call.
#[derive(Clone, Copy, Debug)]
struct Call {
    /// Nesting depth: 1 for a call by the function itself.
    depth: usize,
    /// The id of the called function.
    inlinee: u32,
    /// File and line where the called function begins.
    origin: Option<(u32, u32)>,
}

/// Unique names of files.
#[derive(Clone, Debug, Default)]
struct Files {
    names: Vec<String>,
    positions: HashMap<Vec<u8>, usize>,
}

impl Files {
    fn position(&mut self, name: &[u8]) -> usize {
        if let Some(&position) = self.positions.get(name) {
            return position;
        }
        self.names.push(printable(name));
        self.positions.insert(name.to_vec(), self.names.len() - 1);
        self.names.len() - 1
    }

    fn source(&self, (file, line): (usize, u32)) -> Option<(&str, u32)> {
        Some((self.names.get(file)?, line))
    }
}

impl Table {
    /// Reads the symbols of a program. Damaged parts are left out if the rest is usable without them.
    ///
    /// # Errors
    ///
    /// Fails if the debug information or the section headers are damaged.
    pub fn read(msf: &Msf<'_>) -> Result<Self, Error> {
        let damaged = |field, what: &'static str| move || Error::new(field, format!("{what} is missing or cut off"));
        let stream = msf.stream(DEBUG_INFORMATION).ok_or_else(damaged("DBI stream", "it"))?;
        let header = Header::read(&stream).ok_or_else(damaged("DBI stream", "its header"))?;
        let debug = part(&stream, header.debug.0, header.debug.1).ok_or_else(damaged("DBI stream", "its end"))?;
        let modules = part(&stream, header.modules.0, header.modules.1);
        let modules = modules.ok_or_else(damaged("DBI stream", "the list of modules"))?;
        let addresses = Addresses::read(msf, debug).ok_or_else(damaged("section headers", "the stream"))?;
        let names = msf.named("/names").unwrap_or_default();
        let mut table = Self {
            addresses,
            functions: BTreeMap::new(),
            lines: BTreeMap::new(),
            files: Files::default(),
            names: Names::read(msf),
        };
        // A module's own record of a function replaces the public one, whose name is mangled.
        let public = msf.stream(header.symbols).unwrap_or_default();
        table.add_symbols(&public, &Information::new(&[], &[]));
        for module in Module::all(modules) {
            let Some(stream) = msf.stream(module.stream) else { continue };
            let (symbols, subsections) = module.parts(&stream);
            let information = Information::new(subsections, &names);
            table.add_symbols(symbols, &information);
            table.add_lines(&information);
        }
        Ok(table)
    }

    fn add_lines(&mut self, information: &Information<'_>) {
        let Self { addresses, lines, files, .. } = self;
        information.lines(addresses, |(rva, source)| match source {
            Some((name, number)) => drop(lines.insert(rva, Some((files.position(name), number)))),
            // If other code with lines begins here, keep its line.
            None => drop(lines.entry(rva).or_insert(None)),
        });
    }

    fn add_symbols(&mut self, records: &[u8], information: &Information<'_>) {
        let inlinees = information.inlinees();
        // The function that the records belong to; for each open scope, whether it is an inlined call; and the number of open
        // scopes that are inlined calls.
        let mut current = None;
        let mut scopes = Vec::new();
        let mut depth = 0;
        for symbol in symbols(records) {
            match symbol {
                Symbol::Function { function, opens } => {
                    let rva = self.addresses.rva(function.section, function.offset);
                    if let Some(rva) = rva {
                        let name = printable(function.name);
                        self.functions.insert(rva, Named { name, size: function.size, inlined: Vec::new() });
                    }
                    if opens {
                        (scopes, depth) = (vec![false], 0);
                        current = rva.map(|rva| (rva, function));
                    }
                }
                Symbol::Inlined { inlinee, annotations } => {
                    scopes.push(true);
                    depth += 1;
                    let (Some((rva, function)), true) = (current, depth <= DEEPEST) else { continue };
                    let call = Call { depth, inlinee, origin: inlinees.get(&inlinee).copied() };
                    let inlined = self.inlined(function, annotations, call, information);
                    if let Some(function) = self.functions.get_mut(&rva) {
                        function.inlined.extend(inlined);
                    }
                }
                Symbol::Scope => scopes.push(false),
                Symbol::End => depth -= usize::from(scopes.pop().unwrap_or_default()),
            }
        }
    }

    /// Returns the pieces of code of one inlined call.
    fn inlined(
        &mut self,
        function: Function<'_>,
        annotations: &[u8],
        call: Call,
        information: &Information<'_>,
    ) -> Vec<Inlined> {
        let mut found = Vec::new();
        for piece in annotations::pieces(annotations) {
            let address = |offset| self.addresses.rva(function.section, function.offset.checked_add(offset)?);
            let size = piece.end.or(function.size).and_then(|end| end.checked_sub(piece.start));
            let (Some(start), Some(size)) = (address(piece.start), size) else { continue };
            let source = call.origin.and_then(|(file, first)| {
                let name = information.file(piece.file.unwrap_or(file))?;
                Some((self.files.position(name), first.checked_add_signed(piece.line)?))
            });
            let is_elsewhere = piece.file.is_some_and(|file| call.origin.is_some_and(|(own, _)| own != file));
            found.push(Inlined { start, end: start.saturating_add(size), call, source, is_elsewhere });
        }
        found
    }

    /// Returns the functions that the instruction at an address comes from: the innermost inlined function first, the function
    /// that was actually called last. Empty if the address is not in a known function of its section.
    #[must_use]
    pub fn frames(&self, rva: u32) -> Vec<Frame<'_>> {
        let Some((_, function)) = self.within(rva) else { return Vec::new() };
        let mut inlined: Vec<_> =
            function.inlined.iter().filter(|piece| piece.start <= rva && rva < piece.end).collect();
        inlined.sort_by_key(|piece| std::cmp::Reverse(piece.call.depth));
        inlined.dedup_by_key(|piece| piece.call.depth);
        let mut frames: Vec<_> = inlined.into_iter().map(|piece| self.inlined_frame(piece)).collect();
        let source = self.line(rva);
        frames.push(Frame { function: Some(readable(&function.name)), source, is_inlined: false });
        frames
    }

    fn inlined_frame(&self, piece: &Inlined) -> Frame<'_> {
        let function = if piece.is_elsewhere { None } else { self.names.function(piece.call.inlinee) };
        Frame { function, source: piece.source.and_then(|source| self.files.source(source)), is_inlined: true }
    }

    /// Returns the nearest function that begins at or before an address in the same section.
    #[must_use]
    pub fn nearest(&self, rva: u32) -> Option<Nearest> {
        let (start, function) = self.before(rva)?;
        Some(Nearest { name: readable(&function.name), offset: rva - start })
    }

    /// Returns each function's name, and the source of its first address.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&str, Option<(&str, u32)>)> {
        self.functions.iter().map(|(rva, function)| (function.name.as_str(), self.line(*rva)))
    }

    /// Returns the addresses at which the code of a line begins, also that of an inlined function, in ascending order.
    pub(crate) fn line_starts(&self) -> Vec<u32> {
        let lines = self.lines.iter().filter(|(_, line)| line.is_some()).map(|(rva, _)| *rva);
        let inlined = self.functions.values().flat_map(|function| &function.inlined).map(|piece| piece.start);
        let mut starts: Vec<u32> = lines.chain(inlined).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    fn before(&self, rva: u32) -> Option<(u32, &Named)> {
        let section = self.addresses.section_of(rva)?;
        let (start, function) = self.functions.range(section..=rva).next_back()?;
        Some((*start, function))
    }

    /// Returns the function that contains an address. A function of unknown size extends to the next one.
    fn within(&self, rva: u32) -> Option<(u32, &Named)> {
        self.before(rva).filter(|(start, function)| function.size.is_none_or(|size| rva - start < size))
    }

    /// Returns the source file and the line of an address, in the function that was actually called rather than an inlined one.
    /// Returns `None` if the compiler recorded none.
    #[must_use]
    pub fn line(&self, rva: u32) -> Option<(&str, u32)> {
        let section = self.addresses.section_of(rva)?;
        let (_, line) = self.lines.range(section..=rva).next_back()?;
        self.files.source((*line)?)
    }
}

/// Demangles a name.
fn readable(name: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(name))
}
