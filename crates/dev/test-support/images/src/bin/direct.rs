//! A provider that imports `EtwSetInformation`, for drivers that run only on Windows releases that have the routine.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::{EventInfoClass, define_provider, write_event};

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Direct", set_information(Direct));

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { PROVIDER.register() };
    PROVIDER.set_information(EventInfoClass::UseDescriptorType, input.bytes);
    write_event!(PROVIDER, "Seed", usize("seed", &input.seed));
    status.as_int()
}

fn unload() {
    PROVIDER.unregister();
}
