//! The routines of ntoskrnl.exe that the drivers import, and the structures they need.

use core::ffi::c_void;
use core::panic::PanicInfo;

/// `UNICODE_STRING`.
#[repr(C)]
pub struct UnicodeString {
    pub length: u16,
    pub maximum_length: u16,
    pub buffer: *const u16,
}

/// `DRIVER_OBJECT`, x64.
#[repr(C)]
pub struct DriverObject {
    before: [usize; 13],
    pub unload: Option<unsafe extern "system" fn(*mut Self)>,
    pub major: [Option<Dispatch>; 28],
}

/// `DRIVER_DISPATCH`.
pub type Dispatch = unsafe extern "system" fn(*mut c_void, *mut c_void) -> u32;

/// Memory that is large enough for any dispatcher object, timer, DPC or lock.
#[repr(C, align(16))]
pub struct Room(pub core::cell::UnsafeCell<[u8; 256]>);

// SAFETY: only kernel routines access the memory.
unsafe impl Sync for Room {}

impl Room {
    #[must_use]
    pub const fn new() -> Self {
        Self(core::cell::UnsafeCell::new([0; 256]))
    }

    #[must_use]
    pub const fn get(&self) -> *mut c_void {
        self.0.get().cast()
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

/// An enable callback (`PETWENABLECALLBACK`).
pub type Enable = unsafe extern "system" fn(*const u128, u32, u8, u64, u64, *const c_void, *mut c_void);

#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    pub fn KeBugCheckEx(code: u32, a: usize, b: usize, c: usize, d: usize) -> !;
    pub fn ExAllocatePool2(flags: u64, size: usize, tag: u32) -> *mut u8;
    pub fn ExFreePoolWithTag(address: *mut u8, tag: u32);
    pub fn KfRaiseIrql(irql: u8) -> u8;
    pub fn KeLowerIrql(irql: u8);
    pub fn KeInitializeSpinLock(lock: *mut c_void);
    pub fn KeAcquireSpinLockRaiseToDpc(lock: *mut c_void) -> u8;
    pub fn KeAcquireSpinLockAtDpcLevel(lock: *mut c_void);
    pub fn KeReleaseSpinLockFromDpcLevel(lock: *mut c_void);
    pub fn KeReleaseSpinLock(lock: *mut c_void, irql: u8);
    pub fn KeInitializeEvent(event: *mut c_void, kind: u32, state: u8);
    pub fn KeSetEvent(event: *mut c_void, increment: i32, wait: u8) -> i32;
    pub fn KeWaitForSingleObject(
        object: *mut c_void,
        reason: u32,
        mode: u32,
        alertable: u8,
        timeout: *const i64,
    ) -> u32;
    pub fn KeDelayExecutionThread(mode: u32, alertable: u8, interval: *const i64) -> u32;
    pub fn KeInitializeTimer(timer: *mut c_void);
    pub fn KeInitializeDpc(dpc: *mut c_void, routine: unsafe extern "system" fn(), context: *mut c_void);
    pub fn KeSetTimer(timer: *mut c_void, due: i64, dpc: *mut c_void) -> u8;
    pub fn KeCancelTimer(timer: *mut c_void) -> u8;
    pub fn PsCreateSystemThread(
        handle: *mut usize,
        access: u32,
        attributes: *mut c_void,
        process: usize,
        client: *mut c_void,
        start: unsafe extern "system" fn(*mut c_void),
        context: *mut c_void,
    ) -> u32;
    pub fn ObReferenceObjectByHandle(
        handle: usize,
        access: u32,
        kind: *mut c_void,
        mode: u32,
        object: *mut *mut c_void,
        information: *mut c_void,
    ) -> u32;
    pub fn ObfDereferenceObject(object: *mut c_void) -> isize;
    pub fn ZwClose(handle: usize) -> u32;
    pub fn ZwCreateEvent(handle: *mut usize, access: u32, attributes: *mut c_void, kind: u32, state: u8) -> u32;
    pub fn IoCreateDevice(
        driver: *mut DriverObject,
        extension: u32,
        name: *const UnicodeString,
        kind: u32,
        characteristics: u32,
        exclusive: u8,
        device: *mut *mut c_void,
    ) -> u32;
    pub fn IoDeleteDevice(device: *mut c_void);
    pub fn IofCompleteRequest(irp: *mut c_void, boost: i8);
    pub fn EtwRegister(provider: *const u128, callback: Option<Enable>, context: *mut c_void, handle: *mut u64) -> u32;
    pub fn EtwUnregister(handle: u64) -> u32;
    pub fn EtwSetInformation(handle: u64, class: u32, data: *const u8, length: u32) -> u32;
    pub fn EtwWrite(handle: u64, event: *const u128, activity: *const u128, count: u32, data: *const c_void) -> u32;
    pub fn KeFooBar() -> u32;
}

#[link(name = "ntoskrnl.exe", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "C" {
    pub fn memcpy(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    pub fn memmove(to: *mut c_void, from: *const c_void, length: usize) -> *mut c_void;
    pub fn memset(to: *mut c_void, value: i32, length: usize) -> *mut c_void;
    pub fn memcmp(a: *const c_void, b: *const c_void, length: usize) -> i32;
    pub fn __chkstk();
}

#[link(name = "WDFLDR.SYS", kind = "raw-dylib", modifiers = "+verbatim")]
unsafe extern "system" {
    pub fn WdfVersionBind(
        driver: *mut DriverObject,
        path: *const UnicodeString,
        info: *mut c_void,
        globals: *mut *mut c_void,
    ) -> u32;
    pub fn WdfVersionUnbind(path: *const UnicodeString, info: *mut c_void, globals: *mut c_void) -> u32;
}

/// "Test" as a pool tag.
pub const TAG: u32 = u32::from_le_bytes(*b"Test");
/// `STATUS_INSUFFICIENT_RESOURCES`.
pub const NO_RESOURCES: u32 = 0xC000_009A;
/// `POOL_FLAG_NON_PAGED`.
pub const NON_PAGED: u64 = 0x40;
/// `POOL_FLAG_NON_PAGED_EXECUTE`.
pub const EXECUTABLE: u64 = 0x80;
/// `POOL_FLAG_PAGED`.
pub const PAGED: u64 = 0x100;
/// The GUID of the test provider.
pub static PROVIDER: u128 = 0x1122_3344_5566_7788_99AA_BBCC_DDEE_FF01;
/// An event descriptor with level 4. All other fields are zero.
pub static EVENT: u128 = 4 << 32;

/// Stops the system with a bug check that contains the location of the panic.
pub fn bug_check(info: &PanicInfo<'_>) -> ! {
    let (file, line, column) = info.location().map_or(("", 0, 0), |at| (at.file(), at.line(), at.column()));
    let text = file.as_ptr().expose_provenance();
    let length = file.len();
    // SAFETY: the routine accepts any numbers at any IRQL, and does not return.
    unsafe { KeBugCheckEx(0x5250_4E43, text, length, line as usize, column as usize) }
}
