//! The requests of clients: what they send, and what they get back.

use etw_types::NtStatus;
use windows_constants::request::{
    IRP_MJ_CREATE, IRP_MJ_DEVICE_CONTROL, IRP_MJ_DIRECTORY_CONTROL, IRP_MJ_INTERNAL_DEVICE_CONTROL,
    IRP_MJ_QUERY_INFORMATION, IRP_MJ_READ, IRP_MJ_SET_INFORMATION, IRP_MJ_WRITE,
};

/// The kind of a client's request: the IRP's major function, which is also the number in the framework's
/// `WDF_REQUEST_TYPE`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct RequestKind(u8);

impl RequestKind {
    /// `IRP_MJ_CREATE`.
    pub const CREATE: Self = Self(IRP_MJ_CREATE);
    /// `IRP_MJ_READ`.
    pub const READ: Self = Self(IRP_MJ_READ);
    /// `IRP_MJ_WRITE`.
    pub const WRITE: Self = Self(IRP_MJ_WRITE);
    /// `IRP_MJ_QUERY_INFORMATION`.
    pub const QUERY_INFORMATION: Self = Self(IRP_MJ_QUERY_INFORMATION);
    /// `IRP_MJ_SET_INFORMATION`.
    pub const SET_INFORMATION: Self = Self(IRP_MJ_SET_INFORMATION);
    /// `IRP_MJ_DIRECTORY_CONTROL`: the entries of a folder.
    pub const DIRECTORY_CONTROL: Self = Self(IRP_MJ_DIRECTORY_CONTROL);
    /// `IRP_MJ_DEVICE_CONTROL`.
    pub const DEVICE_CONTROL: Self = Self(IRP_MJ_DEVICE_CONTROL);

    /// `IRP_MJ_INTERNAL_DEVICE_CONTROL`.
    pub const INTERNAL_DEVICE_CONTROL: Self = Self(IRP_MJ_INTERNAL_DEVICE_CONTROL);

    /// Returns whether a request of this kind has a control code.
    #[must_use]
    pub const fn has_code(self) -> bool {
        matches!(self, Self::DEVICE_CONTROL | Self::INTERNAL_DEVICE_CONTROL)
    }

    /// Returns the kind with this number.
    #[must_use]
    pub const fn from_int(major: u8) -> Self {
        Self(major)
    }

    /// Returns the number of the kind.
    #[must_use]
    pub const fn as_int(self) -> u8 {
        self.0
    }
}

/// A client's request to a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IoRequest {
    /// The kind of the request.
    pub kind: RequestKind,
    /// The control code, if the kind has one.
    pub code: u32,
    /// The bytes that the client sends.
    pub input: Vec<u8>,
    /// The size of the output buffer in bytes.
    pub output: u32,
    /// What the output buffer holds when the request is sent, if [it reaches the driver](Self::sends_output). Zeroes follow it.
    /// Data that is longer than `output` makes the buffer larger.
    pub output_data: Vec<u8>,
}

impl IoRequest {
    /// Returns whether the contents of the output buffer reach the driver: only those of control requests, unless they are
    /// `METHOD_BUFFERED`.
    #[must_use]
    pub const fn sends_output(&self) -> bool {
        self.kind.has_code() && self.code & 3 != 0
    }

    /// Returns the size of the output buffer with the data that it holds.
    #[must_use]
    pub fn room(&self) -> u32 {
        let data = u32::try_from(self.output_data.len()).unwrap_or(u32::MAX);
        if self.sends_output() { self.output.max(data) } else { self.output }
    }
}

/// The result of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: NtStatus,
    /// The number of bytes that the driver reports as transferred.
    pub information: u64,
    /// The output.
    pub output: Vec<u8>,
    /// Whether the request reached the driver. If not, the system completed it: for example, the device was removed, or
    /// the driver has no dispatch routine or queue for such requests.
    pub reached: bool,
}
