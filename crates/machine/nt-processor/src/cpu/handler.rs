//! The stack on which a thread handles signals, and what the thread needs there whatever the driver did.
//!
//! A driver can load segment registers, and a routine that it calls with a wrong address can overwrite data of the
//! thread. The thread-local data of the host is at the FS base, so a signal handler that trusts the FS base would fault
//! again and again. [`Home`] lies next to the handler's stack, which the system knows, and has the values to restore.

use std::arch::asm;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::{io, ptr};

use crate::memory::{PAGE, Protection, Region, protect};

/// The size of the stack for signal handlers. Findings are formatted on it.
const STACK: u64 = 64 * 1024;
/// The size that the system knows. It also identifies our stacks: those of the standard library have another size.
const USABLE: u64 = STACK - size_of::<Home>() as u64;

/// Codes of the system call `arch_prctl`.
pub(super) const ARCH_SET_GS: i32 = 0x1001;
pub(super) const ARCH_SET_FS: i32 = 0x1002;
const ARCH_GET_FS: i32 = 0x1003;
const ARCH_GET_GS: i32 = 0x1004;
/// `AT_HWCAP2`, and its bit that says that programs may use the instructions for the FS and GS bases.
const HWCAP2: u64 = 26;
const HWCAP2_FSGSBASE: u64 = 2;

/// A stack for signal handlers. Below it is an inaccessible page, above it is [`Home`].
#[derive(Clone, Copy, Debug)]
pub struct HandlerStack {
    region: Region,
}

/// What a thread has to know in a signal handler, at the top of its handler stack. Only its own thread uses it.
#[repr(C, align(64))]
pub struct Home {
    fs: AtomicU64,
    gs: AtomicU64,
    /// 1 if the processor's instructions for the FS and GS bases can be used.
    direct: AtomicU32,
    /// The number of signal handlers that are running on this thread.
    depth: AtomicU32,
    /// The first fault that is being handled: the signal and the instruction.
    signal: AtomicU32,
    unused: AtomicU32,
    instruction: AtomicU64,
}

/// Which segment registers had to be restored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The FS base, or the thread's data at it.
    pub fs: bool,
    /// The GS base.
    pub gs: bool,
}

impl Restored {
    /// Returns the register to name in a finding.
    pub const fn register(self) -> Option<&'static str> {
        match self {
            Self { fs: true, .. } => Some("FS"),
            Self { gs: true, .. } => Some("GS"),
            Self { fs: false, gs: false } => None,
        }
    }

    /// Returns the registers that are in either of both.
    pub const fn or(self, other: Self) -> Self {
        Self { fs: self.fs | other.fs, gs: self.gs | other.gs }
    }
}

impl HandlerStack {
    /// Reserves the stack, with an inaccessible page below it.
    pub fn new() -> io::Result<Self> {
        let region = Region::new(PAGE + STACK, Protection::ReadWrite, false)?;
        if !protect(region.base, PAGE, Protection::None) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(Self { region })
    }

    /// Gives the calling thread this stack for its signal handlers, because its own stack may be the one that
    /// overflowed. `gs` is the thread's GS base.
    pub fn install(self, gs: u64) -> io::Result<()> {
        let home = self.home();
        // SAFETY: the call only reads a value.
        let direct = unsafe { libc::getauxval(HWCAP2) } & HWCAP2_FSGSBASE != 0;
        home.direct.store(direct.into(), Ordering::Relaxed);
        home.depth.store(0, Ordering::Relaxed);
        home.fs.store(home.base(ARCH_GET_FS), Ordering::Relaxed);
        home.gs.store(gs, Ordering::Relaxed);
        self.set(0)
    }

    /// Takes the stack from the calling thread, so that another thread can use it.
    pub fn remove(self) {
        let _ = self.set(libc::SS_DISABLE);
    }

    fn set(self, flags: i32) -> io::Result<()> {
        let stack = libc::stack_t {
            ss_sp: ptr::with_exposed_provenance_mut((self.region.base + PAGE) as usize),
            ss_flags: flags,
            ss_size: USABLE as usize,
        };
        // SAFETY: the pages are never unmapped, and no other thread uses them.
        let result = unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn home(self) -> &'static Home {
        let place: *const Home = ptr::with_exposed_provenance((self.region.base + PAGE + USABLE) as usize);
        // SAFETY: the region is zeroed memory that is never unmapped, and the place in it is aligned and large enough.
        unsafe { &*place }
    }
}

impl Home {
    /// Returns the home of the thread that a signal interrupted, from the handler stack in the signal's context. Returns
    /// `None` for a thread that does not run driver code.
    pub fn from_stack(stack: &libc::stack_t) -> Option<&'static Self> {
        let at = stack.ss_sp.addr().checked_add(stack.ss_size)?;
        (stack.ss_size as u64 == USABLE).then(|| {
            let place: *const Self = ptr::with_exposed_provenance(at);
            // SAFETY: only `HandlerStack` sets stacks of this size, and a home follows each of them.
            unsafe { &*place }
        })
    }

    /// Restores the segment registers. Until then, thread-local data must not be used. Returns what was changed.
    pub fn restore(&self) -> Restored {
        let fs = self.fs.load(Ordering::Relaxed);
        let gs = self.gs.load(Ordering::Relaxed);
        let mut restored = Restored { fs: self.base(ARCH_GET_FS) != fs, gs: self.base(ARCH_GET_GS) != gs };
        if restored.fs {
            set_base(ARCH_SET_FS, fs);
        }
        if restored.gs {
            set_base(ARCH_SET_GS, gs);
        }
        // The first and the third word at the FS base are its own address; compiled code reads the first one.
        for word in [fs, fs + 16].map(|at| ptr::with_exposed_provenance_mut::<u64>(at as usize)) {
            // SAFETY: this is the thread control block of the calling thread, which exists as long as the thread.
            if unsafe { word.read_volatile() } != fs {
                // SAFETY: as above; this is the value that the C library stored there.
                unsafe { word.write_volatile(fs) };
                restored.fs = true;
            }
        }
        restored
    }

    /// Returns the FS or GS base of the calling thread.
    fn base(&self, code: i32) -> u64 {
        let mut base = 0_u64;
        if self.direct.load(Ordering::Relaxed) == 0 {
            // SAFETY: there is room for the base.
            unsafe { libc::syscall(libc::SYS_arch_prctl, code, &raw mut base) };
        } else if code == ARCH_GET_FS {
            // SAFETY: the system allows the instruction, which only reads a register.
            unsafe { asm!("rdfsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
        } else {
            // SAFETY: as above.
            unsafe { asm!("rdgsbase {}", out(reg) base, options(nomem, nostack, preserves_flags)) };
        }
        base
    }

    /// Called when a handler begins. Returns how many are now running on this thread.
    pub fn enter(&self, signal: i32, instruction: u64) -> u32 {
        let depth = self.depth.fetch_add(1, Ordering::Relaxed) + 1;
        if depth == 1 {
            self.signal.store(signal.cast_unsigned(), Ordering::Relaxed);
            self.instruction.store(instruction, Ordering::Relaxed);
        }
        depth
    }

    /// Called when a handler ends.
    pub fn leave(&self) {
        self.depth.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns the first fault that is being handled: the signal and the instruction.
    pub fn first(&self) -> (u32, u64) {
        (self.signal.load(Ordering::Relaxed), self.instruction.load(Ordering::Relaxed))
    }
}

/// Sets the FS or GS base of the calling thread.
pub(super) fn set_base(code: i32, base: u64) -> bool {
    // SAFETY: the FS base is the one that the C library set for this thread. Nothing in a Linux process uses GS on
    // x86-64, and the block there lives as long as the process.
    unsafe { libc::syscall(libc::SYS_arch_prctl, code, base) == 0 }
}
