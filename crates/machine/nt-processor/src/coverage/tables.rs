//! Code that only tables lead to: the cases of a `switch`, and the blocks of `__except`.

use std::ops::Range;

use pe_image::Layout;
use pe_image::unwind::Functions;

use super::descent::is_executable;
use super::values::Entries;

/// The maximum number of entries of a table.
pub(super) const MAX_ENTRIES: u32 = 4096;
/// The maximum number of scopes in a function.
const MAX_SCOPES: u32 = 1024;

/// Returns the blocks of `__except` in the scope tables of functions. The same place has other data for other handlers,
/// so a table counts only if every scope is inside of its function.
pub(super) fn handler_blocks(layout: &Layout) -> Vec<u32> {
    let functions = Functions::from_layout(layout);
    let mut blocks = Vec::new();
    for function in functions.iter() {
        let Some(handler) = functions.handler(&function) else { continue };
        let Some(count) = word(layout, handler.data).filter(|count| (1..=MAX_SCOPES).contains(count)) else {
            continue;
        };
        let contains = |rva: u32| function.begin <= rva && rva <= function.end;
        let scopes = (0..count).map(|index| {
            let field = |number: u32| word(layout, handler.data.checked_add(4 + index * 16 + number * 4)?);
            let begin = field(0)?;
            let end = field(1)?;
            let target = field(3)?;
            (begin < end && contains(begin) && contains(end) && (target == 0 || contains(target))).then_some(target)
        });
        let targets: Option<Vec<u32>> = scopes.collect();
        blocks.extend(targets.into_iter().flatten().filter(|target| *target != 0));
    }
    blocks
}

/// A jump through a table:
///
/// ```text
/// cmp  index, last        ja   default                or another check of the index, or of a copy of it
/// lea  base, [table]                                  or [the image]
/// movsxd target, dword ptr [base + index * 4]         or mov, and the address of the table in the image
/// add  target, base       jmp  target
/// ```
#[derive(Debug)]
pub(super) struct Jump {
    /// What the code reads.
    pub(super) table: Range<u32>,
    /// Where it leads to; empty if the number of entries is not known, or if the entries are not those of such a table.
    pub(super) targets: Vec<u32>,
}

impl Jump {
    /// Reads the table of the jump at `rva`, whose offsets are relative to `origin`. If its end is not known, it ends at the first
    /// entry that does not lead into the same function.
    pub(super) fn new(layout: &Layout, rva: u32, entries: Entries, origin: u32) -> Self {
        let functions = Functions::from_layout(layout);
        let Entries { table, count, is_signed } = entries;
        let count = count.filter(|count| (1..=MAX_ENTRIES).contains(count));
        let target = |number: u32| {
            let offset = word(layout, table.checked_add(number * 4)?)?;
            // Neither an address in the image nor a distance inside of it has more than 31 bits.
            let target = (is_signed || offset.cast_signed() >= 0).then(|| origin.wrapping_add(offset))?;
            (is_executable(layout, target) && are_together(&functions, rva, target)).then_some(target)
        };
        let mut targets: Vec<u32> = (0..count.unwrap_or(MAX_ENTRIES)).map_while(target).collect();
        let length = targets.len().max(1) as u32 * 4;
        if count.is_none_or(|count| count as usize != targets.len()) {
            targets.clear();
        }
        Self { table: table..table.saturating_add(length), targets }
    }
}

/// Returns whether two addresses can belong to one function. Unwind information can divide a function into parts.
fn are_together(functions: &Functions<'_>, first: u32, second: u32) -> bool {
    let primary = |rva| functions.find(rva).map(|(function, _)| functions.primary(&function).begin);
    primary(first) == primary(second)
}

fn word(layout: &Layout, rva: u32) -> Option<u32> {
    layout.bytes.get(rva as usize..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}
