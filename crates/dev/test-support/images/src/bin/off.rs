//! A provider that never calls `EtwSetInformation`.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::{EventInfoClass, define_provider, write_event};

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Off", set_information(Off));

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
