//! Signal handlers: from a signal to [`super::fault`].

use std::arch::naked_asm;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use nt_processor::cpu::handler::{Home, Restored};

use super::fault::{self, Trap};
use super::interrupted::Context;
use super::system_calls;

/// The signals for faults of a driver, or of the host when it works for the driver.
const SIGNALS: [i32; 6] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Sent to a thread that does not return from the driver, so that it reports where it is.
pub const REPORT_STACK: i32 = libc::SIGUSR2;

/// Sent to a thread that has run for a while. It goes on, unless it jumps to itself and will never do anything else. A separate signal,
/// because a thread that has not handled `ASK` yet would not get it again.
pub fn peek() -> i32 {
    libc::SIGRTMIN() + 1
}

type Handler = unsafe extern "C" fn(i32, *mut libc::siginfo_t, *mut c_void);

/// Declares a signal handler that clears the alignment check flag and continues in a function. The system does not
/// clear this flag of the driver, and compiled code may use addresses that are not aligned.
macro_rules! handler {
    ($name:ident, $continue:ident) => {
        /// # Safety
        ///
        /// Only the system may call this, as a signal handler.
        #[unsafe(naked)]
        unsafe extern "C" fn $name(_: i32, _: *mut libc::siginfo_t, _: *mut c_void) {
            naked_asm!("pushfq", "and dword ptr [rsp], -0x40001", "popfq", "jmp {}", sym $continue)
        }
    };
}
handler!(on_fault, handle_fault);
handler!(on_report_stack, handle_report_stack);
handler!(on_peek, handle_peek);

/// Installs the handlers for this process.
pub fn install() -> io::Result<()> {
    for signal in SIGNALS {
        set_handler(signal, on_fault, 0)?;
    }
    set_handler(REPORT_STACK, on_report_stack, 0)?;
    set_handler(peek(), on_peek, libc::SA_RESTART)
}

fn set_handler(signal: i32, handler: Handler, flags: i32) -> io::Result<()> {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all bytes are zero, which is a valid value of each field: integers, an empty set, no restorer.
    let action = unsafe { action.assume_init_mut() };
    action.sa_sigaction = (handler as *const ()).expose_provenance();
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER | flags;
    // SAFETY: the structure is complete, and the handler has the signature that the flags require.
    let result = unsafe { libc::sigaction(signal, action, ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[expect(clippy::indexing_slicing, reason = "constants of the C library, below the array's length")]
extern "C" fn handle_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid structure to handlers with this signature; it lives for the duration of the
    // call.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let home = Home::from_stack(&context.uc_stack);
    // Before this, nothing may use thread-local data.
    let restored = home.map(Home::restore).unwrap_or_default();
    // SAFETY: as above.
    let info = unsafe { &*info };
    // SAFETY: all signals that are handled here have an address.
    let address = unsafe { info.si_addr() };
    let vectors = vectors(context);
    let registers = &mut context.uc_mcontext.gregs;
    let is_system_call = signal == libc::SIGSYS;
    if is_system_call {
        // The instruction pointer is after the instruction, which is two bytes long in either form.
        registers[libc::REG_RIP as usize] -= 2;
    }
    let trap = Trap {
        signal,
        number: if is_system_call { system_calls::NUMBER } else { registers[libc::REG_TRAPNO as usize] },
        error: registers[libc::REG_ERR as usize],
        address: address.addr() as u64,
    };
    let instruction = registers[libc::REG_RIP as usize].cast_unsigned();
    let depth = home.map_or(1, |home| home.enter(signal, instruction));
    let first = home.map(Home::first).unwrap_or_default();
    fault::handle(trap, &mut Context::new(registers, vectors), restored, fault::Nesting { depth, first });
    if let Some(home) = home {
        home.leave();
    }
}

extern "C" fn handle_peek(signal: i32, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid structure to handlers with this signature; it lives for the duration of the
    // call.
    let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
    #[expect(clippy::indexing_slicing, reason = "a constant of the C library, below the array's length")]
    let rip = registers[libc::REG_RIP as usize].cast_unsigned();
    if fault::jumps_to_itself(rip) {
        handle_report_stack(signal, info, context);
    }
}

extern "C" fn handle_report_stack(_: i32, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a valid structure to handlers with this signature; it lives for the duration of the
    // call.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let _: Restored = Home::from_stack(&context.uc_stack).map(Home::restore).unwrap_or_default();
    let vectors = vectors(context);
    fault::report_place(&Context::new(&mut context.uc_mcontext.gregs, vectors));
}

/// Returns the vector registers of an interrupted thread; zeros if the system did not save them.
fn vectors(context: &libc::ucontext_t) -> [u128; 16] {
    /// Where they are in what the instruction FXSAVE stores.
    const OFFSET: usize = 160;
    // The pointer to that follows the general registers. The crate libc has no public name for it with musl.
    let general: *const _ = &raw const context.uc_mcontext.gregs;
    let saved = general.wrapping_add(1).cast::<*const u8>();
    // SAFETY: the pointer is a member of `uc_mcontext`, which is longer than the general registers.
    let saved = unsafe { saved.read() };
    if saved.is_null() {
        return [0; 16];
    }
    let vectors = saved.wrapping_add(OFFSET).cast::<[[u8; 16]; 16]>();
    // SAFETY: the system saved all registers for this signal. They live as long as the context.
    let vectors = unsafe { vectors.read() };
    vectors.map(u128::from_le_bytes)
}
