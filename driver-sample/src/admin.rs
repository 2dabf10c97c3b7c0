//! Events for administrators: manifest-based events on a channel of the event log.
//!
//! `driver_sample.man` declares them. From it, the build script generates a typed function for each event, and the
//! resources from which Event Viewer and decoders get the fields and messages. The INF registers the provider and its
//! channel.

use wdk_etw::NtStatus;

#[rustfmt::skip]
mod manifest {
    include!(concat!(env!("OUT_DIR"), "/driver_sample.rs"));
}

/// Registers the provider. If that fails, the driver continues.
///
/// # Safety
///
/// [`shut_down`] must be called before the driver unloads, when no other code of the driver runs.
pub(crate) unsafe fn start_up() {
    // SAFETY: the caller guarantees that the provider is unregistered before the image is unloaded, when nothing
    // writes.
    let _ = unsafe { manifest::PROVIDER.register() };
}

/// Unregisters the provider.
pub(crate) fn shut_down() {
    let _ = manifest::PROVIDER.unregister();
}

/// Reports that the driver was loaded. `tracing` is the status of registering the tracing provider.
pub(crate) fn driver_loaded(tracing: NtStatus) {
    let _ = manifest::driver_loaded(None, env!("CARGO_PKG_VERSION").as_bytes(), tracing.as_int());
}
