//! The structures that a driver and the kernel share, with their layout on x64 Windows.
//!
//! Types and members have the names of Microsoft's headers. `layout!` declares a structure without padding and, for
//! each member, a method of `GuestPtr` that returns the member's address: `irp.IoStatus().Status().read()?`. So no
//! other code contains offsets. Tests compare sizes and offsets with Microsoft's metadata for the structures that it has, and
//! all structures with the headers of the driver kit: `crates/toolchain/wdk-kit/tests/builds/machine_layouts.rs`.

#![allow(
    non_snake_case,
    non_camel_case_types,
    clippy::upper_case_acronyms,
    reason = "the names of Microsoft's headers"
)]

mod cng;
mod device;
mod exception;
mod filter;
mod frame;
mod hid;
mod image;
mod instruction;
mod interrupt;
mod notify;
mod packet;
mod power;
mod security;
mod shared_data;
mod string;
mod support;
mod sync;
#[cfg(test)]
mod tests;
mod wdf;
mod wfp;
mod wmi;

pub use cng::{BCRYPT_AUTHENTICATED_CIPHER_MODE_INFO, BCRYPT_KEY_DATA_BLOB_HEADER};
pub use device::{
    DEVICE_CAPABILITIES, DEVICE_OBJECT, DEVICE_RELATIONS, DEVOBJ_EXTENSION, DRIVER_EXTENSION, DRIVER_OBJECT,
    FILE_OBJECT, KLDR_DATA_TABLE_ENTRY,
};
pub use exception::{CONTEXT, DISPATCHER_CONTEXT, EXCEPTION_AREA, EXCEPTION_POINTERS, EXCEPTION_RECORD, SCOPE_RECORD};
pub use filter::{
    FLT_CALLBACK_DATA, FLT_CALLBACK_DATA_QUEUE, FLT_CONTEXT_REGISTRATION, FLT_FILE_NAME_INFORMATION, FLT_FILTER,
    FLT_INSTANCE, FLT_IO_PARAMETER_BLOCK, FLT_OPERATION, FLT_OPERATION_REGISTRATION, FLT_PORT, FLT_REGISTRATION,
    FLT_RELATED_CONTEXTS, FLT_RELATED_OBJECTS, FLT_VOLUME, FLT_VOLUME_PROPERTIES, FLT_WORKITEM,
};
pub(crate) use frame::{CALL_FRAME, CROSSING, HOST_FRAME, PROCESSOR_BLOCK};
pub use hid::{
    HID_COLLECTION_INFORMATION, HID_DEVICE_ATTRIBUTES, HID_DEVICE_EXTENSION, HID_MINIDRIVER_REGISTRATION,
    HID_XFER_PACKET,
};
pub use image::{IMAGE_DOS_HEADER, IMAGE_EXPORT_DIRECTORY, IMAGE_NT_HEADERS64, IMAGE_SECTION_HEADER};
pub use instruction::operand_length;
pub use interrupt::{
    CM_PARTIAL_RESOURCE_DESCRIPTOR, CM_RESOURCE_LIST, INTERRUPT_OBJECT, IO_CONNECT_INTERRUPT_PARAMETERS,
    IO_DISCONNECT_INTERRUPT_PARAMETERS, IO_INTERRUPT_MESSAGE_INFO, IO_INTERRUPT_MESSAGE_INFO_ENTRY,
    IO_RESOURCE_DESCRIPTOR, IO_RESOURCE_REQUIREMENTS_LIST, WDF_INTERRUPT_CONFIG, WDF_INTERRUPT_EXTENDED_POLICY,
    WDF_INTERRUPT_INFO,
};
pub use notify::{
    IMAGE_INFO, OB_CALLBACK_REGISTRATION, OB_POST_OPERATION_INFORMATION, OB_PRE_CREATE_HANDLE_INFORMATION,
    OB_PRE_OPERATION_INFORMATION, PS_CREATE_NOTIFY_INFO, REG_CREATE_KEY_INFORMATION, REG_DELETE_KEY_INFORMATION,
    REG_NAME_KEY_INFORMATION, REG_POST_OPERATION_INFORMATION, REG_QUERY_VALUE_KEY_INFORMATION,
    REG_SET_VALUE_KEY_INFORMATION, TARGET_DEVICE_REMOVAL_NOTIFICATION,
};
pub use packet::{IO_STACK_LOCATION, IO_STATUS_BLOCK, IRP, MDL};
pub use security::{
    ACCESS_STATE, ACE, ACL, IO_SECURITY_CONTEXT, SECURITY_DESCRIPTOR, SECURITY_DESCRIPTOR_RELATIVE,
    SECURITY_SUBJECT_CONTEXT, SID,
};
pub use shared_data::{KSYSTEM_TIME, KUSER_SHARED_DATA};
pub use string::{STRING, UNICODE_STRING};
pub use support::{
    BOOTDISK_INFORMATION, BOOTDISK_INFORMATION_EX, BUS_INTERFACE_STANDARD, CLIENT_ID, CONFIGURATION_INFORMATION,
    EVENT_DATA_DESCRIPTOR, EVENT_DESCRIPTOR, EVENT_FILTER_DESCRIPTOR, EX_TIMER, GENERAL_LOOKASIDE, GUID, INTERFACE,
    IO_CSQ, IO_CSQ_IRP_CONTEXT, IO_ERROR_LOG_PACKET, IO_WORKITEM, KBUGCHECK_CALLBACK_RECORD,
    KBUGCHECK_REASON_CALLBACK_RECORD, LIST_ENTRY, OBJECT_ATTRIBUTES, OSVERSIONINFOW, RTL_AVL_TABLE, RTL_BITMAP,
    RTL_GENERIC_TABLE, RTL_QUERY_REGISTRY_TABLE, SINGLE_LIST_ENTRY, SLIST_HEADER, THREAD, TIME_FIELDS, WORK_QUEUE_ITEM,
};
pub use sync::{
    DISPATCHER_HEADER, ERESOURCE, FAST_MUTEX, IO_REMOVE_LOCK, KDEVICE_QUEUE, KDEVICE_QUEUE_ENTRY, KDPC, KEVENT,
    KLOCK_QUEUE_HANDLE, KMUTANT, KQUEUE, KSEMAPHORE, KTIMER,
};
pub use wdf::{
    CLIENT_INFO, WDF_BIND_INFO, WDF_BIND_INFO2, WDF_CHILD_LIST_CONFIG, WDF_CHILD_LIST_ITERATOR,
    WDF_CHILD_RETRIEVE_INFO, WDF_CLASS_BIND_INFO, WDF_CLASS_LIBRARY_INFO, WDF_DEVICE_PNP_CALLBACKS,
    WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS, WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS, WDF_DRIVER_CONFIG,
    WDF_DRIVER_GLOBALS, WDF_DRIVER_VERSION_AVAILABLE_PARAMS, WDF_FDO_EVENT_CALLBACKS, WDF_FILEOBJECT_CONFIG,
    WDF_IO_QUEUE_CONFIG, WDF_IO_TARGET_OPEN_PARAMS, WDF_IO_TYPE_CONFIG, WDF_LIBRARY_INFO, WDF_MEMORY_DESCRIPTOR,
    WDF_OBJECT_ATTRIBUTES, WDF_OBJECT_CONTEXT_TYPE_INFO, WDF_POLICY_CALLBACKS, WDF_QUERY_INTERFACE_CONFIG,
    WDF_REQUEST_COMPLETION_PARAMS, WDF_REQUEST_PARAMETERS, WDF_REQUEST_SEND_OPTIONS, WDF_TIMER_CONFIG, WDF_WORK_CONFIG,
    WDFMEMORY_OFFSET,
};

pub use power::{PO_FX_COMPONENT, PO_FX_COMPONENT_V2, PO_FX_DEVICE, PO_FX_DEVICE_V2, PO_FX_DEVICE_V3};
pub use wfp::{
    FWP_BYTE_BLOB, FWP_RANGE0, FWP_V4_ADDR_AND_MASK, FWP_V6_ADDR, FWP_VALUE0, FWPM_CALLOUT0, FWPM_FILTER_CONDITION0,
    FWPM_FILTER_ENUM_TEMPLATE0, FWPM_FILTER0, FWPM_PROVIDER0, FWPM_SESSION0, FWPM_SUBLAYER0, FWPS_CALLOUT,
    FWPS_CLASSIFY_OUT0, FWPS_CONNECT_REQUEST0, FWPS_FILTER, FWPS_INCOMING_METADATA_VALUES0, FWPS_INCOMING_VALUES0,
    FWPS_STREAM_CALLOUT_IO_PACKET0, FWPS_STREAM_DATA0, NET_BUFFER, NET_BUFFER_LIST, NET_BUFFER_LIST_POOL_PARAMETERS,
};
pub use wmi::{
    WDF_WMI_INSTANCE_CONFIG, WDF_WMI_PROVIDER_CONFIG, WMIGUIDREGINFO, WMILIB_CONTEXT, WMIREGGUID, WMIREGINFO,
    WNODE_HEADER, WNODE_ITEM, WNODE_SINGLE_INSTANCE, WNODE_TOO_SMALL,
};

/// A structure, for comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// The name in Microsoft's headers.
    pub name: &'static str,
    /// The size in bytes.
    pub size: usize,
    /// The names of the members, with their offsets.
    pub members: &'static [(&'static str, usize)],
}

/// Returns all structures, in no particular order. Tests compare them with declarations.
pub fn all() -> impl Iterator<Item = Layout> {
    [
        cng::ALL,
        device::ALL,
        exception::ALL,
        filter::ALL,
        frame::ALL,
        hid::ALL,
        image::ALL,
        interrupt::ALL,
        notify::ALL,
        packet::ALL,
        power::ALL,
        security::ALL,
        shared_data::ALL,
        string::ALL,
        support::ALL,
        sync::ALL,
        wdf::ALL,
        wfp::ALL,
        wmi::ALL,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Declares the structures of a module: the name, the size, and all members. Padding is declared as members, too.
macro_rules! layout {
    ($($(#[$meta:meta])* $name:ident: $size:literal { $($member:ident: $type:ty,)* })*) => {
        $(
            #[doc = concat!("The layout of `", stringify!($name), "` on x64 Windows.\n")]
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug)]
            pub struct $name {
                $(
                    #[doc = concat!("The member `", stringify!($member), "`.")]
                    pub $member: $type,
                )*
            }

            const _: () = {
                const fn is_plain<T: $crate::memory::Plain>() -> usize {
                    size_of::<T>()
                }
                assert!(size_of::<$name>() == $size, "the size of the structure");
                assert!(0 $(+ is_plain::<$type>())* == $size, "a structure without padding, of plain members");
            };

            // SAFETY: all members are plain, and their sizes add up to the size of the structure, so there is no
            // padding.
            unsafe impl $crate::memory::Plain for $name {}

            impl $crate::memory::GuestPtr<$name> {
                $(
                    #[doc = concat!("Returns the address of the member `", stringify!($member), "`.")]
                    #[inline]
                    pub const fn $member(self) -> $crate::memory::GuestPtr<$type> {
                        self.member(std::mem::offset_of!($name, $member))
                    }
                )*
            }
        )*

        /// The structures of this module.
        pub(super) const ALL: &[$crate::layout::Layout] = &[$($crate::layout::Layout {
            name: stringify!($name),
            size: size_of::<$name>(),
            members: &[$((stringify!($member), std::mem::offset_of!($name, $member)),)*],
        },)*];
    };
}
use layout;
