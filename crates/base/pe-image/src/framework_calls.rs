//! Finds the framework functions that an image calls.
//!
//! A call goes through a table that the framework fills in. The code loads the address of the table, and then the address of
//! the function from the table. Before 1.15, the table is in the image itself, so the code loads the address of the function
//! directly. The code is searched for both patterns without disassembling it from the start. The result is therefore useful
//! for people, but it is not a proof.

use std::collections::BTreeSet;

use memchr::memmem;

use crate::bytes::u32_at;
use crate::layout::Layout;

const COMPONENT: &str = "KmdfLibrary\0";
/// The first minor version whose drivers hold a pointer to the table instead of the table itself.
const POINTER: u32 = 15;
/// Offsets in `WDF_BIND_INFO` of the minor version, the number of functions and the address of the table.
const MINOR: usize = 20;
const COUNT: usize = 28;
const TABLE: usize = 32;
/// Maximum distance in bytes between the load of the table and the load of the function.
const NEAR: usize = 96;

/// Returns the indices of the framework functions that an image calls. Empty if the image does not use the framework.
#[must_use]
pub fn framework_calls(layout: &Layout) -> BTreeSet<u32> {
    let Some((minor, count, table)) = bind_info(layout) else { return BTreeSet::new() };
    let mut calls = BTreeSet::new();
    for section in layout.sections.iter().filter(|section| section.is_executable()) {
        let start = section.rva as usize;
        let end = start.saturating_add(section.memory_size() as usize).min(layout.bytes.len());
        let code = layout.bytes.get(start..end).unwrap_or_default();
        for at in 0..code.len() {
            let Some((register, place)) = relative_load(code, at, start) else { continue };
            let index = match (place.checked_sub(table), register) {
                // Before 1.15 the image contained the table itself; since then it contains only a pointer to it.
                (Some(offset), _) if minor < POINTER && offset.is_multiple_of(8) => u32::try_from(offset / 8).ok(),
                (Some(0), Some(register)) => indexed_load(code, at + 7, register),
                _ => None,
            };
            calls.extend(index.filter(|index| *index < count));
        }
    }
    calls
}

/// Returns the minor version that the image was built for, the number of functions in that version, and the address of the table
/// or of the pointer to the table.
fn bind_info(layout: &Layout) -> Option<(u32, u32, u64)> {
    let name: Vec<u8> = COMPONENT.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let at = memmem::find_iter(&layout.bytes, &name).find(|offset| offset % 2 == 0)?;
    let pointer = layout.base.wrapping_add(at as u64).to_le_bytes();
    let place = layout.bytes.chunks_exact(8).position(|word| word == pointer)? * 8;
    let info = layout.bytes.get(place.checked_sub(8)?..)?;
    let table = u64::from_le_bytes(*info.get(TABLE..)?.first_chunk()?);
    Some((u32_at(info, MINOR)?, u32_at(info, COUNT)?, table.checked_sub(layout.base)?))
}

/// Decodes a RIP-relative 64-bit load or call. Returns the register, if it is a load, and the address relative to the image.
fn relative_load(code: &[u8], at: usize, start: usize) -> Option<(Option<u8>, u64)> {
    let (register, displacement, length) = match code.get(at..)? {
        // mov r64, [rip + displacement]
        [rex @ (0x48 | 0x4C), 0x8B, modrm, rest @ ..] if modrm & 0xC7 == 5 => {
            (Some((modrm >> 3 & 7) | (rex & 4) << 1), rest.first_chunk()?, 7)
        }
        // call [rip + displacement]
        [0xFF, 0x15, rest @ ..] => (None, rest.first_chunk()?, 6),
        _ => return None,
    };
    let end = (start + at + length) as u64;
    Some((register, end.wrapping_add_signed(i32::from_le_bytes(*displacement).into())))
}

/// Returns the index of the first function that is loaded or called through a register shortly after a position.
fn indexed_load(code: &[u8], from: usize, register: u8) -> Option<u32> {
    let near = code.get(from..code.len().min(from + NEAR))?;
    (0..near.len()).find_map(|at| {
        let (rex, modrm, rest) = match near.get(at..)? {
            [rex @ 0x48..=0x4F, 0x8B, modrm, rest @ ..] => (*rex, *modrm, rest),
            [rex @ (0x40..=0x4F), 0xFF, modrm, rest @ ..] if modrm >> 3 & 7 == 2 => (*rex, *modrm, rest),
            [0xFF, modrm, rest @ ..] if modrm >> 3 & 7 == 2 => (0, *modrm, rest),
            _ => return None,
        };
        let base = (modrm & 7) | (rex & 1) << 3;
        let displacement = match modrm >> 6 {
            1 => u32::from(*rest.first()?),
            2 => u32::from_le_bytes(*rest.first_chunk()?),
            _ => return None,
        };
        // A base of rsp or r12 is encoded differently; tables are smaller than 64 KiB.
        (base == register && modrm & 7 != 4 && displacement.is_multiple_of(8) && displacement < 0x1_0000)
            .then_some(displacement / 8)
    })
}

#[cfg(test)]
mod tests {
    use super::{indexed_load, relative_load};

    #[test]
    fn the_table_and_the_function_are_found_in_the_code_of_a_call() {
        // mov rax, [rip + 0x10]; mov rcx, [rsp + 8]; mov rax, [rax + 0x3A0]
        let code = [0x48, 0x8B, 0x05, 0x10, 0, 0, 0, 0x48, 0x8B, 0x4C, 0x24, 0x08, 0x48, 0x8B, 0x80, 0xA0, 0x03, 0, 0];
        assert_eq!(relative_load(&code, 0, 0x1000), Some((Some(0), 0x1017)));
        assert_eq!(indexed_load(&code, 7, 0), Some(116));
        assert_eq!(indexed_load(&code, 7, 3), None);
        assert_eq!(relative_load(&[0xFF, 0x15, 0xFA, 0xFF, 0xFF, 0xFF], 0, 0x1000), Some((None, 0x1000)));
    }
}
