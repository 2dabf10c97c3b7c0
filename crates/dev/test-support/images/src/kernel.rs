//! Entry points and a panic handler for drivers. All imports are from ntoskrnl.exe.

use core::ffi::c_void;
use core::panic::PanicInfo;
use core::slice;

pub use wdk_etw::UnicodeString;

#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    fn KeBugCheckEx(code: u32, a: usize, b: usize, c: usize, d: usize) -> !;
}

// The sources never call these, but the compiler emits calls to them. They are public so that they count as used. The
// kernel exports all of them.
#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "C" {
    pub fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    pub fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    pub fn memset(to: *mut c_void, value: i32, length: usize) -> *mut c_void;
    pub fn memcmp(a: *const c_void, b: *const c_void, length: usize) -> i32;
    pub fn __chkstk();
}

/// "RPNC", the bug check code that Microsoft's `wdk-panic` uses.
const RUST_PANIC: u32 = 0x5250_4E43;

/// Stops the machine and reports the location of the panic.
pub fn bug_check(info: &PanicInfo<'_>) -> ! {
    let (file, line) = info.location().map_or(("", 0), |at| (at.file(), at.line()));
    let (text, length) = (file.as_ptr().expose_provenance(), file.len());
    // SAFETY: the routine accepts any numbers at any IRQL and does not return.
    unsafe { KeBugCheckEx(RUST_PANIC, text, length, line as usize, 0) }
}

/// The routine that the kernel calls when the driver is unloaded.
pub type Unload = unsafe extern "system" fn(*mut DriverObject);

/// A driver object, up to the last field that these drivers use (x64).
#[repr(C)]
pub struct DriverObject {
    before: [usize; 13],
    /// `DriverUnload`.
    pub unload: Option<Unload>,
}

const _: () = assert!(core::mem::offset_of!(DriverObject, unload) == 0x68);

/// The input of a driver. The compiler cannot know any of it, so it cannot remove a path that depends on it.
#[derive(Clone, Copy)]
pub struct Input<'a> {
    /// The registry path, as the kernel passes it.
    pub path: &'a UnicodeString,
    /// The UTF-16 code units of the path.
    pub units: &'a [u16],
    /// The same code units as bytes.
    pub bytes: &'a [u8],
    /// A number: the maximum length of the path.
    pub seed: usize,
}

impl<'a> Input<'a> {
    /// # Safety
    ///
    /// `path` must have as many bytes as its length says, and they must be valid for `'a`.
    #[must_use]
    pub unsafe fn new(path: &'a UnicodeString) -> Self {
        let length = usize::from(path.length);
        // SAFETY: the caller guarantees that the string is valid; a code unit has two bytes.
        let units = unsafe { slice::from_raw_parts(path.buffer, length / 2) };
        // SAFETY: the same memory, in bytes.
        let bytes = unsafe { slice::from_raw_parts(path.buffer.cast(), length) };
        Self { path, units, bytes, seed: usize::from(path.maximum_length) }
    }
}

/// Makes a driver from two functions. The first runs when the driver is loaded; it takes an [`Input`] and returns a
/// status. The second runs when the driver is unloaded.
#[macro_export]
macro_rules! driver {
    ($load:path, $unload:path) => {
        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::kernel::bug_check(info)
        }

        /// # Safety
        ///
        /// Only the kernel may call it, with its driver object and a registry path.
        #[unsafe(no_mangle)]
        pub unsafe extern "system" fn DriverEntry(
            driver: *mut $crate::kernel::DriverObject,
            path: &$crate::kernel::UnicodeString,
        ) -> u32 {
            // SAFETY: the caller passes a driver object, which this routine may fill in.
            unsafe { (*driver).unload = Some(driver_unload) };
            // SAFETY: the caller passes a string that is valid during this call.
            $load(unsafe { $crate::kernel::Input::new(path) })
        }

        unsafe extern "system" fn driver_unload(_driver: *mut $crate::kernel::DriverObject) {
            $unload();
        }
    };
}
