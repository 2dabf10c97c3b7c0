//! Line tables of a module ("C13 line information").

use std::collections::HashMap;

use super::address::Addresses;
use crate::bytes::{name_at, part, size_at, u16_at, u32_at};

/// `DEBUG_S_LINES`, `DEBUG_S_FILECHKSMS` and `DEBUG_S_INLINEELINES`.
const LINES: u32 = 0xf2;
const FILES: u32 = 0xf4;
const INLINEES: u32 = 0xf6;
/// Line numbers that mark code without a line.
const NO_LINE: [u32; 2] = [0x00fe_efee, 0x00f0_0f00];
/// The header of a block of lines: the file, the number of lines and the size of the block.
const BLOCK_HEADER: usize = 12;
/// The header of the name table: a signature, a version and its size.
const NAMES_HEADER: usize = 12;

/// A line: its address, and the name of its file with the line number. `None` marks the end of code with lines.
pub(super) type Line<'a> = (u32, Option<(&'a [u8], u32)>);

/// The line information of a module.
#[derive(Clone, Copy)]
pub(super) struct Information<'a> {
    subsections: &'a [u8],
    files: &'a [u8],
    names: &'a [u8],
}

impl<'a> Information<'a> {
    /// Creates the information of a module from its subsections and the name table that all modules share.
    pub(super) fn new(subsections: &'a [u8], names: &'a [u8]) -> Self {
        let files = parts(subsections).find(|(kind, _)| *kind == FILES).map_or(&[][..], |(_, data)| data);
        Self { subsections, files, names }
    }

    /// Returns the name of a file by its offset in the module's list.
    pub(super) fn file(&self, offset: u32) -> Option<&'a [u8]> {
        let name = size_at(self.files, usize::try_from(offset).ok()?)?;
        name_at(self.names, NAMES_HEADER.checked_add(name)?)
    }

    /// Calls `found` for each line of the module. Damaged parts are skipped.
    pub(super) fn lines(&self, addresses: &Addresses, mut found: impl FnMut(Line<'a>)) {
        for (_, lines) in parts(self.subsections).filter(|(kind, _)| *kind == LINES) {
            let (Some(start), Some(section)) = (u32_at(lines, 0), u16_at(lines, 4)) else { continue };
            let rva = |offset| start.checked_add(offset).and_then(|offset| addresses.rva(section, offset));
            if let Some(end) = u32_at(lines, 8).and_then(rva) {
                found((end, None));
            }
            let mut rest = lines.get(BLOCK_HEADER..).unwrap_or_default();
            while let Some((file, entries, next)) = block(rest) {
                rest = next;
                let Some(name) = self.file(file) else { continue };
                for entry in entries {
                    let (Some(offset), Some(flags)) = (u32_at(entry, 0), u32_at(entry, 4)) else { continue };
                    let number = flags & 0x00ff_ffff;
                    if let (Some(rva), false) = (rva(offset), NO_LINE.contains(&number)) {
                        found((rva, Some((name, number))));
                    }
                }
            }
        }
    }

    /// Returns where inlined functions begin: file and line by function id.
    pub(super) fn inlinees(&self) -> HashMap<u32, (u32, u32)> {
        let mut inlinees = HashMap::new();
        for (_, data) in parts(self.subsections).filter(|(kind, _)| *kind == INLINEES) {
            let (Some(signature), Some(mut rest)) = (u32_at(data, 0), data.get(4..)) else { continue };
            while let (Some(id), Some(file), Some(line)) = (u32_at(rest, 0), u32_at(rest, 4), u32_at(rest, 8)) {
                inlinees.insert(id, (file, line));
                // The second form also has a list of further files.
                let more = if signature == 1 { size_at(rest, 12).and_then(|count| count.checked_mul(4)) } else { None };
                let next = more.map_or(Some(12), |more| more.checked_add(16));
                rest = next.and_then(|next| rest.get(next..)).unwrap_or_default();
            }
        }
        inlinees
    }
}

/// The file of a block, its lines, and the bytes after the block.
type Block<'a> = (u32, &'a [[u8; 8]], &'a [u8]);

fn block(rest: &[u8]) -> Option<Block<'_>> {
    let file = u32_at(rest, 0)?;
    let count = size_at(rest, 4)?;
    let size = size_at(rest, 8)?;
    let lines = part(rest, BLOCK_HEADER, count.checked_mul(8)?)?;
    // A block that is smaller than its lines would share them with the next one.
    let next = rest.get(size.max(BLOCK_HEADER + lines.len())..)?;
    Some((file, lines.as_chunks().0, next))
}

/// Returns kind and data of each subsection.
fn parts(information: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = information;
    std::iter::from_fn(move || {
        let kind = u32_at(rest, 0)?;
        let size = size_at(rest, 4)?;
        let data = part(rest, 8, size)?;
        rest = rest.get(8 + size.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, data))
    })
}

#[cfg(test)]
mod tests {
    use super::block;

    #[test]
    fn a_block_does_not_share_its_lines_with_the_next_one() {
        for (size, left) in [(12_u32, 4), (28, 4), (32, 0)] {
            let bytes: Vec<u8> = [7, 2, size, 0, 0, 0, 0, 0].into_iter().flat_map(u32::to_le_bytes).collect();
            let (file, lines, next) = block(&bytes).unwrap();
            assert_eq!(file, 7, "{size}");
            assert_eq!(lines.len(), 2, "{size}");
            assert_eq!(next.len(), left, "{size}");
        }
    }
}
