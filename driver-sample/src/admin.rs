//! Events for administrators: manifest-based events on a channel of the event log.
//!
//! `driver_sample.man` declares them. From it, the build script generates a typed function for each event, and the
//! resources from which Event Viewer and decoders get the fields and messages. The INF registers the provider and its
//! channel.

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::NtStatus;

#[rustfmt::skip]
mod manifest {
    include!(concat!(env!("OUT_DIR"), "/driver_sample.rs"));
}

/// The statuses of starting the provider: register, binary tracking.
static STATUSES: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];

/// Registers the provider, and makes sessions record the path of this image, because a decoder needs its resources. If
/// that fails, the driver continues.
///
/// # Safety
///
/// [`shut_down`] must be called before the driver unloads, when no other code of the driver runs.
pub(crate) unsafe fn start_up() {
    // SAFETY: the caller guarantees that the provider is unregistered before the image is unloaded, when nothing
    // writes.
    let register = unsafe { manifest::PROVIDER.register() };
    let binary = manifest::PROVIDER.track_binary();
    for (place, status) in STATUSES.iter().zip([register, binary]) {
        place.store(status.as_int(), Ordering::Relaxed);
    }
    wdk::println!("driver_sample: events for administrators: EtwRegister {register}; binary tracking {binary}");
}

/// Returns the statuses of registering and of binary tracking.
pub(crate) fn statuses() -> [u32; 2] {
    let [register, binary] = &STATUSES;
    [register.load(Ordering::Relaxed), binary.load(Ordering::Relaxed)]
}

/// Unregisters the provider.
pub(crate) fn shut_down() {
    let _ = manifest::PROVIDER.unregister();
}

/// Reports that the driver was loaded. `tracing` is the status of registering the tracing provider.
pub(crate) fn driver_loaded(tracing: NtStatus) {
    let _ = manifest::driver_loaded(None, env!("CARGO_PKG_VERSION").as_bytes(), tracing.as_int());
}
