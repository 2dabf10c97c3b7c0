//! {{Name}}: a callout driver that blocks connections to port 23 (telnet).
#![no_std]

mod filtering_platform;
mod trace;

extern crate wdk_panic;

use core::ffi::c_void;
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use filtering_platform::{
    FWP_ACTION_BLOCK, FWP_ACTION_CALLOUT_TERMINATING, FWP_ACTION_PERMIT, FWPM_CALLOUT0, FWPM_DISPLAY_DATA0, FWPM_FILTER0,
    FWPM_LAYER_ALE_AUTH_CONNECT_V4, FWPM_SESSION_FLAG_DYNAMIC, FWPM_SESSION0, FWPM_SUBLAYER0, FWPS_CALLOUT1,
    FWPS_CLASSIFY_OUT0, FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_ADDRESS, FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT,
    FWPS_INCOMING_METADATA_VALUES0, FWPS_INCOMING_VALUES0, FWPS_RIGHT_ACTION_WRITE, FwpmCalloutAdd0, FwpmEngineClose0,
    FwpmEngineOpen0, FwpmFilterAdd0, FwpmSubLayerAdd0, FwpsCalloutRegister1, FwpsCalloutUnregisterById0, RPC_C_AUTHN_WINNT,
};
use wdk_sys::ntddk::{IoCreateDevice, IoDeleteDevice};
use wdk_sys::{
    DO_DEVICE_INITIALIZING, DRIVER_OBJECT, FILE_DEVICE_NETWORK, FILE_DEVICE_SECURE_OPEN, GUID, HANDLE, NT_SUCCESS, NTSTATUS,
    PCUNICODE_STRING, PDEVICE_OBJECT, STATUS_SUCCESS,
};

/// The port that is blocked.
const TELNET: u16 = 23;

/// The keys of the driver's sublayer and callout. Their first part is the only difference.
const SUBLAYER: GUID = key(0);
const CALLOUT: GUID = key(1);

/// The session with the filter engine, and the number of the callout; 0 before they exist.
static ENGINE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static CALLOUT_ID: AtomicU32 = AtomicU32::new(0);

/// The name that tools show for the driver's objects, in UTF-16, with a terminating null.
const NAME_TEXT: &str = "{{Name}}\0";
static NAME: [u16; NAME_TEXT.len()] = {
    let (text, mut units, mut at) = (NAME_TEXT.as_bytes(), [0; NAME_TEXT.len()], 0);
    while at < text.len() {
        units[at] = text[at] as u16;
        at += 1;
    }
    units
};

const fn key(number: u32) -> GUID {
    let digits: u128 = {{interface}};
    let bytes = digits.to_be_bytes();
    let [_, _, _, _, b0, b1, c0, c1, data4 @ ..] = bytes;
    GUID {
        Data1: (digits >> 96) as u32 ^ number,
        Data2: u16::from_be_bytes([b0, b1]),
        Data3: u16::from_be_bytes([c0, c1]),
        Data4: data4,
    }
}

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: `unload` calls `trace::stop`. If this function fails, `unload` is not called, and this function calls it.
    let provider = unsafe { trace::start() };
    // SAFETY: the system's driver object.
    let status = unsafe { start(driver) };
    // SAFETY: the system's registry path is valid during this call.
    unsafe { trace::driver_entry(path, &provider, status) };
    if NT_SUCCESS(status) {
        // SAFETY: the system's driver object.
        unsafe { (*driver).DriverUnload = Some(unload) };
    } else {
        // SAFETY: the system's driver object; `stop` takes care of what does not exist.
        unsafe { stop(driver) };
        trace::stop();
    }
    status
}

unsafe extern "C" fn unload(driver: *mut DRIVER_OBJECT) {
    // SAFETY: the system's driver object.
    unsafe { stop(driver) };
    trace::stop();
}

/// Creates a device, which owns the callout, registers the callout, and adds a filter for it.
unsafe fn start(driver: *mut DRIVER_OBJECT) -> NTSTATUS {
    let mut device: PDEVICE_OBJECT = ptr::null_mut();
    // SAFETY: every pointer is valid for the call; the device has no name.
    let status = unsafe {
        let (name, kind) = (ptr::null_mut(), FILE_DEVICE_NETWORK);
        IoCreateDevice(driver, 0, name, kind, FILE_DEVICE_SECURE_OPEN, 0, &raw mut device)
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: `IoCreateDevice` has just made the device.
    unsafe { (*device).Flags &= !DO_DEVICE_INITIALIZING };
    let callout =
        FWPS_CALLOUT1 { calloutKey: CALLOUT, flags: 0, classifyFn: classify, notifyFn: notify, flowDeleteFn: None };
    let mut id = 0;
    // SAFETY: every pointer is valid for the call. The functions stay until `stop` has unregistered the callout.
    let status = unsafe { FwpsCalloutRegister1(device.cast(), &raw const callout, &raw mut id) };
    if !NT_SUCCESS(status) {
        return status;
    }
    CALLOUT_ID.store(id, Ordering::Release);
    add_filter()
}

/// Adds the callout and its filter to the engine. They go when the session is closed, because it is dynamic.
fn add_filter() -> NTSTATUS {
    let display = FWPM_DISPLAY_DATA0 { name: NAME.as_ptr(), description: ptr::null() };
    // SAFETY: the structures of the filter engine are valid if all their bytes are zero.
    let mut session: FWPM_SESSION0 = unsafe { mem::zeroed() };
    (session.displayData, session.flags) = (display, FWPM_SESSION_FLAG_DYNAMIC);
    let mut engine: HANDLE = ptr::null_mut();
    // SAFETY: every pointer is valid for the call, or null where that is allowed.
    let status = unsafe {
        FwpmEngineOpen0(ptr::null(), RPC_C_AUTHN_WINNT, ptr::null_mut(), &raw const session, &raw mut engine)
    };
    if !NT_SUCCESS(status) {
        return status;
    }
    ENGINE.store(engine, Ordering::Release);
    // SAFETY: as above.
    let mut sublayer: FWPM_SUBLAYER0 = unsafe { mem::zeroed() };
    (sublayer.subLayerKey, sublayer.displayData, sublayer.weight) = (SUBLAYER, display, 0x100);
    // SAFETY: every pointer is valid for the call, or null where that is allowed.
    let status = unsafe { FwpmSubLayerAdd0(engine, &raw const sublayer, ptr::null_mut()) };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: as above.
    let mut callout: FWPM_CALLOUT0 = unsafe { mem::zeroed() };
    (callout.calloutKey, callout.displayData) = (CALLOUT, display);
    callout.applicableLayer = FWPM_LAYER_ALE_AUTH_CONNECT_V4;
    // SAFETY: every pointer is valid for the call, or null where that is allowed.
    let status = unsafe { FwpmCalloutAdd0(engine, &raw const callout, ptr::null_mut(), ptr::null_mut()) };
    if !NT_SUCCESS(status) {
        return status;
    }
    // SAFETY: as above.
    let mut filter: FWPM_FILTER0 = unsafe { mem::zeroed() };
    (filter.displayData, filter.layerKey, filter.subLayerKey) = (display, FWPM_LAYER_ALE_AUTH_CONNECT_V4, SUBLAYER);
    (filter.actionType, filter.actionCalloutKey) = (FWP_ACTION_CALLOUT_TERMINATING, CALLOUT);
    // SAFETY: every pointer is valid for the call, or null where that is allowed.
    unsafe { FwpmFilterAdd0(engine, &raw const filter, ptr::null_mut(), ptr::null_mut()) }
}

/// Removes what exists.
unsafe fn stop(driver: *mut DRIVER_OBJECT) {
    let engine = ENGINE.swap(ptr::null_mut(), Ordering::AcqRel);
    if !engine.is_null() {
        // SAFETY: the handle of the session, which nothing uses any more.
        let _ = unsafe { FwpmEngineClose0(engine) };
    }
    let id = CALLOUT_ID.swap(0, Ordering::AcqRel);
    if id != 0 {
        // SAFETY: the number of the registered callout.
        let _ = unsafe { FwpsCalloutUnregisterById0(id) };
    }
    // SAFETY: the system's driver object. Its only device is the one that `start` made.
    unsafe {
        if !(*driver).DeviceObject.is_null() {
            IoDeleteDevice((*driver).DeviceObject);
        }
    }
}

/// Decides about a connection. The filter engine calls this at `DISPATCH_LEVEL` or below.
unsafe extern "C" fn classify(
    values: *const FWPS_INCOMING_VALUES0,
    metadata: *const FWPS_INCOMING_METADATA_VALUES0,
    _: *mut c_void,
    _: *const c_void,
    _: *const c_void,
    _: u64,
    out: *mut FWPS_CLASSIFY_OUT0,
) {
    // SAFETY: the filter engine passes valid structures, with a value for each field of the layer.
    let (address, port, process) = unsafe {
        let value = |field: usize| (*(*values).incomingValue.add(field)).data;
        let address = value(FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_ADDRESS) as u32;
        (address, value(FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT) as u16, (*metadata).processId)
    };
    let blocks = port == TELNET;
    trace::connection(address, port, process, blocks);
    // SAFETY: as above.
    unsafe {
        if (*out).rights & FWPS_RIGHT_ACTION_WRITE == 0 {
            return;
        }
        (*out).actionType = if blocks { FWP_ACTION_BLOCK } else { FWP_ACTION_PERMIT };
        if blocks {
            (*out).rights &= !FWPS_RIGHT_ACTION_WRITE;
        }
    }
}

unsafe extern "C" fn notify(_: i32, _: *const GUID, _: *mut c_void) -> NTSTATUS {
    STATUS_SUCCESS
}
