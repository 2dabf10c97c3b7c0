//! Line tables of a module ("C13 line information").

use super::address::Addresses;
use crate::bytes::{name_at, part, size_at, u16_at, u32_at};

/// `DEBUG_S_LINES` and `DEBUG_S_FILECHKSMS`.
const LINES: u32 = 0xf2;
const FILES: u32 = 0xf4;
/// Line numbers that stand for code without a line.
const NO_LINE: [u32; 2] = [0x00fe_efee, 0x00f0_0f00];
/// A block of lines begins with the file, the number of lines and the bytes of the block.
const BLOCK_HEADER: usize = 12;
/// The table of names begins with a signature, a version and its size.
const NAMES_HEADER: usize = 12;

/// One line: its address, the name of its file, its number.
pub(super) type Line<'a> = (u32, &'a [u8], u32);

/// Calls `found` for each line of a module. What is damaged is passed over.
pub(super) fn read<'a>(information: &[u8], names: &'a [u8], addresses: &Addresses, mut found: impl FnMut(Line<'a>)) {
    let files = subsections(information).find(|(kind, _)| *kind == FILES).map_or(&[][..], |(_, data)| data);
    let name = |file: usize| name_at(names, NAMES_HEADER.checked_add(size_at(files, file)?)?);
    for (_, lines) in subsections(information).filter(|(kind, _)| *kind == LINES) {
        let (Some(start), Some(section)) = (u32_at(lines, 0), u16_at(lines, 4)) else { continue };
        let mut rest = lines.get(BLOCK_HEADER..).unwrap_or_default();
        while let Some((file, entries, next)) = block(rest) {
            rest = next;
            let Some(name) = name(file) else { continue };
            for entry in entries {
                let (Some(offset), Some(flags)) = (u32_at(entry, 0), u32_at(entry, 4)) else { continue };
                let number = flags & 0x00ff_ffff;
                let rva = start.checked_add(offset).and_then(|offset| addresses.rva(section, offset));
                if let (Some(rva), false) = (rva, NO_LINE.contains(&number)) {
                    found((rva, name, number));
                }
            }
        }
    }
}

/// The file of a block, its lines, and what follows it.
type Block<'a> = (usize, &'a [[u8; 8]], &'a [u8]);

fn block(rest: &[u8]) -> Option<Block<'_>> {
    let (file, count, size) = (size_at(rest, 0)?, size_at(rest, 4)?, size_at(rest, 8)?);
    let lines = part(rest, BLOCK_HEADER, count.checked_mul(8)?)?;
    // A block without its own header would be followed by itself.
    let next = rest.get(size.max(BLOCK_HEADER)..)?;
    Some((file, lines.as_chunks().0, next))
}

/// Kind and data of each part.
fn subsections(information: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let mut rest = information;
    std::iter::from_fn(move || {
        let (kind, size) = (u32_at(rest, 0)?, size_at(rest, 4)?);
        let data = part(rest, 8, size)?;
        rest = rest.get(8 + size.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, data))
    })
}
