//! Deletes a framework object twice. The driver binds to the framework itself, so that it needs no WDK headers.

#![no_std]
#![no_main]

use core::ffi::c_void;
use core::ptr;

use drivers::sys::{DriverObject, UnicodeString, WdfVersionBind, WdfVersionUnbind};
use drivers::{buggy, wide};

drivers::driver!(load, unload);

/// `WDF_BIND_INFO`.
#[repr(C)]
struct BindInfo {
    size: u32,
    component: *const u16,
    version: [u32; 3],
    functions: u32,
    table: *mut *const [usize; FUNCTIONS],
    module: *mut c_void,
}

/// `WDF_DRIVER_CONFIG`.
#[repr(C)]
struct Config {
    size: u32,
    device_add: usize,
    unload: usize,
    flags: u32,
    tag: u32,
}

const FUNCTIONS: usize = 458;
const DRIVER_CREATE: usize = 116;
const OBJECT_CREATE: usize = 207;
const OBJECT_DELETE: usize = 208;

static LIBRARY: [u16; 12] = wide("KmdfLibrary");

type DriverCreate =
    unsafe extern "system" fn(*mut c_void, *mut DriverObject, *const UnicodeString, usize, *mut Config, usize) -> u32;
type ObjectCreate = unsafe extern "system" fn(*mut c_void, usize, *mut usize) -> u32;
type ObjectDelete = unsafe extern "system" fn(*mut c_void, usize);

fn load(driver: *mut DriverObject) -> u32 {
    let path = UnicodeString { length: 0, maximum_length: 0, buffer: LIBRARY.as_ptr() };
    let mut table: *const [usize; FUNCTIONS] = ptr::null();
    let mut globals = ptr::null_mut();
    let mut info = BindInfo {
        size: 0x30,
        component: LIBRARY.as_ptr(),
        version: [1, 33, 0],
        functions: 458,
        table: &raw mut table,
        module: ptr::null_mut(),
    };
    let info = (&raw mut info).cast::<c_void>();
    // SAFETY: all pointers are valid.
    let status = unsafe { WdfVersionBind(driver, &raw const path, info, &raw mut globals) };
    if status != 0 {
        return status;
    }
    // SAFETY: the framework stored its table there.
    let table = unsafe { &*table };
    // SAFETY: the function at this index has this type.
    let driver_create: DriverCreate = unsafe { core::mem::transmute(table[DRIVER_CREATE]) };
    // SAFETY: as for `DriverCreate`.
    let create: ObjectCreate = unsafe { core::mem::transmute(table[OBJECT_CREATE]) };
    // SAFETY: as for `DriverCreate`.
    let delete: ObjectDelete = unsafe { core::mem::transmute(table[OBJECT_DELETE]) };
    let mut config = Config { size: 32, device_add: 0, unload: 0, flags: 1, tag: 0 };
    // SAFETY: all pointers are valid.
    let status = unsafe { driver_create(globals, driver, &raw const path, 0, &raw mut config, 0) };
    if status != 0 {
        // SAFETY: bound above.
        unsafe { WdfVersionUnbind(&raw const path, info, globals) };
        return status;
    }
    let mut object = 0;
    // SAFETY: `object` is writable.
    let status = unsafe { create(globals, 0, &raw mut object) };
    if status == 0 {
        // SAFETY: created above.
        unsafe { delete(globals, object) };
    }
    if buggy() {
        // SAFETY: the mistake: the object was deleted above.
        unsafe { delete(globals, object) }; // BUG
    }
    // SAFETY: the kernel passed the driver object, and the framework stored its unload routine in it.
    if let Some(framework) = unsafe { (*driver).unload } {
        // SAFETY: a driver that is linked with the KMDF stub calls it in the same way at unload.
        unsafe { framework(driver) };
    }
    // SAFETY: the kernel passed the driver object, whose fields the driver may set.
    unsafe { (*driver).unload = Some(driver_unload) };
    // SAFETY: bound above.
    unsafe { WdfVersionUnbind(&raw const path, info, globals) }
}

fn unload() {}
