//! Counts the instructions of a program between two marks.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child as Process, Command};
use std::ptr;

use libc::c_void;

use crate::tools::limit;

/// Maximum time until a program's second mark, in seconds.
const PATIENCE: u32 = 300;

/// The signal with which a program marks the start and the end of counting.
pub const MARK: i32 = libc::SIGUSR1;

/// Raises the mark.
pub fn mark() {
    // SAFETY: this sends a signal to this thread. Call it only under a tracer: otherwise the signal ends the process.
    unsafe { libc::raise(MARK) };
}

/// Runs a program and counts the instructions of its first thread between the two marks that it raises, including those
/// of the marks themselves. Other threads run freely and are not counted. A system call counts as one instruction.
///
/// # Errors
///
/// Returns an error if the program cannot be started or traced, or if it ends before its second mark.
pub fn between_marks(command: &mut Command) -> Result<u64, String> {
    // SAFETY: the closure only makes one system call.
    unsafe { command.pre_exec(trace_me) };
    let mut process =
        limit(command, PATIENCE).spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let counted = count(&process);
    let _ = process.kill();
    let _ = process.wait();
    counted
}

fn trace_me() -> io::Result<()> {
    let nothing = ptr::null_mut::<c_void>();
    // SAFETY: the request takes no arguments.
    let result = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, nothing, nothing) };
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn count(process: &Process) -> Result<u64, String> {
    let id = i32::try_from(process.id()).map_err(|_| String::from("a process number of more than 31 bits"))?;
    let mut request = libc::PTRACE_CONT;
    let mut signal = 0;
    let (mut instructions, mut last) = (0, 0);
    // The first stop is at the start of the program.
    wait(id)?;
    loop {
        resume(id, request, signal)?;
        signal = 0;
        match wait(id)? {
            MARK if request == libc::PTRACE_SINGLESTEP => return Ok(instructions),
            MARK => request = libc::PTRACE_SINGLESTEP,
            libc::SIGTRAP => {
                let at = instruction_pointer(id)?;
                // A repeated string instruction stops after each iteration at the same address.
                instructions += u64::from(at != last);
                last = at;
            }
            // Any other signal is passed on to the program.
            other => signal = other,
        }
    }
}

fn resume(id: i32, request: libc::c_uint, signal: i32) -> Result<(), String> {
    let signal = ptr::without_provenance_mut::<c_void>(usize::try_from(signal).unwrap_or_default());
    // SAFETY: the request resumes our own child. The signal number is passed as an address.
    let result = unsafe { libc::ptrace(request, id, ptr::null_mut::<c_void>(), signal) };
    if result == -1 { Err(format!("ptrace: {}", io::Error::last_os_error())) } else { Ok(()) }
}

fn instruction_pointer(id: i32) -> Result<i64, String> {
    let place = ptr::without_provenance_mut::<c_void>(8 * libc::RIP as usize);
    // SAFETY: the request reads a register of our own child, which is stopped.
    let value = unsafe { libc::ptrace(libc::PTRACE_PEEKUSER, id, place, ptr::null_mut::<c_void>()) };
    if value == -1 { Err(format!("ptrace: {}", io::Error::last_os_error())) } else { Ok(value) }
}

/// Waits until the first thread stops. Returns the signal.
fn wait(id: i32) -> Result<i32, String> {
    let mut status = 0;
    // SAFETY: `status` is valid for writing, and the child is ours.
    let waited = unsafe { libc::waitpid(id, &raw mut status, 0) };
    if waited != id {
        return Err(io::Error::last_os_error().to_string());
    }
    if libc::WIFSTOPPED(status) {
        Ok(libc::WSTOPSIG(status))
    } else {
        Err(String::from("the program ended before its mark"))
    }
}
