//! The parts of fwpsk.h and fwpmk.h that the driver uses. The crates of the WDK have no bindings for them.
#![allow(non_snake_case, non_camel_case_types, clippy::upper_case_acronyms, reason = "the names of the WDK's headers")]

use core::ffi::c_void;

use wdk_sys::{GUID, HANDLE, NTSTATUS};

pub const FWPM_SESSION_FLAG_DYNAMIC: u32 = 1;
pub const RPC_C_AUTHN_WINNT: u32 = 10;
pub const FWP_ACTION_BLOCK: u32 = 0x1001;
pub const FWP_ACTION_PERMIT: u32 = 0x1002;
pub const FWP_ACTION_CALLOUT_TERMINATING: u32 = 0x5003;
pub const FWPS_RIGHT_ACTION_WRITE: u32 = 1;
pub const FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_ADDRESS: usize = 6;
pub const FWPS_FIELD_ALE_AUTH_CONNECT_V4_IP_REMOTE_PORT: usize = 7;
pub const FWPM_LAYER_ALE_AUTH_CONNECT_V4: GUID =
    GUID { Data1: 0xC38D_57D1, Data2: 0x05A7, Data3: 0x4C33, Data4: [0x90, 0x4F, 0x7F, 0xBC, 0xEE, 0xE6, 0x0E, 0x82] };

/// A value whose longer forms are pointers: `data` then has the address.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct FWP_VALUE0 {
    pub kind: u32,
    pub data: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FWPM_DISPLAY_DATA0 {
    pub name: *const u16,
    pub description: *const u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FWP_BYTE_BLOB {
    pub size: u32,
    pub data: *mut u8,
}

#[repr(C)]
pub struct FWPM_SESSION0 {
    pub sessionKey: GUID,
    pub displayData: FWPM_DISPLAY_DATA0,
    pub flags: u32,
    pub txnWaitTimeoutInMSec: u32,
    pub processId: u32,
    pub sid: *mut c_void,
    pub username: *mut u16,
    pub kernelMode: i32,
}

#[repr(C)]
pub struct FWPM_SUBLAYER0 {
    pub subLayerKey: GUID,
    pub displayData: FWPM_DISPLAY_DATA0,
    pub flags: u32,
    pub providerKey: *mut GUID,
    pub providerData: FWP_BYTE_BLOB,
    pub weight: u16,
}

#[repr(C)]
pub struct FWPM_CALLOUT0 {
    pub calloutKey: GUID,
    pub displayData: FWPM_DISPLAY_DATA0,
    pub flags: u32,
    pub providerKey: *mut GUID,
    pub providerData: FWP_BYTE_BLOB,
    pub applicableLayer: GUID,
    pub calloutId: u32,
}

#[repr(C)]
pub struct FWPM_FILTER0 {
    pub filterKey: GUID,
    pub displayData: FWPM_DISPLAY_DATA0,
    pub flags: u32,
    pub providerKey: *mut GUID,
    pub providerData: FWP_BYTE_BLOB,
    pub layerKey: GUID,
    pub subLayerKey: GUID,
    pub weight: FWP_VALUE0,
    pub numFilterConditions: u32,
    pub filterCondition: *mut c_void,
    pub actionType: u32,
    pub actionCalloutKey: GUID,
    pub context: [u64; 2],
    pub reserved: *mut GUID,
    pub filterId: u64,
    pub effectiveWeight: FWP_VALUE0,
}

#[repr(C)]
pub struct FWPS_INCOMING_VALUES0 {
    pub layerId: u16,
    pub valueCount: u32,
    pub incomingValue: *const FWP_VALUE0,
}

/// The members up to the process.
#[repr(C)]
pub struct FWPS_INCOMING_METADATA_VALUES0 {
    pub currentMetadataValues: u32,
    pub flags: u32,
    pub reserved: u64,
    pub discardMetadata: [u64; 2],
    pub flowHandle: u64,
    pub ipHeaderSize: u32,
    pub transportHeaderSize: u32,
    pub processPath: *const FWP_BYTE_BLOB,
    pub token: u64,
    pub processId: u64,
}

#[repr(C)]
pub struct FWPS_CLASSIFY_OUT0 {
    pub actionType: u32,
    pub outContext: u64,
    pub filterId: u64,
    pub rights: u32,
    pub flags: u32,
    pub reserved: u32,
}

pub type ClassifyFn = unsafe extern "C" fn(
    values: *const FWPS_INCOMING_VALUES0,
    metadata: *const FWPS_INCOMING_METADATA_VALUES0,
    layer_data: *mut c_void,
    classify_context: *const c_void,
    filter: *const c_void,
    flow_context: u64,
    out: *mut FWPS_CLASSIFY_OUT0,
);
pub type NotifyFn = unsafe extern "C" fn(kind: i32, key: *const GUID, filter: *mut c_void) -> NTSTATUS;
pub type FlowDeleteFn = unsafe extern "C" fn(layer: u16, callout: u32, context: u64);

#[repr(C)]
pub struct FWPS_CALLOUT1 {
    pub calloutKey: GUID,
    pub flags: u32,
    pub classifyFn: ClassifyFn,
    pub notifyFn: NotifyFn,
    pub flowDeleteFn: Option<FlowDeleteFn>,
}

#[link(name = "fwpkclnt")]
unsafe extern "C" {
    pub fn FwpsCalloutRegister1(device: *mut c_void, callout: *const FWPS_CALLOUT1, id: *mut u32) -> NTSTATUS;
    pub fn FwpsCalloutUnregisterById0(id: u32) -> NTSTATUS;
    pub fn FwpmEngineOpen0(
        server: *const u16,
        service: u32,
        identity: *mut c_void,
        session: *const FWPM_SESSION0,
        engine: *mut HANDLE,
    ) -> NTSTATUS;
    pub fn FwpmEngineClose0(engine: HANDLE) -> NTSTATUS;
    pub fn FwpmSubLayerAdd0(engine: HANDLE, sublayer: *const FWPM_SUBLAYER0, security: *mut c_void) -> NTSTATUS;
    pub fn FwpmCalloutAdd0(
        engine: HANDLE,
        callout: *const FWPM_CALLOUT0,
        security: *mut c_void,
        id: *mut u32,
    ) -> NTSTATUS;
    pub fn FwpmFilterAdd0(
        engine: HANDLE,
        filter: *const FWPM_FILTER0,
        security: *mut c_void,
        id: *mut u64,
    ) -> NTSTATUS;
}
