//! What this driver tells administrators: events of a manifest, on a channel of the event log.
//!
//! `driver_sample.man` declares them. The build script makes a typed function of each, and the resources by which Event Viewer
//! and decoders know their fields and messages; the INF registers the provider and its channel.

use wdk_etw::NtStatus;

#[rustfmt::skip]
mod manifest {
    include!(concat!(env!("OUT_DIR"), "/driver_sample.rs"));
}

/// Registers the provider. Its failure is not the driver's.
///
/// # Safety
///
/// [`shut_down`] is called before the driver unloads, when nothing else of it runs.
pub(crate) unsafe fn start_up() {
    // SAFETY: by this function's contract the provider is unregistered before the image goes, with no writer left.
    let _ = unsafe { manifest::PROVIDER.register() };
}

/// Unregisters the provider.
pub(crate) fn shut_down() {
    let _ = manifest::PROVIDER.unregister();
}

/// The driver was loaded; `tracing` is the status of registering the tracing provider.
pub(crate) fn driver_loaded(tracing: NtStatus) {
    let _ = manifest::driver_loaded(None, env!("CARGO_PKG_VERSION").as_bytes(), tracing.as_int());
}
