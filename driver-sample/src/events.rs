//! Everything that this driver traces: the provider, its keywords, and a function for each event.
//!
//! Events are functions, so that the rest of the driver is easy to read. They are inlined to the test of the enable
//! state, so a disabled event costs a load, a compare and a branch.

use core::sync::atomic::{AtomicU32, Ordering};

use wdk_etw::{
    ActivityScope, ControlCode, EnableRequest, Guid, IrpActivity, NtStatus, define_provider, start_activity,
    stop_activity, write_event,
};
use wdk_sys::PCUNICODE_STRING;

use crate::admin;
use crate::devices::{self, Device};
use crate::ioctl::Statuses;

define_provider!(
    /// This driver's provider. Its id is derived from its name: `tracelog -guid *WdkEtw.DriverSample` finds it.
    ///
    /// `EtwSetInformation` is looked up at run time (the default). Every Windows that can load this driver has the routine; a
    /// driver without the framework can also run on a Windows without it.
    PROVIDER,
    "WdkEtw.DriverSample",
    group_id("5d2b7c3f-0a7e-4f0a-9c39-0f6f6e1f1b52")
);

/// Loading, unloading, and changes of the enable state.
const LIFECYCLE: u64 = 0x1;
/// `PnP` and power.
const POWER: u64 = 0x2;
/// Requests.
const REQUESTS: u64 = 0x4;
/// The timer.
const TIMER: u64 = 0x8;

/// The statuses of starting the provider: register, traits, descriptor types, binary tracking.
///
/// They are stored because no event can report a failed registration. A control request returns them, and a
/// capture-state request writes them together with the state of the devices.
static STATUSES: [AtomicU32; 4] = [const { AtomicU32::new(0) }; 4];

/// The routines for the activity ids of requests. A Windows without them gives no request an id.
pub(crate) static IRP_ACTIVITY: IrpActivity = IrpActivity::new();

/// Registers the provider, enables descriptor types, and makes sessions record the path of this image. This uses every
/// set-information operation once.
///
/// A failure to trace is not a failure of the driver: the statuses are printed for a debugger and stored, and the
/// driver continues.
///
/// # Safety
///
/// [`shut_down`] must be called before the driver unloads, when no other code of the driver runs.
pub(crate) unsafe fn start_up() {
    // SAFETY: the caller guarantees that the provider is unregistered before the image is unloaded, when nothing
    // writes.
    let register = unsafe { PROVIDER.register_with_callback(on_enable, 0) };
    let traits = PROVIDER.traits_status().unwrap_or(register);
    let descriptor_types = PROVIDER.use_descriptor_type(true);
    let binary = PROVIDER.track_binary();
    let _ = IRP_ACTIVITY.look_up();
    for (place, status) in STATUSES.iter().zip([register, traits, descriptor_types, binary]) {
        place.store(status.as_int(), Ordering::Relaxed);
    }
    wdk::println!(
        "driver_sample: EtwRegister {register}; EtwSetInformation: traits {traits}, descriptor types {descriptor_types}, \
         binary tracking {binary}"
    );
    if !register.is_success() {
        wdk::println!("driver_sample: the provider is not registered; the driver continues without tracing");
    }
}

/// Returns the statuses of starting this provider and that of the manifest.
pub(crate) fn statuses() -> Statuses {
    let [register, traits, descriptor_types, binary] = &STATUSES;
    let load = |status: &AtomicU32| status.load(Ordering::Relaxed);
    let [admin_register, admin_binary] = admin::statuses();
    Statuses {
        register: load(register),
        traits: load(traits),
        descriptor_types: load(descriptor_types),
        binary: load(binary),
        admin_register,
        admin_binary,
    }
}

/// Unregisters the provider.
pub(crate) fn shut_down() {
    let _ = PROVIDER.unregister();
}

/// Reports that `DriverEntry` ran.
///
/// # Safety
///
/// `registry_path` must be null or a valid string.
pub(crate) unsafe fn driver_entry(registry_path: PCUNICODE_STRING, status: NtStatus) {
    let statuses = statuses();
    // SAFETY: `unicode_string` reads the string, which is null or valid as the caller guarantees.
    unsafe {
        write_event!(
            PROVIDER,
            "DriverEntry",
            level(Informational),
            keyword(LIFECYCLE),
            str8("Version", env!("CARGO_PKG_VERSION")),
            unicode_string("RegistryPath", registry_path),
            ntstatus("Register", &NtStatus::from_int(statuses.register)),
            ntstatus("SetTraits", &NtStatus::from_int(statuses.traits)),
            ntstatus("UseDescriptorType", &NtStatus::from_int(statuses.descriptor_types)),
            ntstatus("TrackBinary", &NtStatus::from_int(statuses.binary)),
            ntstatus("AdminRegister", &NtStatus::from_int(statuses.admin_register)),
            ntstatus("AdminTrackBinary", &NtStatus::from_int(statuses.admin_binary)),
            ntstatus("Status", &status),
        );
    }
}

/// Reports that the driver is about to unload.
pub(crate) fn driver_unload() {
    write_event!(PROVIDER, "DriverUnload", level(Informational), keyword(LIFECYCLE));
}

/// Reports that `EvtDriverDeviceAdd` ran.
pub(crate) fn device_add(id: u32, status: NtStatus) {
    write_event!(
        PROVIDER,
        "DeviceAdd",
        level(Informational),
        keyword(POWER),
        u32("Device", &id),
        ntstatus("Status", &status),
    );
}

/// Reports that a `PnP` or power callback ran.
pub(crate) fn power(callback: &str, device: &Device, power_state: u32) {
    write_event!(
        PROVIDER,
        "Power",
        level(Informational),
        keyword(POWER),
        str8("Callback", callback),
        u32("Device", &device.id()),
        u32("PowerState", &power_state),
    );
}

/// Starts the activity of a request.
pub(crate) fn request_start(device: &Device, code: u32, input: usize, output: usize) -> ActivityScope {
    start_activity!(
        PROVIDER,
        "Request",
        level(Informational),
        keyword(REQUESTS),
        u32("Device", &device.id()),
        u32_hex("Code", &code),
        usize("InputLength", &input),
        usize("OutputLength", &output),
    )
}

/// Joins the activity of a request with that of its client. Only a request that Windows traces has one.
pub(crate) fn request_client(activity: &Guid, client: &Guid) {
    write_event!(
        PROVIDER,
        "RequestClient",
        level(Informational),
        keyword(REQUESTS),
        activity_id(activity),
        related_id(client),
    );
}

/// Reports that a request was rejected.
pub(crate) fn request_refused(activity: &Guid, code: u32, status: NtStatus) {
    write_event!(
        PROVIDER,
        "RequestRefused",
        level(Warning),
        keyword(REQUESTS),
        activity_id(activity),
        u32_hex("Code", &code),
        ntstatus("Status", &status),
    );
}

/// Stops the activity of a request, with its result.
pub(crate) fn request_stop(activity: ActivityScope, status: NtStatus, information: usize) {
    stop_activity!(activity, ntstatus("Status", &status), usize("Information", &information));
}

/// Reports a tick of the timer. Runs at `DISPATCH_LEVEL`.
pub(crate) fn tick(device: &Device, ticks: u64) {
    write_event!(PROVIDER, "Tick", level(Verbose), keyword(TIMER), u32("Device", &device.id()), u64("Ticks", &ticks),);
}

/// The enable callback: a session enabled or disabled the provider, or requests the driver's state.
fn on_enable(request: &EnableRequest<'_>) {
    if request.control() == ControlCode::CaptureState {
        provider_state();
        devices::all().for_each(rundown);
        return;
    }
    write_event!(
        PROVIDER,
        "Enable",
        level(Informational),
        keyword(LIFECYCLE),
        u32("Control", &request.control().as_int()),
        u8("Level", &request.level().as_int()),
        u64_hex("MatchAny", &request.match_any().bits()),
        u64_hex("MatchAll", &request.match_all().bits()),
    );
}

/// Writes how the provider was started, for a capture-state request.
fn provider_state() {
    let statuses = statuses();
    write_event!(
        PROVIDER,
        "ProviderState",
        level(Informational),
        keyword(LIFECYCLE),
        opcode(DC_Start),
        ntstatus("Register", &NtStatus::from_int(statuses.register)),
        ntstatus("SetTraits", &NtStatus::from_int(statuses.traits)),
        ntstatus("UseDescriptorType", &NtStatus::from_int(statuses.descriptor_types)),
        ntstatus("TrackBinary", &NtStatus::from_int(statuses.binary)),
        ntstatus("AdminRegister", &NtStatus::from_int(statuses.admin_register)),
        ntstatus("AdminTrackBinary", &NtStatus::from_int(statuses.admin_binary)),
    );
}

/// Writes the state of one device, for a capture-state request.
fn rundown(device: &Device) {
    let statistics = device.statistics();
    write_event!(
        PROVIDER,
        "DeviceState",
        level(Informational),
        keyword(LIFECYCLE),
        opcode(DC_Start),
        u32("Device", &device.id()),
        str8("State", device.state().name()),
        struct("Statistics", {
            u64("Requests", &statistics.requests),
            u64("Bytes", &statistics.bytes),
            u64("Ticks", &statistics.ticks),
        }),
    );
}
