//! The code of an image, and breakpoints in it.

use std::ops::Range;

use iced_x86::{Instruction, Mnemonic};
use pe_image::Layout;
use pe_image::unwind::Functions;

use super::descent::{Descent, is_executable, relative_operand};
use super::flow::{Found, follow_values};
use super::tables;
use crate::memory::{GuestPtr, PAGE, poke};

/// The instruction that is put on the first byte of a block or a function.
pub(super) const BREAKPOINT: u8 = 0xCC;

/// The maximum number of times that the code is searched for more code: a bound for images that were made to defeat it.
const MAX_ROUNDS: u32 = 16;

/// The maximum number of times that the search begins anew, with the tables that were taken for code before.
const MAX_STARTS: u32 = 3;

/// Finds the code of an image.
pub(super) fn disassemble<'a>(layout: &'a Layout, lines: &[u32]) -> Descent<'a> {
    let mut tables = Vec::new();
    for _ in 0..MAX_STARTS {
        let (descent, found) = disassemble_around(&tables, layout, lines);
        // After a call that does not return, there can be a table in place of code.
        if found.iter().all(|table| !descent.has_code(table.clone())) {
            return descent;
        }
        tables.extend(found);
    }
    disassemble_around(&tables, layout, lines).0
}

/// Finds the code of an image that has tables in these places. Returns also where it has tables.
fn disassemble_around<'a>(tables: &[Range<u32>], layout: &'a Layout, lines: &[u32]) -> (Descent<'a>, Vec<Range<u32>>) {
    let mut descent = Descent::new(layout);
    tables.iter().cloned().for_each(|table| descent.mark_data(table));
    let functions = Functions::from_layout(layout).iter().map(|function| function.begin);
    let exports = layout.exports.iter().map(|(_, rva)| *rva);
    let certain = [layout.entry].into_iter().chain(exports).chain(functions).chain(tables::handler_blocks(layout));
    certain.chain(lines.iter().copied()).filter(|rva| is_executable(layout, *rva)).for_each(|rva| descent.follow(rva));
    let mut found = Found::default();
    // A case of a `switch` can contain another one, and a function can be used by one that was just found.
    for _ in 0..MAX_ROUNDS {
        let size = descent.size();
        let instructions: Vec<Instruction> = descent.instructions().collect();
        found = follow_values(layout, &instructions);
        // Before anything else is taken for code.
        let data = found.read.iter().chain(found.jumps.iter().map(|jump| &jump.table));
        data.cloned().for_each(|data| descent.mark_data(data));
        found.jumps.iter().flat_map(|jump| &jump.targets).for_each(|rva| descent.follow(*rva));
        for rva in taken_addresses(layout, &instructions).filter(|rva| is_executable(layout, *rva)) {
            descent.follow_if_plausible(rva);
        }
        if descent.size() == size {
            break;
        }
    }
    (descent, found.jumps.into_iter().map(|jump| jump.table).collect())
}

/// Returns the addresses that instructions compute and that data contains, in the image or elsewhere.
pub(super) fn taken_addresses(layout: &Layout, instructions: &[Instruction]) -> impl Iterator<Item = u32> {
    let computed = instructions.iter().filter(|instruction| instruction.mnemonic() == Mnemonic::Lea);
    let pointers = layout.relocations.iter().filter_map(|slot| {
        let bytes = layout.bytes.get(*slot as usize..)?.first_chunk()?;
        u32::try_from(u64::from_le_bytes(*bytes).checked_sub(layout.base)?).ok()
    });
    computed.filter_map(relative_operand).chain(pointers)
}

/// Puts breakpoints at addresses of an image that was mapped at `base`. The addresses are relative to the image and in
/// ascending order. No thread may run its code yet.
pub(super) fn put_breakpoints(base: u64, addresses: impl Iterator<Item = u32>) {
    let mut wanted = addresses.peekable();
    while let Some(first) = wanted.peek().copied() {
        let page = u64::from(first) / PAGE * PAGE;
        let Ok(mut bytes) = GuestPtr::<u8>::new(base + page).array(PAGE).read() else { return };
        while let Some(rva) = wanted.next_if(|rva| u64::from(*rva) - page < PAGE) {
            if let Some(byte) = bytes.get_mut((u64::from(rva) - page) as usize) {
                *byte = BREAKPOINT;
            }
        }
        poke(base + page, &bytes);
    }
}
