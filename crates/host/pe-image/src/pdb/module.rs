//! The modules of a program, and symbol records.

use crate::bytes::{name_at, part, size_at, u16_at, u32_at};

/// Bytes of a module's entry in front of its two names.
const ENTRY: usize = 64;

/// What the compiler made of one source file, or of one crate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    /// Its stream, in which symbols are followed by line information of an old form and of the one in use.
    pub(super) stream: usize,
    symbols: usize,
    old_lines: usize,
    lines: usize,
}

impl Module {
    /// The modules of a list; it ends at the first that is damaged.
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

    /// The records of its stream, and its line information.
    pub(super) fn parts<'a>(&self, stream: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        // The first word is the version of the records.
        let symbols = stream.get(4..self.symbols).unwrap_or_default();
        let lines = self.symbols.checked_add(self.old_lines).and_then(|at| part(stream, at, self.lines));
        (symbols, lines.unwrap_or_default())
    }
}

/// A function as a symbol record has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Function<'a> {
    pub(super) section: u16,
    pub(super) offset: u32,
    pub(super) name: &'a [u8],
}

/// The functions among symbol records.
pub(super) fn functions(records: &[u8]) -> impl Iterator<Item = Function<'_>> {
    let mut rest = records;
    let records = std::iter::from_fn(move || {
        // The length counts the kind, and itself not.
        let length = usize::from(u16_at(rest, 0)?);
        let record = part(rest, 2, length)?;
        rest = rest.get(2 + length..).unwrap_or_default();
        Some(record)
    });
    records.filter_map(function)
}

fn function(record: &[u8]) -> Option<Function<'_>> {
    let (offset, name) = match u16_at(record, 0)? {
        // S_PUB32, where the second bit of its flags says that it is a function.
        0x110e if u32_at(record, 2)? & 2 != 0 => (6, 12),
        // S_LPROC32, S_GPROC32, those with ids instead of types, and those of deferred procedure calls.
        0x110f | 0x1110 | 0x1146 | 0x1147 | 0x1155 | 0x1156 => (30, 37),
        _ => return None,
    };
    Some(Function {
        section: u16_at(record, offset + 4)?,
        offset: u32_at(record, offset)?,
        name: name_at(record, name)?,
    })
}

#[cfg(test)]
mod tests {
    use super::{Function, functions};

    fn record(kind: u16, data: &[u8]) -> Vec<u8> {
        let length = u16::try_from(data.len() + 2).unwrap();
        [&length.to_le_bytes()[..], &kind.to_le_bytes(), data].concat()
    }

    #[test]
    fn functions_are_found_among_other_records() {
        let public = |flags: u8| [&[flags, 0, 0, 0, 0x10, 0, 0, 0, 1, 0][..], b"load\0\0"].concat();
        let mut procedure = vec![0; 28];
        procedure.extend([0x20, 0, 0, 0, 2, 0, 0]);
        procedure.extend(b"unload\0");
        let mut records = record(0x110e, &public(0));
        records.extend(record(0x1012, &[1; 6]));
        records.extend(record(0x110e, &public(2)));
        records.extend(record(0x1110, &procedure));
        let expected = [
            Function { section: 1, offset: 0x10, name: b"load" },
            Function { section: 2, offset: 0x20, name: b"unload" },
        ];
        assert_eq!(functions(&records).collect::<Vec<_>>(), expected);
        for length in 0..records.len() {
            assert!(functions(&records[..length]).count() < 2, "cut to {length}");
        }
    }
}
