//! Uses a framework handle that it has deleted. Bound to the framework by hand: no kit is needed for one object.

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
    // SAFETY: everything is there.
    let status = unsafe { WdfVersionBind(driver, &raw const path, info, &raw mut globals) };
    if status != 0 {
        return status;
    }
    // SAFETY: the framework stored its table there.
    let table = unsafe { &*table };
    // SAFETY: the function at this index has this type.
    let driver_create: DriverCreate = unsafe { core::mem::transmute(table[DRIVER_CREATE]) };
    // SAFETY: as before.
    let create: ObjectCreate = unsafe { core::mem::transmute(table[OBJECT_CREATE]) };
    // SAFETY: as before.
    let delete: ObjectDelete = unsafe { core::mem::transmute(table[OBJECT_DELETE]) };
    let mut config = Config { size: 32, device_add: 0, unload: 0, flags: 1, tag: 0 };
    // SAFETY: everything is there.
    let status = unsafe { driver_create(globals, driver, &raw const path, 0, &raw mut config, 0) };
    if status != 0 {
        // SAFETY: bound above.
        unsafe { WdfVersionUnbind(&raw const path, info, globals) };
        return status;
    }
    let mut object = 0;
    // SAFETY: the handle's place is there.
    let status = unsafe { create(globals, 0, &raw mut object) };
    if status == 0 {
        // SAFETY: created above.
        unsafe { delete(globals, object) };
    }
    if buggy() {
        // SAFETY: the mistake: it was deleted before.
        unsafe { delete(globals, object) }; // BUG
    }
    // SAFETY: the framework put its unload routine there.
    if let Some(framework) = unsafe { (*driver).unload } {
        // SAFETY: what the stub of a framework's driver does at unload.
        unsafe { framework(driver) };
    }
    // SAFETY: the driver object is ours.
    unsafe { (*driver).unload = Some(driver_unload) };
    // SAFETY: bound above.
    unsafe { WdfVersionUnbind(&raw const path, info, globals) }
}

fn unload() {}
