//! Messages of the `log` crate with arguments that are known only at run time.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::define_provider;
use wdk_etw_log::EtwLogger;

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Log", set_information(Off));
static LOGGER: EtwLogger = EtwLogger::new(&PROVIDER).with_keyword(0x100);

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { LOGGER.register() };
    let text = core::str::from_utf8(input.bytes).unwrap_or_default();
    log::error!("constant");
    log::info!("{text} {} {:#x}", input.seed, input.bytes.len());
    log::debug!("{:?}", input.bytes);
    status.as_int()
}

fn unload() {
    LOGGER.unregister();
}
