//! Code that the test drivers share: imported routines and the entry point.
//!
//! A driver makes its mistake only if [`buggy`] returns true: if its name, the last part of the registry path, does not
//! end with `_clean`. Tests run the same image under both names. The line of the mistake ends with `// BUG`.

#![no_std]

pub mod device;
pub mod sys;

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use sys::UnicodeString;

/// The linker requires this symbol if code uses floating point.
#[unsafe(no_mangle)]
pub static _fltused: i32 = 0;

/// Unoptimised code of `core` refers to it for unwinding. These drivers never unwind.
#[unsafe(no_mangle)]
pub extern "C" fn __CxxFrameHandler3() -> i32 {
    1
}

static BUGGY: AtomicBool = AtomicBool::new(true);

/// Returns whether the driver makes its mistake.
#[must_use]
pub fn buggy() -> bool {
    BUGGY.load(Ordering::Relaxed)
}

static LAST: AtomicU8 = AtomicU8::new(0);

/// Returns the last character of the driver's name. Some drivers choose their mistake by it.
#[must_use]
pub fn variant() -> u8 {
    LAST.load(Ordering::Relaxed)
}

/// Reads the end of the driver's name, which is the last part of its registry path.
///
/// # Safety
///
/// `path` must be the string that the kernel passed to `DriverEntry`.
pub unsafe fn read_name(path: &UnicodeString) {
    let suffix = "_clean".as_bytes();
    let units = usize::from(path.length / 2);
    if units != 0 {
        // SAFETY: the address of the last unit of the string.
        let last = unsafe { path.buffer.wrapping_add(units - 1).read() };
        LAST.store(last.to_le_bytes()[0], Ordering::Relaxed);
    }
    let clean = units >= suffix.len()
        && suffix.iter().enumerate().all(|(index, byte)| {
            let unit = path.buffer.wrapping_add(units - suffix.len() + index);
            // SAFETY: inside the string.
            let unit = unsafe { unit.read() };
            unit == u16::from(*byte)
        });
    BUGGY.store(!clean, Ordering::Relaxed);
}

/// Converts an ASCII literal to UTF-16. The rest of the array is zero.
#[must_use]
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time")]
pub const fn wide<const N: usize>(text: &str) -> [u16; N] {
    let mut units = [0; N];
    let mut index = 0;
    while index < text.len() {
        units[index] = text.as_bytes()[index] as u16;
        index += 1;
    }
    units
}

/// Defines `DriverEntry` and the unload routine: they call `$load` with the driver object, and `$unload`.
#[macro_export]
macro_rules! driver {
    ($load:path, $unload:path) => {
        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::sys::bug_check(info)
        }

        /// # Safety
        ///
        /// Only the kernel may call it, with its driver object and the registry path.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn DriverEntry(
            driver: *mut $crate::sys::DriverObject,
            path: &$crate::sys::UnicodeString,
        ) -> u32 {
            // SAFETY: the kernel passed the string.
            unsafe { $crate::read_name(path) };
            // SAFETY: the kernel passed the driver object, whose fields the driver may set.
            unsafe { (*driver).unload = Some(driver_unload) };
            $load(driver)
        }

        unsafe extern "system" fn driver_unload(_: *mut $crate::sys::DriverObject) {
            $unload();
        }
    };
}
