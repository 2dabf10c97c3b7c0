//! What a driver would contain: a provider, and events where things happen.

use wdk_etw::{ControlCode, EnableRequest, NtStatus, define_provider, start_activity, write_event};

define_provider!(
    pub(crate) PROVIDER,
    "Contoso.DemoDriver",
    group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c")
);
define_provider!(pub(crate) LOOKUP, "Contoso.DemoDriver.Lookup");
define_provider!(pub(crate) DIRECT, "Contoso.DemoDriver.Direct", set_information(Direct));
define_provider!(pub(crate) OFF, "Contoso.DemoDriver.Off", set_information(Off));

const LIFECYCLE: u64 = 0x1;
const IO: u64 = 0x2;

/// `DriverEntry`.
pub(crate) fn entry() {
    // SAFETY: `unload` unregisters, and this program has one thread.
    let status = unsafe { PROVIDER.register_with_callback(on_enable, 0) };
    let traits = PROVIDER.traits_status().unwrap_or(NtStatus::Unsuccessful);
    let types = PROVIDER.use_descriptor_type(true);
    println!("  register:            {status}");
    println!("  set traits:          {traits}");
    println!("  use descriptor type: {types}\n");
    write_event!(
        PROVIDER,
        "DriverEntry",
        level(Informational),
        keyword(LIFECYCLE),
        ntstatus("Register", &status),
        ntstatus("SetTraits", &traits),
    );
}

/// A request: an activity with a start, a step and a stop.
pub(crate) fn ioctl(code: u32, input: &[u8], output_length: u32) {
    let activity = start_activity!(
        PROVIDER,
        "Ioctl",
        level(Informational),
        keyword(IO),
        u32_hex("Code", &code),
        u32("OutputLength", &output_length),
    );
    let status = if input.is_empty() { NtStatus::InvalidParameter } else { NtStatus::Success };
    if !status.is_success() {
        write_event!(
            PROVIDER,
            "IoctlRefused",
            level(Warning),
            keyword(IO),
            activity_id(activity.id()),
            ntstatus("Status", &status),
        );
        return;
    }
    write_event!(
        PROVIDER,
        "IoctlData",
        level(Verbose),
        keyword(IO),
        activity_id(activity.id()),
        binary("Input", input),
        struct("Caller", {
            pid("Pid", &4),
            irql("Irql", &0),
        }),
    );
}

/// `DriverUnload`.
pub(crate) fn unload() {
    write_event!(PROVIDER, "DriverUnload", level(Informational), keyword(LIFECYCLE));
    PROVIDER.unregister();
}

/// Answers a rundown request with the driver's state.
fn on_enable(request: &EnableRequest<'_>) {
    if request.control() == ControlCode::CaptureState {
        write_event!(
            PROVIDER,
            "State",
            level(Informational),
            keyword(LIFECYCLE),
            opcode(DC_Start),
            u32("Devices", &1),
            str8("Version", env!("CARGO_PKG_VERSION")),
        );
    }
}
