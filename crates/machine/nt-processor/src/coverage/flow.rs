//! Follows values through the code, to the jumps through tables and to the data that code reads.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use pe_image::Layout;
use pe_image::unwind::Functions;

use super::descent::{branch_target, relative_operand};
use super::tables::{Jump, MAX_ENTRIES, handler_blocks};
use super::values::{Entries, Ids, State, Value};

/// What instructions do with the addresses in the image that they compute.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The jumps through tables, in the order of their addresses.
    pub(super) jumps: Vec<Jump>,
    /// What code reads, in the order of the code that does.
    pub(super) read: Vec<Range<u32>>,
}

/// Follows the values through instructions that are in the order of their addresses. A state is what holds on every way to a
/// place that is known: where ways meet, what they have in common, and at the start of a loop, what the loop does not change.
pub(super) fn follow_values(layout: &Layout, instructions: &[Instruction]) -> Found {
    let loops = loops(instructions);
    let entries = entries(layout, instructions);
    let mut follower = Follower {
        layout,
        found: Found::default(),
        ids: Ids::default(),
        factory: InstructionInfoFactory::new(),
        arriving: HashMap::new(),
    };
    // What holds after the instruction before, and where that ends.
    let mut before = None;
    let mut end = 0;
    for (index, instruction) in instructions.iter().enumerate() {
        let rva = instruction.ip32();
        let arrived = follower.arriving.remove(&rva);
        // Callers and the kernel continue at an entry, with values of their own.
        let known = if entries.contains(&rva) { None } else { join(before.take().filter(|_| end == rva), arrived) };
        let mut state = known.unwrap_or_default();
        if let Some(end) = loops.get(&rva) {
            state.enter_loop(instructions.get(index..*end).unwrap_or_default(), &mut follower.factory);
        }
        before = follower.execute(instruction, state);
        end = rva + instruction.len() as u32;
    }
    follower.found
}

/// Returns what holds where two ways meet.
fn join(first: Option<State>, second: Option<State>) -> Option<State> {
    match (first, second) {
        (Some(mut first), Some(second)) => {
            first.merge(&second);
            Some(first)
        }
        (first, second) => first.or(second),
    }
}

struct Follower<'a> {
    layout: &'a Layout,
    found: Found,
    ids: Ids,
    factory: InstructionInfoFactory,
    /// What holds on the ways to the places that jumps lead to.
    arriving: HashMap<u32, State>,
}

impl Follower<'_> {
    /// Executes an instruction. Returns what holds after it, if it continues with the next one.
    fn execute(&mut self, instruction: &Instruction, mut state: State) -> Option<State> {
        self.found.read.extend(relative_read(instruction));
        let loaded = self.load(instruction, &mut state);
        match instruction.flow_control() {
            FlowControl::ConditionalBranch => {
                let there = state.branch(instruction);
                self.arrive(instruction, branch_target(instruction), &there);
                Some(state)
            }
            FlowControl::UnconditionalBranch => {
                self.arrive(instruction, branch_target(instruction), &state);
                None
            }
            FlowControl::IndirectBranch => {
                self.jump(instruction, state);
                None
            }
            FlowControl::Return => None,
            _ => {
                state.step(instruction, loaded, &mut self.ids, &mut self.factory);
                Some(state)
            }
        }
    }

    /// Adds ways to places after a jump. Those before it are starts of loops.
    fn arrive(&mut self, jump: &Instruction, targets: impl IntoIterator<Item = u32>, state: &State) {
        for target in targets.into_iter().filter(|target| *target > jump.ip32()) {
            let known = join(self.arriving.remove(&target), Some(state.clone()));
            self.arriving.extend(known.map(|state| (target, state)));
        }
    }

    /// Adds an indirect jump, if it is one through a table. The cases begin with what is known there.
    fn jump(&mut self, jump: &Instruction, mut state: State) {
        let is_register = jump.op0_kind() == OpKind::Register;
        let value = is_register.then(|| state.register(jump.op0_register(), &mut self.ids));
        let Some(Value::Target { entries, origin }) = value else { return };
        let found = Jump::new(self.layout, jump.ip32(), entries, origin);
        self.arrive(jump, found.targets.iter().copied(), &state);
        self.found.jumps.push(found);
    }

    /// Adds what an instruction reads at an address that code has computed. Returns what it loads, if it is an entry of a table.
    fn load(&mut self, instruction: &Instruction, state: &mut State) -> Option<Value> {
        let has_memory = instruction.op_kinds().any(|kind| kind == OpKind::Memory);
        if !has_memory || instruction.mnemonic() == Mnemonic::Lea {
            return None;
        }
        let scale = instruction.memory_index_scale();
        let base = instruction.memory_base();
        let index = instruction.memory_index();
        let (origin, index) = match (state.address(base), state.address(index)) {
            (Some(origin), _) => (origin, index),
            (None, Some(origin)) if scale == 1 => (origin, base),
            _ => return None,
        };
        let table = origin.wrapping_add(instruction.memory_displacement32());
        let size = instruction.memory_size().size().max(1) as u32;
        if index == Register::None {
            self.found.read.push(table..table.saturating_add(size));
            return None;
        }
        let value = state.register(index, &mut self.ids);
        let count = state.limit(value);
        let length = count.unwrap_or(1).clamp(1, MAX_ENTRIES).saturating_sub(1) * scale + size;
        self.found.read.push(table..table.saturating_add(length));
        match (instruction.mnemonic(), size, scale) {
            (Mnemonic::Movsxd | Mnemonic::Mov, 4, 4) if instruction.op0_kind() == OpKind::Register => {
                let is_signed = instruction.mnemonic() == Mnemonic::Movsxd;
                Some(Value::Entry(Entries { table, count, is_signed }))
            }
            // A table of bytes in front of the table of targets, for values that share targets.
            (Mnemonic::Movzx, 1, 1) => {
                let bytes = self.layout.bytes.get(table as usize..)?.get(..count? as usize)?;
                let limit = bytes.iter().max().map(|most| u32::from(*most) + 1);
                Some(self.ids.number(limit))
            }
            _ => None,
        }
    }
}

/// Returns the addresses that are reached with other values than those of the code around them.
fn entries(layout: &Layout, instructions: &[Instruction]) -> HashSet<u32> {
    let functions = Functions::from_layout(layout).iter().map(|function| function.begin);
    let called = instructions.iter().filter(|instruction| instruction.is_call_near()).filter_map(branch_target);
    functions.chain(called).chain(handler_blocks(layout)).collect()
}

/// Returns the addresses that later code jumps back to, with the index of the first instruction after the last such jump.
fn loops(instructions: &[Instruction]) -> BTreeMap<u32, usize> {
    let jumps = (1..).zip(instructions).filter(|(_, instruction)| !instruction.is_call_near());
    let back = jumps.filter_map(|(end, jump)| Some((branch_target(jump)?, end, jump.ip32())));
    back.filter(|(target, _, rva)| target <= rva).map(|(target, end, _)| (target, end)).collect()
}

/// Returns what an instruction reads at an address relative to it.
fn relative_read(instruction: &Instruction) -> Option<Range<u32>> {
    let rva = relative_operand(instruction).filter(|_| instruction.mnemonic() != Mnemonic::Lea)?;
    Some(rva..rva.saturating_add(instruction.memory_size().size().max(1) as u32))
}
