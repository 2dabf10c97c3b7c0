//! The parameters of an enable callback.

use core::mem::{align_of, offset_of, size_of};

int_newtype! {
    /// The reason for a call of the enable callback.
    ControlCode(u32) {
        /// No session has the provider enabled any more.
        DisableProvider = 0,
        /// A session enabled the provider or changed its parameters.
        EnableProvider = 1,
        /// A session requests that the provider log its state (a rundown).
        CaptureState = 2,
    }
}

/// `EVENT_FILTER_DESCRIPTOR`: filter data that a session passes to a provider.
///
/// The data is valid only until the enable callback returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventFilterDescriptor {
    /// Address of the filter data. The C field has 64 bits on every architecture.
    pub ptr: *const u8,
    #[cfg(target_pointer_width = "32")]
    /// Upper half of the address.
    pub ptr_high: u32,
    /// Size of the data at `ptr`, in bytes.
    pub size: u32,
    /// `EVENT_FILTER_TYPE_*`.
    pub kind: u32,
}

const _: () = {
    assert!(size_of::<EventFilterDescriptor>() == 16);
    assert!(offset_of!(EventFilterDescriptor, size) == 8);
    assert!(offset_of!(EventFilterDescriptor, kind) == 12);
    assert!(align_of::<EventFilterDescriptor>() == align_of::<*const u8>());
};
