//! What the drivers share: the routines they import, and an entry point.
//!
//! Each driver has its mistake only while [`buggy`] says so: when its name, the last part of the registry path, does not
//! end with `_clean`. So the same image is run twice. The line of the mistake ends with `// BUG`.

#![no_std]

pub mod device;
pub mod sys;

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use sys::UnicodeString;

/// The linker wants this symbol from code that uses floating point.
#[unsafe(no_mangle)]
pub static _fltused: i32 = 0;

/// Unoptimised code of `core` names it for unwinding, which these drivers never do.
#[unsafe(no_mangle)]
pub extern "C" fn __CxxFrameHandler3() -> i32 {
    1
}

static BUGGY: AtomicBool = AtomicBool::new(true);

/// Whether the driver is to make its mistake.
#[must_use]
pub fn buggy() -> bool {
    BUGGY.load(Ordering::Relaxed)
}

static LAST: AtomicU8 = AtomicU8::new(0);

/// The last character of the driver's name, for drivers with several faces.
#[must_use]
pub fn variant() -> u8 {
    LAST.load(Ordering::Relaxed)
}

/// Reads the driver's name off its registry path.
///
/// # Safety
///
/// `path` is the string that the kernel passed.
pub unsafe fn read_name(path: &UnicodeString) {
    let suffix = "_clean".as_bytes();
    let units = usize::from(path.length / 2);
    if units != 0 {
        // SAFETY: the last unit of the string.
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

/// A terminated UTF-16 string of an ASCII literal.
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

/// Makes a driver out of what it does when loaded, with its driver object, and when unloaded.
#[macro_export]
macro_rules! driver {
    ($load:path, $unload:path) => {
        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::sys::bug_check(info)
        }

        /// # Safety
        ///
        /// For the kernel only.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn DriverEntry(
            driver: *mut $crate::sys::DriverObject,
            path: &$crate::sys::UnicodeString,
        ) -> u32 {
            // SAFETY: the kernel's string.
            unsafe { $crate::read_name(path) };
            // SAFETY: the kernel's driver object, which is ours to fill in.
            unsafe { (*driver).unload = Some(driver_unload) };
            $load(driver)
        }

        unsafe extern "system" fn driver_unload(_: *mut $crate::sys::DriverObject) {
            $unload();
        }
    };
}
