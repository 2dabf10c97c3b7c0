//! Calls of the driver's functions by others: which functions, in which order, at which IRQL.
//!
//! Only a function whose address the image uses can be called from outside, and the entry point. Each of them has a
//! breakpoint on its first byte, which stays there. When a thread hits it, the signal handler looks at the return address:
//! a call by the driver itself is not a callback. Then the thread continues in a copy of the function's first instruction,
//! after which a jump leads to the second one. So no thread misses the breakpoint while another one passes it. The caller can
//! be a framework that is an image of its own, its imitation, or the kernel.
//!
//! What a driver can notice is what the module above this one says about breakpoints. A function that begins with a call or
//! a conditional jump is not observed.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Instruction, Register};
use pe_image::Layout;

use super::code::{BREAKPOINT, disassemble, put_breakpoints, taken_addresses};
use super::record::{Record, RecordedCall, RecordedPrint};
use crate::layer_state::LayerState;
use crate::memory::{GuestPtr, Protection, Region, poke, protect};

/// The number of bytes of a copy: the longest instruction has 15 bytes, and the jump 14.
const COPY: u64 = 32;
/// `jmp [rip]`, which the target follows.
const JUMP: [u8; 6] = [0xFF, 0x25, 0, 0, 0, 0];

/// The functions of a driver that others can call, the calls, and the order of the debug output: in memory that the process that creates it shares with the
/// processes that it forks later.
#[derive(Clone, Debug)]
pub struct Callbacks {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    functions: Vec<Entry>,
    /// The size of the image in memory.
    size: u64,
    record: Record,
    /// The addresses of the image and of the copies in this process; 0 before the image is loaded.
    base: AtomicU64,
    copies: AtomicU64,
}

/// The first instruction of a function.
#[derive(Clone, Copy, Debug)]
struct Entry {
    rva: u32,
    length: usize,
    /// The target, if the instruction is a jump.
    jump: Option<u32>,
    /// The offset in the instruction of an address relative to it.
    relative: Option<usize>,
}

static CALLBACKS: LayerState<Callbacks> = LayerState::new();

/// Makes these the callbacks of this process. Later calls have no effect.
pub fn attach(callbacks: &'static Callbacks) {
    CALLBACKS.attach(callbacks);
}

/// Handles a breakpoint at an address, with the stack pointer and the first argument of the thread with this number. Returns where the thread
/// continues if the breakpoint is on a function. The fault handler calls this, on any number of threads at the same time.
pub fn entered(address: u64, stack: u64, argument: u64, irql: u8, thread: u32) -> Option<u64> {
    CALLBACKS.find()?.entered(address, stack, argument, irql, thread)
}

/// Records that a thread has printed bytes of the debug output.
pub fn printed(start: u64, length: u64, thread: u32) {
    if let Some(callbacks) = CALLBACKS.find() {
        callbacks.inner.record.add_print(start, length, thread);
    }
}

/// Called by a thread that begins a DPC or a work item.
pub fn begin_job() {
    if let Some(callbacks) = CALLBACKS.find() {
        callbacks.inner.record.begin_job();
    }
}

/// Called when no thread can run, before one does.
pub fn begin_moment() {
    if let Some(callbacks) = CALLBACKS.find() {
        callbacks.inner.record.begin_moment();
    }
}

/// Returns the function whose first instruction is copied at an address.
pub fn copied_at(address: u64) -> Option<u64> {
    let inner = &*CALLBACKS.find()?.inner;
    let offset = address.checked_sub(inner.copies.load(Ordering::SeqCst)).filter(|offset| offset % COPY == 0)?;
    let entry = inner.functions.get(usize::try_from(offset / COPY).ok()?)?;
    Some(inner.base.load(Ordering::SeqCst) + u64::from(entry.rva))
}

impl Callbacks {
    /// Finds the functions of an image that others can call.
    ///
    /// # Errors
    ///
    /// Fails if there is not enough memory.
    pub fn new(layout: &Layout) -> io::Result<Self> {
        let descent = disassemble(layout, &[]);
        let instructions: Vec<Instruction> = descent.instructions().collect();
        let used = taken_addresses(layout, &instructions).chain([layout.entry]);
        let functions: BTreeSet<u32> = used.filter(|rva| descent.begins_function(*rva)).collect();
        let functions = functions.into_iter().filter_map(|rva| Entry::new(layout, rva)).collect();
        let record = Record::new()?;
        let base = AtomicU64::new(0);
        let copies = AtomicU64::new(0);
        let size = layout.bytes.len() as u64;
        Ok(Self { inner: Arc::new(Inner { functions, size, record, base, copies }) })
    }

    /// Returns the calls so far, in their order: at most the first 65,536.
    #[must_use]
    pub fn calls(&self) -> Vec<RecordedCall> {
        self.inner.record.calls()
    }

    /// Returns the pieces of the debug output so far, in their order: at most the first 65,536.
    #[must_use]
    pub fn prints(&self) -> Vec<RecordedPrint> {
        self.inner.record.prints()
    }

    /// Puts breakpoints on the functions, in an image that was mapped at `base`. No thread may run its code yet.
    pub fn install(&self, base: u64) -> io::Result<()> {
        let inner = &*self.inner;
        let copies = Region::near(base, inner.size, inner.functions.len() as u64 * COPY)?;
        for (entry, at) in inner.functions.iter().zip((copies.base..).step_by(COPY as usize)) {
            poke(at, &entry.copy(base, at).ok_or(io::ErrorKind::InvalidData)?);
        }
        protect(copies.base, copies.size, Protection::ReadExecute);
        inner.copies.store(copies.base, Ordering::SeqCst);
        inner.base.store(base, Ordering::SeqCst);
        put_breakpoints(base, inner.functions.iter().map(|entry| entry.rva));
        Ok(())
    }

    fn entered(&self, address: u64, stack: u64, argument: u64, irql: u8, thread: u32) -> Option<u64> {
        let inner = &*self.inner;
        let base = inner.base.load(Ordering::SeqCst);
        let rva = u32::try_from(address.checked_sub(base)?).ok()?;
        let index = inner.functions.binary_search_by_key(&rva, |entry| entry.rva).ok()?;
        let from = GuestPtr::<u64>::new(stack).read().unwrap_or_default();
        if from.checked_sub(base).is_none_or(|from| from >= inner.size) {
            inner.record.add_call(rva, irql, argument, thread);
        }
        Some(inner.copies.load(Ordering::SeqCst) + index as u64 * COPY)
    }
}

impl Entry {
    /// Returns what is known about the first instruction of a function, or `None` if it cannot be copied.
    fn new(layout: &Layout, rva: u32) -> Option<Self> {
        let bytes = layout.bytes.get(rva as usize..)?;
        if bytes.first() == Some(&BREAKPOINT) {
            return None;
        }
        let mut decoder = Decoder::try_with_ip(64, bytes, rva.into(), DecoderOptions::NONE).ok()?;
        let instruction = decoder.decode();
        let is_relative = instruction.memory_base() == Register::RIP;
        let relative = is_relative.then(|| decoder.get_constant_offsets(&instruction).displacement_offset());
        let jump = match instruction.flow_control() {
            FlowControl::Next | FlowControl::Return | FlowControl::IndirectBranch => None,
            FlowControl::UnconditionalBranch
                if matches!(instruction.code(), Code::Jmp_rel8_64 | Code::Jmp_rel32_64) =>
            {
                Some(u32::try_from(instruction.near_branch_target()).ok()?)
            }
            _ => return None,
        };
        Some(Self { rva, length: instruction.len(), jump, relative })
    }

    /// Returns the code of the copy at an address, for an image that was mapped at `base` and has no breakpoints yet.
    fn copy(&self, base: u64, at: u64) -> Option<Vec<u8>> {
        let function = base + u64::from(self.rva);
        let mut code = match self.jump {
            Some(_) => Vec::new(),
            None => GuestPtr::<u8>::new(function).array(self.length as u64).read().ok()?,
        };
        if let Some(place) = self.relative {
            let bytes: &mut [u8; 4] = code.get_mut(place..)?.first_chunk_mut()?;
            let moved = i64::from(i32::from_le_bytes(*bytes)) + function.wrapping_sub(at).cast_signed();
            *bytes = i32::try_from(moved).ok()?.to_le_bytes();
        }
        let next = self.jump.map_or(function + self.length as u64, |target| base + u64::from(target));
        code.extend(JUMP.into_iter().chain(next.to_le_bytes()));
        Some(code)
    }
}
