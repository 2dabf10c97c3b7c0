//! Counts the instructions that an image executes, one by one.
//!
//! An image is mapped into memory that this process shares with a stopped child process. This process sets the child's
//! registers for a call of one of the image's functions and single-steps it (with ptrace, which uses the processor's
//! trap flag). Every step is one instruction of the image. When the image calls the kernel, this process performs the
//! call for the child, so no kernel code is executed or counted.

mod map;
mod memory;
pub mod program;
mod trace;

use std::io;

use pe_image::Layout;

use map::{Gate, Mapped};
use memory::Shared;
use trace::{Child, Registers};

/// Size of the child's stack in bytes.
const STACK: usize = 0x1_0000;
/// Size of the memory for the arguments' data in bytes.
const ARENA: usize = 0x1_0000;
/// Maximum number of steps. A measured call takes far fewer; one that takes more is out of control.
const MAX_STEPS: u64 = 10_000_000;
/// Size of the stack space that callers reserve for the first four arguments, which are in registers.
const HOME: u64 = 0x20;

/// An image that can be called step by step.
pub struct Stepper {
    child: Child,
    image: Mapped,
    gate: Gate,
    imports: Vec<String>,
    exports: Vec<(String, u32)>,
    stack: Shared,
    arena: Shared,
    used: usize,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Instructions of the image, from the first one to the last `ret`.
    pub instructions: u64,
    /// Bytes of stack, including return addresses.
    pub stack: u64,
}

/// A call from the image to the kernel.
#[derive(Debug)]
pub struct KernelCall<'a> {
    /// The routine.
    pub routine: &'a str,
    registers: Registers,
    memory: View<'a>,
}

/// The memory of the image, its stack and the arguments.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    parts: [&'a Shared; 3],
}

impl View<'_> {
    /// Returns the bytes at an address, or `None` if not all of them belong to the child.
    #[must_use]
    pub fn bytes(&self, address: u64, length: usize) -> Option<Vec<u8>> {
        self.parts.iter().find_map(|part| part.read(address, length))
    }

    /// Reads a 64-bit number.
    #[must_use]
    pub fn u64(&self, address: u64) -> Option<u64> {
        let bytes = self.bytes(address, 8)?;
        bytes.try_into().ok().map(u64::from_le_bytes)
    }

    /// Writes bytes at an address. Returns `false` if they do not belong to the child.
    #[must_use]
    pub fn put(&self, address: u64, bytes: &[u8]) -> bool {
        self.parts.iter().any(|part| part.write(address, bytes))
    }
}

impl<'a> KernelCall<'a> {
    /// Returns an argument, counted from 0. Arguments after the fourth are on the stack.
    #[must_use]
    pub fn argument(&self, index: u64) -> u64 {
        match index {
            0 => self.registers.rcx,
            1 => self.registers.rdx,
            2 => self.registers.r8,
            3 => self.registers.r9,
            _ => self.memory.u64(self.registers.rsp + 8 + 8 * index).unwrap_or_default(),
        }
    }

    /// Returns the memory.
    #[must_use]
    pub const fn memory(&self) -> &View<'a> {
        &self.memory
    }
}

impl Stepper {
    /// Maps an image and creates the child.
    ///
    /// # Errors
    ///
    /// Returns what is wrong with the image, or the system's error.
    pub fn new(file: &[u8]) -> Result<Self, String> {
        let layout = Layout::parse(file).map_err(|error| error.to_string())?;
        let text = |error: io::Error| format!("the image cannot be stepped: {error}");
        let gate = Gate::new(layout.imports.len()).map_err(text)?;
        let image = Mapped::new(&layout, &gate).map_err(text)?;
        let stack = Shared::new(STACK).map_err(text)?;
        let arena = Shared::new(ARENA).map_err(text)?;
        Ok(Self {
            imports: layout.imports.iter().map(|import| import.name.to_string()).collect(),
            exports: layout.exports.clone(),
            child: Child::new().map_err(text)?,
            image,
            gate,
            stack,
            arena,
            used: 0,
        })
    }

    /// Returns the address of an exported function.
    #[must_use]
    pub fn export(&self, name: &str) -> Option<u64> {
        let (_, rva) = self.exports.iter().find(|(export, _)| export == name)?;
        Some(self.image.base() + u64::from(*rva))
    }

    /// Copies bytes to where the image can read and write them, and returns their address.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room left.
    pub fn keep(&mut self, bytes: &[u8]) -> Result<u64, String> {
        let address = self.arena.base() + self.used as u64;
        if !self.arena.write(address, bytes) {
            return Err(String::from("no room for more arguments"));
        }
        self.used += bytes.len().next_multiple_of(16);
        Ok(address)
    }

    /// Calls a function of the image and counts its instructions. `kernel` performs the image's calls to the kernel.
    ///
    /// # Errors
    ///
    /// Returns an error if the image jumps outside itself, faults, or does not end.
    pub fn call(
        &mut self,
        function: u64,
        arguments: &[u64],
        kernel: &mut dyn FnMut(&KernelCall<'_>) -> u64,
    ) -> Result<Count, String> {
        let entry = self.enter(function, arguments)?;
        let mut count = Count::default();
        let mut last = function;
        loop {
            let mut registers = self.child.step()?;
            // A repeated string instruction stops after each iteration at the same address.
            if registers.rip != last {
                count.instructions += 1;
            }
            last = registers.rip;
            count.stack = count.stack.max(entry.saturating_sub(registers.rsp));
            if let Some(index) = self.gate.index(registers.rip) {
                let memory = View { parts: [self.image.memory(), &self.stack, &self.arena] };
                let back = memory.u64(registers.rsp).ok_or("the stack pointer left the stack")?;
                let routine = self.imports.get(index).map_or("", String::as_str);
                registers.rax = kernel(&KernelCall { routine, registers, memory });
                registers.rsp += 8;
                registers.rip = back;
                last = back;
                self.child.set(&registers)?;
            }
            if registers.rip == self.gate.exit() {
                return Ok(count);
            }
            if !self.image.contains(registers.rip) {
                return Err(format!("the image jumped to {:#x}", registers.rip));
            }
            if count.instructions > MAX_STEPS {
                return Err(String::from("the call does not return"));
            }
        }
    }

    /// Prepares the child for a call. Returns the stack pointer at the function's entry.
    fn enter(&mut self, function: u64, arguments: &[u64]) -> Result<u64, String> {
        let room = HOME + 8 * arguments.len() as u64 + 0x100;
        let top = self.stack.base() + STACK as u64 - room.next_multiple_of(16);
        let rsp = top - 8;
        let mut frame = vec![self.gate.exit()];
        frame.extend([0; 4]);
        frame.extend(arguments.iter().skip(4));
        let bytes: Vec<u8> = frame.iter().flat_map(|value| value.to_le_bytes()).collect();
        if !self.stack.write(rsp, &bytes) {
            return Err(String::from("too many arguments"));
        }
        let argument = |index: usize| arguments.get(index).copied().unwrap_or_default();
        let mut registers = self.child.registers()?;
        registers.rip = function;
        registers.rsp = rsp;
        (registers.rcx, registers.rdx, registers.r8, registers.r9) =
            (argument(0), argument(1), argument(2), argument(3));
        self.child.set(&registers)?;
        Ok(rsp)
    }
}
