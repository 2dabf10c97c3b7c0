//! The operations: their numbers and names.

use windows_constants::request::{
    IRP_CLOSE_OPERATION, IRP_CREATE_OPERATION, IRP_MJ_CLOSE, IRP_MJ_CREATE, IRP_MJ_DIRECTORY_CONTROL,
    IRP_MJ_QUERY_INFORMATION, IRP_MJ_QUERY_VOLUME_INFORMATION, IRP_MJ_READ, IRP_MJ_SET_INFORMATION, IRP_MJ_WRITE,
    IRP_READ_OPERATION, IRP_SYNCHRONOUS_API, IRP_WRITE_OPERATION,
};

/// The names, in the order of the numbers.
const NAMES: [&str; 28] = [
    "IRP_MJ_CREATE",
    "IRP_MJ_CREATE_NAMED_PIPE",
    "IRP_MJ_CLOSE",
    "IRP_MJ_READ",
    "IRP_MJ_WRITE",
    "IRP_MJ_QUERY_INFORMATION",
    "IRP_MJ_SET_INFORMATION",
    "IRP_MJ_QUERY_EA",
    "IRP_MJ_SET_EA",
    "IRP_MJ_FLUSH_BUFFERS",
    "IRP_MJ_QUERY_VOLUME_INFORMATION",
    "IRP_MJ_SET_VOLUME_INFORMATION",
    "IRP_MJ_DIRECTORY_CONTROL",
    "IRP_MJ_FILE_SYSTEM_CONTROL",
    "IRP_MJ_DEVICE_CONTROL",
    "IRP_MJ_INTERNAL_DEVICE_CONTROL",
    "IRP_MJ_SHUTDOWN",
    "IRP_MJ_LOCK_CONTROL",
    "IRP_MJ_CLEANUP",
    "IRP_MJ_CREATE_MAILSLOT",
    "IRP_MJ_QUERY_SECURITY",
    "IRP_MJ_SET_SECURITY",
    "IRP_MJ_POWER",
    "IRP_MJ_SYSTEM_CONTROL",
    "IRP_MJ_DEVICE_CHANGE",
    "IRP_MJ_QUERY_QUOTA",
    "IRP_MJ_SET_QUOTA",
    "IRP_MJ_PNP",
];

/// Returns the name of a major function.
pub(super) fn name(major: u8) -> &'static str {
    NAMES.get(usize::from(major)).copied().unwrap_or("an operation without an IRP")
}

/// The `IRP_…` flags that the I/O manager sets.
pub(super) const fn irp_flags(major: u8) -> u32 {
    IRP_SYNCHRONOUS_API
        | match major {
            IRP_MJ_CREATE => IRP_CREATE_OPERATION,
            IRP_MJ_READ => IRP_READ_OPERATION,
            IRP_MJ_WRITE => IRP_WRITE_OPERATION,
            IRP_MJ_CLOSE => IRP_CLOSE_OPERATION,
            _ => 0,
        }
}

/// Returns whether the I/O manager copies the data of an operation to a buffer of its own.
pub(super) const fn is_buffered(major: u8) -> bool {
    matches!(major, IRP_MJ_QUERY_INFORMATION | IRP_MJ_SET_INFORMATION | IRP_MJ_QUERY_VOLUME_INFORMATION)
}

/// Returns which parameter is the MDL, if an operation can have one.
pub(super) const fn list_at(major: u8) -> Option<usize> {
    match major {
        IRP_MJ_READ | IRP_MJ_WRITE => Some(4),
        IRP_MJ_DIRECTORY_CONTROL => Some(5),
        _ => None,
    }
}

/// Returns which parameter is the buffer. The first one is its length.
pub(super) const fn buffer_at(major: u8) -> Option<usize> {
    match major {
        IRP_MJ_READ | IRP_MJ_WRITE => Some(3),
        IRP_MJ_QUERY_INFORMATION | IRP_MJ_QUERY_VOLUME_INFORMATION => Some(2),
        IRP_MJ_SET_INFORMATION | IRP_MJ_DIRECTORY_CONTROL => Some(4),
        _ => None,
    }
}
