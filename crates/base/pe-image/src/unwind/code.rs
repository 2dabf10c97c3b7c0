//! Unwind codes: what each instruction of a prolog did.

use super::UnwindError;

/// What one instruction of a prolog did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Pushed this register.
    Push(u8),
    /// Allocated this many bytes on the stack.
    Allocate(u32),
    /// Set the frame register.
    SetFrame,
    /// Stored a register at this offset from the frame.
    Save { register: u8, offset: u32 },
    /// Stored a vector register at this offset from the frame.
    SaveVector { register: u8, offset: u32 },
    /// The processor pushed an interrupt frame, with or without an error code.
    MachineFrame { error_code: bool },
    /// Describes an epilog rather than the prolog.
    Epilog,
}

/// A code, with the prolog offset after which its effect applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    pub(super) offset: u8,
    pub(super) operation: Operation,
}

/// The codes of an array, last instruction of the prolog first.
pub(super) struct Codes<'a> {
    slots: &'a [[u8; 2]],
    index: usize,
    version: u8,
}

impl<'a> Codes<'a> {
    pub(super) const fn new(slots: &'a [[u8; 2]], version: u8) -> Self {
        Self { slots, index: 0, version }
    }

    fn slot(&self, ahead: usize) -> Option<u32> {
        let slot = self.slots.get(self.index.checked_add(ahead)?)?;
        Some(u16::from_le_bytes(*slot).into())
    }

    /// Returns two slots as one number.
    fn wide(&self) -> Option<u32> {
        Some(self.slot(1)? | self.slot(2)? << 16)
    }

    /// Decodes an operation at the current index and returns it with its number of slots. Returns `None` if it is unknown or
    /// truncated.
    fn decode(&self, operation: u8, info: u8) -> Option<(Operation, usize)> {
        let scaled = |scale: u32| self.slot(1).map(|slot| slot * scale);
        Some(match (operation, info) {
            (0, register) => (Operation::Push(register), 1),
            (1, 0) => (Operation::Allocate(scaled(8)?), 2),
            (1, 1) => (Operation::Allocate(self.wide()?), 3),
            (2, info) => (Operation::Allocate(u32::from(info) * 8 + 8), 1),
            (3, _) => (Operation::SetFrame, 1),
            (4, register) => (Operation::Save { register, offset: scaled(8)? }, 2),
            (5, register) => (Operation::Save { register, offset: self.wide()? }, 3),
            // Only in version 2, which the documentation does not describe. LLVM's reader has a name for this operation and
            // gives it one slot.
            (6, _) if self.version == 2 => (Operation::Epilog, 1),
            (8, register) => (Operation::SaveVector { register, offset: scaled(16)? }, 2),
            (9, register) => (Operation::SaveVector { register, offset: self.wide()? }, 3),
            (10, info @ (0 | 1)) => (Operation::MachineFrame { error_code: info == 1 }, 1),
            _ => return None,
        })
    }
}

impl Iterator for Codes<'_> {
    type Item = Result<Code, UnwindError>;

    fn next(&mut self) -> Option<Self::Item> {
        let [offset, kind] = *self.slots.get(self.index)?;
        let operation = kind & 15;
        let info = kind >> 4;
        let index = u8::try_from(self.index).unwrap_or(u8::MAX);
        let Some((decoded, slots)) = self.decode(operation, info) else {
            self.index = self.slots.len();
            return Some(Err(UnwindError::Code { operation, index }));
        };
        self.index += slots;
        Some(Ok(Code { offset, operation: decoded }))
    }
}
