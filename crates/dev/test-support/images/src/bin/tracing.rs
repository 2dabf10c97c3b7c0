//! Events and spans of the `tracing` crate with values that are known only at run time.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::define_provider;
use wdk_etw_tracing::{EtwTracing, ImageAllocator, NoAllocator};

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Tracing", set_information(Off));
static TRACING: EtwTracing = EtwTracing::new(&PROVIDER).with_targets(&[("tracing", 0x2)]);

#[global_allocator]
static ALLOCATOR: ImageAllocator<NoAllocator> = ImageAllocator::new(NoAllocator);

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { TRACING.register() };
    let text = core::str::from_utf8(input.bytes).unwrap_or_default();
    let span = tracing::info_span!("load", seed = input.seed);
    tracing::error!("constant");
    tracing::info!(parent: &span, text, seed = input.seed, set = input.seed == 3, bytes = ?input.bytes, "{text} {}", input.seed);
    status.as_int()
}

fn unload() {
    TRACING.unregister();
}
