//! The code of an image, and breakpoints in it.

use iced_x86::{Instruction, Mnemonic};
use pe_image::Layout;
use pe_image::unwind::Functions;

use super::descent::{Descent, relative_operand};
use super::tables;
use crate::memory::{GuestPtr, PAGE, poke};

/// The instruction that is put on the first byte of a block or a function.
pub(super) const BREAKPOINT: u8 = 0xCC;

/// The maximum number of times that the code is searched for more code: a bound for images that were made to defeat it.
const MOST_ROUNDS: u32 = 16;

/// Finds the code of an image.
pub(super) fn disassemble<'a>(layout: &'a Layout, lines: &[u32]) -> Descent<'a> {
    let mut descent = Descent::new(layout);
    let functions = Functions::from_layout(layout).iter().map(|function| function.begin);
    let exports = layout.exports.iter().map(|(_, rva)| *rva);
    let certain: Vec<u32> = [layout.entry].into_iter().chain(exports).chain(functions).collect();
    for rva in certain.into_iter().chain(tables::handler_blocks(layout)).chain(lines.iter().copied()) {
        if descent.is_executable(rva) {
            descent.follow(rva);
        }
    }
    // A case of a `switch` can contain another one, and a function can be used by one that was just found.
    for _ in 0..MOST_ROUNDS {
        let size = descent.size();
        let instructions: Vec<Instruction> = descent.instructions().collect();
        for rva in tables::switch_targets(layout, &instructions) {
            if descent.is_executable(rva) {
                descent.follow(rva);
            }
        }
        let read = instructions.iter().filter(|instruction| instruction.mnemonic() != Mnemonic::Lea);
        read.filter_map(relative_operand).for_each(|rva| descent.mark_data(rva));
        for rva in taken_addresses(layout, &instructions) {
            if descent.is_executable(rva) {
                descent.follow_if_plausible(rva);
            }
        }
        if descent.size() == size {
            break;
        }
    }
    descent
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
