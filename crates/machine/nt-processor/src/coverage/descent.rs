//! Finds instructions by following the code from addresses that are known to be code.
//!
//! A byte of data that is taken for code would get a breakpoint, and the driver would read another value. So nothing is
//! decoded only because it lies between functions, and what contradicts the code found before is left out.

use std::collections::HashSet;
use std::ops::Range;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use pe_image::Layout;
use pe_image::unwind::Functions;

/// The first byte of an instruction, and the other bytes.
const START: u8 = 1;
const INSIDE: u8 = 2;
/// The first instruction of a block.
const LEADER: u8 = 4;
/// Data that code reads.
const DATA: u8 = 8;

/// `__fastfail`, which never returns.
const FAST_FAIL: u8 = 0x29;

/// The maximum size in bytes of a function without unwind information.
const MAX_PLAUSIBLE: usize = 0x1000;

/// The instructions of an image that were found so far. All addresses are relative to the image.
pub(super) struct Descent<'a> {
    layout: &'a Layout,
    /// What is known about each byte of the image.
    marks: Vec<u8>,
    /// The first addresses after functions: code never continues there by itself.
    ends: HashSet<u32>,
}

/// Code that contradicts what was found before.
#[derive(Debug)]
struct Contradiction;

impl<'a> Descent<'a> {
    pub(super) fn new(layout: &'a Layout) -> Self {
        let ends = Functions::from_layout(layout).iter().map(|function| function.end).collect();
        Self { layout, marks: vec![0; layout.bytes.len()], ends }
    }

    /// Follows the code at an address that is known to be code. Where it contradicts known code, it is not followed.
    pub(super) fn follow(&mut self, root: u32) {
        let _ = self.explore(root, true, &mut Vec::new());
    }

    /// Follows the code at an address that is probably code. Changes nothing if any part of it does not look like code.
    pub(super) fn follow_if_plausible(&mut self, root: u32) {
        if self.mark(root) != 0 {
            // An address inside of known code, such as an entry of a table of addresses.
            self.lead(root);
            return;
        }
        let before = root.checked_sub(1).and_then(|before| self.layout.bytes.get(before as usize));
        // Between functions there is padding, or the end of the function before.
        let is_separate = root.is_multiple_of(16) || matches!(before, Some(0xCC | 0x90 | 0xC3));
        let is_in_function = Functions::from_layout(self.layout).find(root).is_some();
        let mut changed = Vec::new();
        if is_in_function || !is_separate || self.explore(root, false, &mut changed).is_err() {
            for (rva, mark) in changed.into_iter().rev() {
                self.set(rva, mark);
            }
        }
    }

    /// Marks data, which no code that is found later contains, and which gets no breakpoint.
    pub(super) fn mark_data(&mut self, data: Range<u32>) {
        let end = data.end.min(u32::try_from(self.marks.len()).unwrap_or(u32::MAX));
        (data.start..end).for_each(|rva| self.set(rva, self.mark(rva) | DATA));
    }

    /// Returns whether any of these bytes were taken for code.
    pub(super) fn has_code(&self, range: Range<u32>) -> bool {
        let marks = self.marks.get(range.start as usize..range.end as usize).unwrap_or_default();
        marks.iter().any(|mark| mark & (START | INSIDE) != 0)
    }

    /// Makes a known instruction the first one of a block.
    fn lead(&mut self, rva: u32) {
        let mark = self.mark(rva);
        if mark & START != 0 {
            self.set(rva, mark | LEADER);
        }
    }

    /// Follows code until nothing new is found. If `is_certain` is not set, the first contradiction ends the search.
    fn explore(&mut self, root: u32, is_certain: bool, changed: &mut Vec<(u32, u8)>) -> Result<(), Contradiction> {
        let mut work = vec![root];
        while let Some(start) = work.pop() {
            let result = self.explore_from(start, is_certain, &mut work, changed);
            if !is_certain {
                result?;
            }
        }
        Ok(())
    }

    /// Follows code up to the next instruction that does not continue.
    fn explore_from(
        &mut self,
        start: u32,
        is_certain: bool,
        work: &mut Vec<u32>,
        changed: &mut Vec<(u32, u8)>,
    ) -> Result<(), Contradiction> {
        let mut rva = start;
        let mut leads = true;
        loop {
            let mark = self.mark(rva);
            if mark & START != 0 {
                if leads && mark & LEADER == 0 {
                    changed.push((rva, mark));
                    self.set(rva, mark | LEADER);
                }
                // A function does not run into another one.
                return if is_certain || rva == start { Ok(()) } else { Err(Contradiction) };
            }
            let instruction = self.decode(rva).filter(|_| mark == 0).ok_or(Contradiction)?;
            if !is_certain && (is_doubtful(&instruction) || changed.len() > MAX_PLAUSIBLE) {
                return Err(Contradiction);
            }
            let next = rva + instruction.len() as u32;
            if (rva + 1..next).any(|inside| self.mark(inside) != 0) {
                return Err(Contradiction);
            }
            changed.extend((rva..next).map(|rva| (rva, 0)));
            self.set(rva, if leads { START | LEADER } else { START });
            (rva + 1..next).for_each(|inside| self.set(inside, INSIDE));
            work.extend(branch_target(&instruction));
            leads = match instruction.flow_control() {
                FlowControl::Next | FlowControl::XbeginXabortXend => false,
                FlowControl::ConditionalBranch | FlowControl::Call | FlowControl::IndirectCall => true,
                FlowControl::Interrupt
                    if instruction.code() == Code::Int_imm8 && instruction.immediate8() != FAST_FAIL =>
                {
                    true
                }
                _ => return Ok(()),
            };
            if self.ends.contains(&next) {
                // The last call does not return, or another entry describes the code that follows.
                return Ok(());
            }
            rva = next;
        }
    }

    fn mark(&self, rva: u32) -> u8 {
        self.marks.get(rva as usize).copied().unwrap_or(DATA)
    }

    fn set(&mut self, rva: u32, mark: u8) {
        if let Some(place) = self.marks.get_mut(rva as usize) {
            *place = mark;
        }
    }

    /// Decodes the instruction at an address of a section with code.
    fn decode(&self, rva: u32) -> Option<Instruction> {
        let section = self.layout.sections.iter().find(|section| section.is_executable() && section.contains(rva))?;
        let end = usize::try_from(section.end()).ok()?.min(self.layout.bytes.len());
        let bytes = self.layout.bytes.get(rva as usize..end)?;
        let mut decoder = Decoder::try_with_ip(64, bytes, rva.into(), DecoderOptions::NONE).ok()?;
        Some(decoder.decode()).filter(|instruction| !instruction.is_invalid())
    }

    /// Returns the instructions in the order of their addresses.
    pub(super) fn instructions(&self) -> impl Iterator<Item = Instruction> {
        self.starts(START).filter_map(|rva| self.decode(rva))
    }

    /// Returns whether a function begins at an address: one of the exception directory, or one outside of all of these,
    /// which has no unwind information.
    pub(super) fn begins_function(&self, rva: u32) -> bool {
        let function = Functions::from_layout(self.layout).find(rva);
        let is_code = self.mark(rva) & (START | DATA) == START;
        is_code && function.is_none_or(|(function, _)| function.begin == rva)
    }

    /// Returns the addresses of the first instructions of blocks, except for breakpoints of the driver and for code that it
    /// reads.
    pub(super) fn blocks(&self) -> Vec<u32> {
        let blocks = self.starts(LEADER).filter(|rva| self.mark(*rva) & DATA == 0);
        blocks.filter(|rva| self.layout.bytes.get(*rva as usize) != Some(&0xCC)).collect()
    }

    fn starts(&self, wanted: u8) -> impl Iterator<Item = u32> {
        (0..).zip(&self.marks).filter(move |(_, mark)| **mark & wanted != 0).map(|(rva, _)| rva)
    }

    /// Returns the number of bytes that are known to be code.
    pub(super) fn size(&self) -> usize {
        self.starts(START | INSIDE).count()
    }
}

/// Returns whether an instruction is one that a function without unwind information does not have. Such a function calls
/// nothing. Zeros are data, although they are also an instruction.
fn is_doubtful(instruction: &Instruction) -> bool {
    let is_call = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
    is_call || instruction.code() == Code::Add_rm8_r8
}

/// Returns whether an address is in a section with code.
pub(super) fn is_executable(layout: &Layout, rva: u32) -> bool {
    layout.sections.iter().any(|section| section.is_executable() && section.contains(rva))
}

/// Returns the target of a direct jump or call.
pub(super) fn branch_target(instruction: &Instruction) -> Option<u32> {
    let is_direct = instruction.op_count() != 0 && instruction.op0_kind() == OpKind::NearBranch64;
    is_direct.then(|| u32::try_from(instruction.near_branch_target()).ok()).flatten()
}

/// Returns the address that an instruction's operand in memory has, if it is relative to the instruction.
pub(super) fn relative_operand(instruction: &Instruction) -> Option<u32> {
    let is_relative = instruction.memory_base() == Register::RIP;
    is_relative.then(|| u32::try_from(instruction.ip_rel_memory_address()).ok()).flatten()
}
