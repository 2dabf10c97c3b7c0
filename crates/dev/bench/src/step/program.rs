//! Counts the instructions of a program between two marks.

use std::fs;
use std::io::{self, BufRead as _, BufReader};
use std::mem::offset_of;
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::process::{Child as Process, ChildStdout, Command, Stdio};
use std::ptr;

use libc::c_void;

use serde_json::Value;

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

/// As [`mark`], on another thread of this process.
pub fn mark_thread(thread: i32) {
    // SAFETY: as above; the call fails if the number is not that of a thread.
    unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, MARK) };
}

/// The instructions between two marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Instructions at the addresses that count.
    pub instructions: u64,
    /// How often the program left these addresses: by a call or by a return.
    pub exits: u64,
}

/// Runs a program and counts the instructions of its first thread between the two marks that it raises, including those
/// of the marks themselves. Other threads run freely and are not counted. A system call counts as one instruction, and so does a
/// call of a function that the kernel maps into the program, such as the one that reads the clock, which repeats itself in single steps.
///
/// # Errors
///
/// Returns an error if the program cannot be started or traced, or if it ends before its second mark.
pub fn between_marks(command: &mut Command) -> Result<u64, String> {
    traced(command, |_| Ok(0..u64::MAX)).map(|counted| counted.instructions)
}

/// As [`between_marks`], but counts only the instructions in a part of the program's memory. Before its first mark, the program
/// prints a line of JSON with the addresses: `start` and `end`.
///
/// # Errors
///
/// As [`between_marks`], and if the program does not print the line.
pub fn inside_between_marks(command: &mut Command) -> Result<Counted, String> {
    traced(command.stdout(Stdio::piped()), |process| {
        let output: ChildStdout = process.stdout.take().ok_or("the program has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        let range = serde_json::from_str::<Value>(&line).ok().and_then(|range| {
            let get = |name| range.get(name).and_then(Value::as_u64);
            Some(get("start")?..get("end")?)
        });
        range.ok_or_else(|| format!("a worker printed `{}` instead of addresses", line.trim()))
    })
}

/// Runs a program under `ptrace`. `range` is called at its first mark and returns the addresses that count.
fn traced(
    command: &mut Command,
    range: impl FnOnce(&mut Process) -> Result<Range<u64>, String>,
) -> Result<Counted, String> {
    // SAFETY: the closure only makes one system call.
    unsafe { command.pre_exec(trace_me) };
    let mut process =
        limit(command, PATIENCE).spawn().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    let counted = count(&mut process, range);
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

fn count(
    process: &mut Process,
    range: impl FnOnce(&mut Process) -> Result<Range<u64>, String>,
) -> Result<Counted, String> {
    let id = i32::try_from(process.id()).map_err(|_| String::from("a process number of more than 31 bits"))?;
    let mut request = libc::PTRACE_CONT;
    let mut signal = 0;
    let mut counted = Counted::default();
    let mut last = 0;
    let mut range = Some(range);
    let mut inside = 0..0;
    let mut vdso = 0..0;
    // The first stop is at the start of the program.
    wait(id)?;
    loop {
        resume(id, request, signal)?;
        signal = 0;
        match wait(id)? {
            MARK if request == libc::PTRACE_SINGLESTEP => return Ok(counted),
            MARK => {
                request = libc::PTRACE_SINGLESTEP;
                if let Some(range) = range.take() {
                    inside = range(process)?;
                    vdso = mapped_by_kernel(id)?;
                }
                last = instruction_pointer(id)?;
            }
            libc::SIGTRAP => {
                let mut at = instruction_pointer(id)?;
                // A repeated string instruction stops after each iteration at the same address.
                if at != last && inside.contains(&last) {
                    counted.instructions += 1;
                    counted.exits += u64::from(!inside.contains(&at));
                }
                if vdso.contains(&at) {
                    at = leave(id)?;
                }
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

fn instruction_pointer(id: i32) -> Result<u64, String> {
    register(id, libc::RIP)
}

fn register(id: i32, number: libc::c_int) -> Result<u64, String> {
    peek(id, libc::PTRACE_PEEKUSER, 8 * u64::from(number.unsigned_abs()))
}

/// Reads a word of memory or of the registers.
fn peek(id: i32, request: libc::c_uint, place: u64) -> Result<u64, String> {
    let place = ptr::without_provenance_mut::<c_void>(usize::try_from(place).unwrap_or_default());
    // SAFETY: the request reads from our own child, which is stopped.
    let value = unsafe { libc::ptrace(request, id, place, ptr::null_mut::<c_void>()) };
    if value == -1 { Err(format!("ptrace: {}", io::Error::last_os_error())) } else { Ok(value.cast_unsigned()) }
}

/// Sets a debug register.
fn set_debug_register(id: i32, number: usize, value: u64) -> Result<(), String> {
    let place = offset_of!(libc::user, u_debugreg) + 8 * number;
    let value = ptr::without_provenance_mut::<c_void>(usize::try_from(value).unwrap_or_default());
    // SAFETY: the request writes to a register of our own child, which is stopped.
    let result =
        unsafe { libc::ptrace(libc::PTRACE_POKEUSER, id, ptr::without_provenance_mut::<c_void>(place), value) };
    if result == -1 { Err(format!("ptrace: {}", io::Error::last_os_error())) } else { Ok(()) }
}

/// Returns the addresses of the functions that the kernel maps into a program, the vDSO. Empty if there are none.
fn mapped_by_kernel(id: i32) -> Result<Range<u64>, String> {
    let maps = fs::read_to_string(format!("/proc/{id}/maps")).map_err(|error| format!("/proc/{id}/maps: {error}"))?;
    let range = maps.lines().find(|line| line.ends_with("[vdso]")).and_then(|line| {
        let (start, end) = line.split_once(' ')?.0.split_once('-')?;
        Some(u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
    });
    Ok(range.unwrap_or_default())
}

/// Runs a function of the vDSO to its end, and returns the address of its caller. The thread is at its first instruction.
///
/// The function that reads the clock begins again if the kernel updates the time meanwhile. In single steps it takes so long that it
/// does that again and again, depending on the load of the machine. A debug register stops only this thread; a breakpoint
/// instruction would stop all of them.
fn leave(id: i32) -> Result<u64, String> {
    /// Enables the breakpoint of the first debug register, on execution.
    const EXECUTION_OF_FIRST: u64 = 1;
    let caller = peek(id, libc::PTRACE_PEEKDATA, register(id, libc::RSP)?)?;
    set_debug_register(id, 0, caller)?;
    set_debug_register(id, 7, EXECUTION_OF_FIRST)?;
    let mut signal = 0;
    loop {
        resume(id, libc::PTRACE_CONT, signal)?;
        signal = match wait(id)? {
            libc::SIGTRAP if instruction_pointer(id)? == caller => break,
            other => other,
        };
    }
    set_debug_register(id, 7, 0)?;
    Ok(caller)
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
