//! An enable callback that reads its filter, and registrations that end automatically.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::{ControlCode, EnableRequest, define_provider, write_event};

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Lifecycle");
define_provider!(SCOPED, "WdkEtw.Images.Scoped");

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { PROVIDER.register_with_callback(on_enable, input.seed) };
    if !status.is_success() {
        return status.as_int();
    }
    PROVIDER.track_binary();
    PROVIDER.use_descriptor_type(input.seed == 3);
    PROVIDER.set_traits(input.bytes);
    // SAFETY: the registration is dropped at the end of this function, and no other code uses the provider.
    if let Ok(registration) = unsafe { SCOPED.register_scoped() } {
        let traits = registration.provider().traits_status().unwrap_or(status);
        write_event!(SCOPED, "Scoped", ntstatus("traits", &traits));
    }
    status.as_int()
}

fn unload() {
    PROVIDER.unregister();
}

fn on_enable(request: &EnableRequest<'_>) {
    let filter = request.filter().map_or(&[][..], |filter| filter.bytes());
    if request.control() == ControlCode::CaptureState {
        write_event!(
            PROVIDER,
            "State",
            guid("source", request.source()),
            usize("context", &request.context()),
            binary("filter", filter),
        );
    }
}
