//! Calls every public function of `wdk-etw` and `wdk-kmdf` at the highest IRQL that its documentation promises: the modules are named
//! after the levels, and name each function as `Type::function`. A test compares them with the crates' documentation, so a new
//! function cannot be forgotten. What needs `PASSIVE_LEVEL` is called here or in the other drivers of this folder.
#![no_std]

extern crate wdk_panic;

mod apc;
mod device;
mod dirql;
mod dispatch;
mod high;

use wdk_etw::{EnableRequest, IrpActivity, NtStatus, ProviderBuffer, compat, define_provider, write_event};
use wdk_kmdf::{DeviceInit, Driver, DriverHandle, Passive, create_driver};
use wdk_sys::ntddk::{KeLowerIrql, KfRaiseIrql};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

use device::Irql;

define_provider!(PROVIDER, "Irql.Driver");
define_provider!(SCOPED, "Irql.Scoped");
define_provider!(PROTECTED, "Irql.Protected", protected());
compat::define_provider!(COMPAT, "Irql.Compat");
static NAMED: ProviderBuffer<64> = ProviderBuffer::new();
static ROUTINES: IrpActivity = IrpActivity::new();

const APC_LEVEL: u8 = 1;
const DISPATCH_LEVEL: u8 = 2;
/// The level of a device, on a machine with interrupt levels.
const DEVICE_LEVEL: u8 = 9;
const HIGH_LEVEL: u8 = 15;

/// Calls `body` at a level that is not below the current one.
fn at<R>(irql: u8, body: impl FnOnce() -> R) -> R {
    // SAFETY: every level here is at least the one from which this is called.
    let old = unsafe { KfRaiseIrql(irql) };
    let result = body();
    // SAFETY: the level was raised above.
    unsafe { KeLowerIrql(old) };
    result
}

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: unregistered below or in the unload routine, when nothing writes any more.
    let registered = unsafe { PROVIDER.register_with_callback(on_enable, 5) };
    if registered.is_error() {
        return registered.as_signed();
    }
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<IrqlDriver>(driver, path) };
    let result = created.and_then(|_| tracing());
    if result.is_err() {
        PROVIDER.unregister();
    }
    result.err().unwrap_or(NtStatus::Success).as_signed()
}

/// Calls what registers and configures providers, at `PASSIVE_LEVEL`.
fn tracing() -> Result<(), NtStatus> {
    let _ = ROUTINES.look_up();
    PROVIDER.set_traits(PROVIDER.traits());
    PROVIDER.use_descriptor_type(true);
    PROVIDER.track_binary();
    PROVIDER.set_information(wdk_etw::EventInfoClass::SetTraits, PROVIDER.traits());
    // SAFETY: the registration ends below, when nothing writes any more.
    let registration = unsafe { SCOPED.register_scoped() }?;
    high::registration(&registration);
    registration.end().map_err(|(status, _)| status)?;
    // SAFETY: as above.
    drop(unsafe { SCOPED.register_scoped_with_callback(|_| {}, 0) }?);
    // SAFETY: unregistered on the next line.
    unsafe { COMPAT.register() };
    COMPAT.unregister();
    PROTECTED.register_protected().ok()?;
    write_event!(PROTECTED, "Protected");
    PROTECTED.unregister().ok()?;
    PROTECTED.register_protected_with_callback(|_| {}, 0).ok()?;
    PROTECTED.unregister().ok()
}

fn on_enable(request: &EnableRequest<'_>) {
    if let Some(length) = high::request(request) {
        wdk::println!("irql: a filter of {length} bytes");
    }
}

struct IrqlDriver;

impl Driver for IrqlDriver {
    fn device_add(driver: DriverHandle, init: DeviceInit<'_>) -> Result<(), NtStatus> {
        let builder = high::builder(init);
        builder.files().create(|device| Irql::new(driver, device))?;
        Ok(())
    }

    fn unload(_: Passive<'_>) {
        PROVIDER.unregister();
    }
}
