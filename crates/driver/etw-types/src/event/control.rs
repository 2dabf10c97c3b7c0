//! What an enable callback is told.

use core::mem::{align_of, offset_of, size_of};

int_newtype! {
    /// Why ETW calls a provider back.
    ControlCode(u32) {
        /// No session wants events any more.
        DisableProvider = 0,
        /// A session wants events, or changed what it wants.
        EnableProvider = 1,
        /// A session asks the provider to write its state (a rundown).
        CaptureState = 2,
    }
}

/// `EVENT_FILTER_DESCRIPTOR`: filter data that a session passes to a provider.
///
/// The data lives only as long as the callback that receives it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventFilterDescriptor {
    /// Address of the filter data; 64 bits wide on every architecture.
    pub ptr: *const u8,
    #[cfg(target_pointer_width = "32")]
    /// Upper half of the address.
    pub ptr_high: u32,
    /// Bytes at `ptr`.
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
