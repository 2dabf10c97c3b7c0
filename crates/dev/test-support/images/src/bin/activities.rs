//! Activities that end in different ways: with fields, with a result, and by being dropped.

#![no_std]
#![no_main]

use images::kernel::Input;
use wdk_etw::{ActivityScope, NtStatus, define_provider, start_activity, stop_activity, write_event};

images::driver!(load, unload);

define_provider!(PROVIDER, "WdkEtw.Images.Activities", set_information(Off));

fn load(input: Input<'_>) -> u32 {
    // SAFETY: `unload` unregisters before the image is unloaded.
    let status = unsafe { PROVIDER.register() };
    let scope = begin(input);
    write_event!(PROVIDER, "Step", activity_id(scope.id()), usize("seed", &input.seed));
    let inner = start_activity!(PROVIDER, "Inner", related_id(scope.id()), result(ntstatus("Status")));
    let outcome = inner.finish(if input.seed == 3 { Ok(5) } else { Err(status) });
    drop(start_activity!(PROVIDER, "Dropped", result(u64("Count"))));
    let stopped = stop_activity!(
        scope,
        str8("bytes", input.bytes),
        ntstatus("status", &outcome.err().unwrap_or(NtStatus::Success)),
        win_sid("sid", input.bytes),
        u16_slice("units", input.units),
    );
    stopped.as_int()
}

fn begin(input: Input<'_>) -> ActivityScope {
    start_activity!(PROVIDER, "Outer", level(Informational), usize("seed", &input.seed))
}

fn unload() {
    PROVIDER.unregister();
}
