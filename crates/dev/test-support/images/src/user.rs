//! A panic handler for programs. It imports only from kernel32.dll and needs no C runtime.

use core::panic::PanicInfo;

#[link(name = "kernel32.dll", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    fn RaiseException(code: u32, flags: u32, count: u32, arguments: *const usize);
}

/// Ends the process and reports the location of the panic.
pub fn raise(info: &PanicInfo<'_>) -> ! {
    const RUST_PANIC: u32 = 0x5250_4E43;
    const NONCONTINUABLE: u32 = 1;

    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    let arguments = [file.as_ptr().expose_provenance(), file.len(), line as usize];
    loop {
        // SAFETY: the array has three elements, as `count` says; the routine may end the process.
        unsafe { RaiseException(RUST_PANIC, NONCONTINUABLE, 3, arguments.as_ptr()) };
    }
}
