//! A stopped process that can be single-stepped (ptrace(2)).

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use libc::{c_void, pid_t};

pub(super) use libc::user_regs_struct as Registers;

/// A child of this process. It is killed when this value is dropped.
#[derive(Debug)]
pub(super) struct Child {
    id: pid_t,
}

impl Child {
    /// Forks. The child requests to be traced and stops. Its own code does not continue after that.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: the child makes only system calls, which is allowed even if this process has threads.
        let id = unsafe { libc::fork() };
        match id {
            -1 => Err(io::Error::last_os_error()),
            0 => stand_still(),
            _ => {
                let child = Self { id };
                child.wait().map(|_| child).map_err(io::Error::other)
            }
        }
    }

    /// Waits until the child stops. Returns the signal.
    fn wait(&self) -> Result<i32, String> {
        let mut status = 0;
        // SAFETY: `status` is valid for writing, and the child is ours.
        let waited = unsafe { libc::waitpid(self.id, &raw mut status, 0) };
        if waited != self.id {
            return Err(io::Error::last_os_error().to_string());
        }
        if libc::WIFSTOPPED(status) {
            Ok(libc::WSTOPSIG(status))
        } else {
            Err(String::from("the traced process has ended; is ptrace permitted here?"))
        }
    }

    /// Executes one instruction. Returns the registers after it.
    pub(super) fn step(&self) -> Result<Registers, String> {
        self.request(libc::PTRACE_SINGLESTEP, ptr::null_mut())?;
        match self.wait()? {
            libc::SIGTRAP => self.registers(),
            signal => {
                let registers = self.registers()?;
                Err(format!("signal {signal} at {:#x}", registers.rip))
            }
        }
    }

    pub(super) fn registers(&self) -> Result<Registers, String> {
        let mut registers = MaybeUninit::<Registers>::uninit();
        self.request(libc::PTRACE_GETREGS, registers.as_mut_ptr().cast())?;
        // SAFETY: the request succeeded, so the whole structure was written.
        Ok(unsafe { registers.assume_init() })
    }

    pub(super) fn set(&self, registers: &Registers) -> Result<(), String> {
        self.request(libc::PTRACE_SETREGS, ptr::from_ref(registers).cast_mut().cast())
    }

    fn request(&self, request: libc::c_uint, data: *mut c_void) -> Result<(), String> {
        // SAFETY: at `data`, the requests used here access at most the structure that callers pass.
        let result = unsafe { libc::ptrace(request, self.id, ptr::null_mut::<c_void>(), data) };
        if result == -1 { Err(format!("ptrace: {}", io::Error::last_os_error())) } else { Ok(()) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: the child is ours and has not been reaped, so its id is still valid.
        unsafe { libc::kill(self.id, libc::SIGKILL) };
        let mut status = 0;
        // SAFETY: as above; `status` is valid for writing.
        unsafe { libc::waitpid(self.id, &raw mut status, 0) };
    }
}

/// Runs in the child.
fn stand_still() -> ! {
    // SAFETY: the request takes no arguments.
    unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, ptr::null_mut::<c_void>(), ptr::null_mut::<c_void>()) };
    // SAFETY: sends a signal to this process.
    unsafe { libc::raise(libc::SIGSTOP) };
    // SAFETY: ends this process at once.
    unsafe { libc::_exit(1) }
}

#[cfg(test)]
mod tests {
    use super::Child;

    #[test]
    fn a_child_can_be_stepped() {
        let Ok(child) = Child::new() else {
            eprintln!("skipped: processes may not be traced here");
            return;
        };
        let Ok(before) = child.registers() else {
            eprintln!("skipped: processes may not be traced here");
            return;
        };
        let after = child.step().unwrap();
        assert_ne!(before.rip, after.rip);
    }
}
