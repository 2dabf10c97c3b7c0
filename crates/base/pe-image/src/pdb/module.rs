//! The modules of a program, and their symbol records.

use crate::bytes::{name_at, part, size_at, u16_at, u32_at};

/// Size of a module's entry before its two names.
const ENTRY: usize = 64;

/// What the compiler generated for one source file or one crate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    /// The number of its stream, which has symbols, then line information in an old format, then line information in the current
    /// format.
    pub(super) stream: usize,
    symbols: usize,
    old_lines: usize,
    lines: usize,
}

impl Module {
    /// Returns the modules of a list, up to the first damaged one.
    pub(super) fn all(list: &[u8]) -> impl Iterator<Item = Self> {
        let mut rest = list;
        std::iter::from_fn(move || {
            let module = Self {
                stream: u16_at(rest, 34)?.into(),
                symbols: size_at(rest, 36)?,
                old_lines: size_at(rest, 40)?,
                lines: size_at(rest, 44)?,
            };
            let first = ENTRY + name_at(rest, ENTRY)?.len() + 1;
            let end = first + name_at(rest, first)?.len() + 1;
            rest = rest.get(end.next_multiple_of(4)..).unwrap_or_default();
            Some(module)
        })
    }

    /// Returns the symbol records and the line information in its stream.
    pub(super) fn parts<'a>(&self, stream: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        // The first word is the version of the records.
        let symbols = stream.get(4..self.symbols).unwrap_or_default();
        let lines = self.symbols.checked_add(self.old_lines).and_then(|at| part(stream, at, self.lines));
        (symbols, lines.unwrap_or_default())
    }
}

/// A symbol record, as far as it is needed to name an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol<'a> {
    /// A function. The record of a module opens a scope; a public symbol does not.
    Function { function: Function<'a>, opens: bool },
    /// Code of another function that was inlined into the enclosing one: the id of that function, and the annotations that say
    /// which code comes from which line.
    Inlined { inlinee: u32, annotations: &'a [u8] },
    /// Another record that opens a scope, such as a block.
    Scope,
    /// The end of the innermost scope.
    End,
}

/// A function as described by a symbol record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) section: u16,
    pub(super) offset: u32,
    /// Size of its code in bytes; unknown for a public symbol.
    pub(super) size: Option<u32>,
    pub(super) name: &'a [u8],
}

/// Returns the symbols in `records` that help to name an address, up to the first truncated record.
pub(super) fn symbols(records: &[u8]) -> impl Iterator<Item = Symbol<'_>> {
    let mut rest = records;
    let records = std::iter::from_fn(move || {
        // The length includes the kind, but not itself.
        let length = usize::from(u16_at(rest, 0)?);
        let record = part(rest, 2, length)?;
        rest = rest.get(2 + length..).unwrap_or_default();
        Some(record)
    });
    records.filter_map(symbol)
}

fn symbol(record: &[u8]) -> Option<Symbol<'_>> {
    let function = |offset: usize, size: Option<u32>, name: usize| {
        let section = u16_at(record, offset + 4)?;
        Some(Function { section, offset: u32_at(record, offset)?, size, name: name_at(record, name)? })
    };
    let inlined = |annotations: usize| {
        Some(Symbol::Inlined { inlinee: u32_at(record, 10)?, annotations: record.get(annotations..)? })
    };
    match u16_at(record, 0)? {
        // S_PUB32. Bit 1 of its flags marks a function.
        0x110e if u32_at(record, 2)? & 2 != 0 => {
            Some(Symbol::Function { function: function(6, None, 12)?, opens: false })
        }
        // S_LPROC32, S_GPROC32, the same with ids instead of types, and the same for deferred procedure calls.
        0x110f | 0x1110 | 0x1146 | 0x1147 | 0x1155 | 0x1156 => {
            Some(Symbol::Function { function: function(30, Some(u32_at(record, 14)?), 37)?, opens: true })
        }
        // S_INLINESITE, and S_INLINESITE2, which also counts calls.
        0x114d => inlined(14),
        0x115d => inlined(18),
        // S_THUNK32, S_BLOCK32, S_WITH32, S_SEPCODE.
        0x1102 | 0x1103 | 0x1104 | 0x1132 => Some(Symbol::Scope),
        // S_END, S_INLINESITE_END, S_PROC_ID_END.
        0x0006 | 0x114e | 0x114f => Some(Symbol::End),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Function, Symbol, symbols};

    fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(data.len() + 2).unwrap();
        [&length.to_le_bytes()[..], &kind.to_le_bytes(), data].concat()
    }

    #[test]
    fn functions_are_found_among_other_records() {
        let public = |flags: u8| [&[flags, 0, 0, 0, 0x10, 0, 0, 0, 1, 0][..], b"load\0\0"].concat();
        let mut procedure = vec![0; 12];
        procedure.extend([0x30, 0, 0, 0]);
        procedure.resize(28, 0);
        procedure.extend([0x20, 0, 0, 0, 2, 0, 0]);
        procedure.extend(b"unload\0");
        let mut records = record(0x110e, &public(0));
        records.extend(record(0x1012, &[1; 6]));
        records.extend(record(0x110e, &public(2)));
        records.extend(record(0x1110, &procedure));
        records.extend(record(0x114d, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 3, 4]));
        records.extend(record(0x114e, &[]));
        let load = Function { section: 1, offset: 0x10, size: None, name: b"load" };
        let unload = Function { section: 2, offset: 0x20, size: Some(0x30), name: b"unload" };
        let expected = [
            Symbol::Function { function: load, opens: false },
            Symbol::Function { function: unload, opens: true },
            Symbol::Inlined { inlinee: 0x1000, annotations: &[3, 4] },
            Symbol::End,
        ];
        assert_eq!(symbols(&records).collect::<Vec<_>>(), expected);
        for length in 0..records.len() {
            assert!(symbols(&records[..length]).count() < 4, "cut to {length}");
        }
    }
}
