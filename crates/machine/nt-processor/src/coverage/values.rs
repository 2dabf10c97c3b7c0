//! What registers and stack slots hold at one place of the code, as far as it matters for jumps through tables.
//!
//! A value is known by a number, so that a check of one copy counts for all copies: code without optimisation stores the
//! index, checks a copy of it, and loads it again.

use std::collections::BTreeMap;

use iced_x86::{ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};

use super::descent::relative_operand;

/// The registers that a call changes.
const VOLATILE: [Register; 7] =
    [Register::RAX, Register::RCX, Register::RDX, Register::R8, Register::R9, Register::R10, Register::R11];

/// The maximum number of stack slots and of checked values that are remembered at one place.
const MAX_SLOTS: usize = 32;

/// The maximum number of instructions of a loop that are searched for what it changes.
const MAX_IN_LOOP: usize = 2000;

/// What is known of a value. Addresses are relative to the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A number below `limit`, if there is a limit. Values with the same id are the same.
    Number { id: u32, limit: Option<u32> },
    /// An address that the code computes.
    Address(u32),
    /// An entry of a table of offsets.
    Entry(Entries),
    /// An entry of a table after the address was added that the offsets are relative to.
    Target { entries: Entries, origin: u32 },
}

/// A table of 32-bit offsets that code reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entries {
    pub(super) table: u32,
    /// The number of entries, if the code checks the index.
    pub(super) count: Option<u32>,
    pub(super) is_signed: bool,
}

/// A place on the stack: the register that it is relative to, and the offset.
type Slot = (Register, u64);

/// What is known at one place.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    registers: BTreeMap<Register, Value>,
    slots: BTreeMap<Slot, Value>,
    /// The numbers that were checked, by their ids, and how many values each can have.
    limits: BTreeMap<u32, u32>,
    /// The number that the last comparison had on its left, and the constant on its right.
    compared: Option<(u32, u32)>,
}

/// Gives every unknown value an id of its own.
#[derive(Debug, Default)]
pub(super) struct Ids(u32);

impl Ids {
    /// Returns a number that nothing else is known of than its limit.
    pub(super) fn number(&mut self, limit: Option<u32>) -> Value {
        self.0 = self.0.wrapping_add(1);
        Value::Number { id: self.0, limit }
    }
}

impl State {
    /// Returns the value of a register, which is a new one if it is not known.
    pub(super) fn register(&mut self, register: Register, ids: &mut Ids) -> Value {
        *self.registers.entry(register.full_register()).or_insert_with(|| ids.number(None))
    }

    /// Returns the address in a register.
    pub(super) fn address(&self, register: Register) -> Option<u32> {
        match self.registers.get(&register.full_register()) {
            Some(Value::Address(rva)) => Some(*rva),
            _ => None,
        }
    }

    /// Returns how many different values a number can have: those from zero on.
    pub(super) fn limit(&self, value: Value) -> Option<u32> {
        let Value::Number { id, limit } = value else { return None };
        self.limits.get(&id).copied().into_iter().chain(limit).min()
    }

    /// Forgets what does not hold if the code was reached from elsewhere, too.
    pub(super) fn merge(&mut self, other: &Self) {
        self.registers.retain(|register, value| other.registers.get(register) == Some(value));
        self.slots.retain(|slot, value| other.slots.get(slot) == Some(value));
        self.limits.retain(|id, limit| other.limits.get(id).is_some_and(|known| known <= limit));
        self.compared = self.compared.filter(|compared| other.compared == Some(*compared));
    }

    /// Forgets everything but the addresses in registers that none of these instructions writes: what holds at the start of
    /// a loop.
    pub(super) fn enter_loop(&mut self, body: &[Instruction], factory: &mut InstructionInfoFactory) {
        let addresses =
            std::mem::take(self).registers.into_iter().filter(|(_, value)| matches!(value, Value::Address(_)));
        if body.len() <= MAX_IN_LOOP {
            self.registers.extend(addresses);
            for instruction in body {
                self.forget_written(instruction, factory);
            }
        }
    }

    /// Returns what is known where a conditional jump leads to. Where it falls through, `self` then holds.
    pub(super) fn branch(&mut self, jump: &Instruction) -> Self {
        let mut there = self.clone();
        let Some((id, constant)) = self.compared else { return there };
        let (holder, limit) = match jump.condition_code() {
            ConditionCode::a => (self, constant.checked_add(1)),
            ConditionCode::ae => (self, Some(constant)),
            ConditionCode::be => (&mut there, constant.checked_add(1)),
            ConditionCode::b => (&mut there, Some(constant)),
            _ => return there,
        };
        if let Some(limit) = limit.filter(|_| holder.limits.len() < MAX_SLOTS) {
            holder.limits.entry(id).and_modify(|known| *known = limit.min(*known)).or_insert(limit);
        }
        there
    }

    /// Executes an instruction that does not jump. `loaded` is what it loads, if it is an entry of a table.
    pub(super) fn step(
        &mut self,
        instruction: &Instruction,
        loaded: Option<Value>,
        ids: &mut Ids,
        factory: &mut InstructionInfoFactory,
    ) {
        if instruction.mnemonic() == Mnemonic::Cdqe {
            // A checked number is not negative.
            return;
        }
        let result = loaded.or_else(|| self.result(instruction, ids));
        if matches!(instruction.mnemonic(), Mnemonic::Cmp | Mnemonic::Sub) {
            self.compared = self.comparison(instruction, ids);
        } else if instruction.rflags_modified() != 0 {
            self.compared = None;
        }
        self.forget_written(instruction, factory);
        let Some(result) = result else { return };
        if instruction.op0_kind() == OpKind::Register {
            self.registers.insert(instruction.op0_register().full_register(), result);
        } else if let Some(slot) = slot(instruction).filter(|_| self.slots.len() < MAX_SLOTS) {
            self.slots.insert(slot, result);
        }
    }

    /// Returns what an instruction compares with what, for the conditional jump that follows.
    fn comparison(&mut self, instruction: &Instruction, ids: &mut Ids) -> Option<(u32, u32)> {
        let constant = u32::try_from(instruction.try_immediate(1).ok()?).ok()?;
        let value = self.operand(instruction, 0, ids)?;
        let Value::Number { id, .. } = value else { return None };
        // The value in memory has its id from now on.
        if let Some(slot) = slot(instruction).filter(|_| self.slots.len() < MAX_SLOTS) {
            self.slots.insert(slot, value);
        }
        Some((id, constant))
    }

    /// Returns the value of an operand: of a register, or of a stack slot.
    fn operand(&mut self, instruction: &Instruction, number: u32, ids: &mut Ids) -> Option<Value> {
        match instruction.try_op_kind(number).ok()? {
            OpKind::Register => Some(self.register(instruction.try_op_register(number).ok()?, ids)),
            OpKind::Memory => {
                let slot = slot(instruction)?;
                Some(self.slots.get(&slot).copied().unwrap_or_else(|| ids.number(None)))
            }
            _ => None,
        }
    }

    /// Returns what an instruction writes to its first operand, if it is known.
    fn result(&mut self, instruction: &Instruction, ids: &mut Ids) -> Option<Value> {
        match instruction.mnemonic() {
            Mnemonic::Lea => self.computed_address(instruction).map(Value::Address),
            Mnemonic::Mov | Mnemonic::Movsxd if instruction.op_count() == 2 => {
                // A part of a register is another value.
                let is_narrow = instruction.op0_kind() == OpKind::Register && instruction.op0_register().size() < 4;
                if is_narrow { None } else { self.operand(instruction, 1, ids) }
            }
            Mnemonic::Movzx => {
                let is_byte = instruction.op1_kind() == OpKind::Register && instruction.op1_register().size() == 1
                    || instruction.op1_kind() == OpKind::Memory && instruction.memory_size().size() == 1;
                let Value::Number { id, limit } = self.operand(instruction, 1, ids).unwrap_or_else(|| ids.number(None))
                else {
                    return None;
                };
                let most = if is_byte { 1 << 8 } else { 1 << 16 };
                Some(Value::Number { id, limit: Some(limit.unwrap_or(most).min(most)) })
            }
            Mnemonic::And => {
                let mask = u32::try_from(instruction.try_immediate(1).ok()?).ok()?;
                Some(ids.number(mask.checked_add(1)))
            }
            Mnemonic::Add if instruction.op1_kind() == OpKind::Register => {
                let operands = [instruction.op0_register(), instruction.op1_register()];
                let [first, second] = operands.map(|register| self.register(register, ids));
                match (first, second) {
                    (Value::Entry(entries), Value::Address(origin))
                    | (Value::Address(origin), Value::Entry(entries)) => Some(Value::Target { entries, origin }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns the address that an instruction computes.
    fn computed_address(&self, instruction: &Instruction) -> Option<u32> {
        relative_operand(instruction).or_else(|| {
            let base = self.address(instruction.memory_base())?;
            let is_plain = instruction.memory_index() == Register::None;
            is_plain.then(|| base.wrapping_add(instruction.memory_displacement32()))
        })
    }

    /// Forgets the values of what an instruction writes.
    fn forget_written(&mut self, instruction: &Instruction, factory: &mut InstructionInfoFactory) {
        let info = factory.info(instruction);
        let is_written = |access: OpAccess| {
            matches!(access, OpAccess::Write | OpAccess::ReadWrite | OpAccess::CondWrite | OpAccess::ReadCondWrite)
        };
        for used in info.used_registers().iter().filter(|used| is_written(used.access())) {
            let register = used.register().full_register();
            self.registers.remove(&register);
            // What a call and its return do to the stack pointer cancels out.
            if !instruction.is_call_near() && !instruction.is_call_near_indirect() {
                self.slots.retain(|(base, _), _| *base != register);
            }
        }
        if instruction.is_call_near() || instruction.is_call_near_indirect() {
            self.registers.retain(|register, _| !VOLATILE.contains(register));
            self.compared = None;
        }
        let writes_memory = instruction.op0_kind() == OpKind::Memory && is_written(info.op0_access());
        if let Some((base, offset)) = slot(instruction).filter(|_| writes_memory) {
            let size = instruction.memory_size().size().max(1) as u64;
            // A slot has at most eight bytes.
            let is_apart = |other: u64| {
                let distance = other.wrapping_sub(offset).cast_signed();
                distance <= -8 || distance >= size.cast_signed()
            };
            self.slots.retain(|(register, other), _| *register != base || is_apart(*other));
        }
    }
}

/// Returns the stack slot of an instruction's operand in memory.
fn slot(instruction: &Instruction) -> Option<Slot> {
    let base = instruction.memory_base();
    let is_slot = matches!(base, Register::RSP | Register::RBP) && instruction.memory_index() == Register::None;
    is_slot.then(|| (base, instruction.memory_displacement64()))
}
