//! Code that must not compile. Each case is a module with the error that the compiler reports; without a case, this is a driver.
#![no_std]
#![allow(dead_code, unused_imports, reason = "only whether it compiles matters")]

extern crate wdk_panic;

use wdk_etw::NtStatus;
use wdk_kmdf::{
    Access, Device, DeviceHandle, DeviceInit, Driver, DriverHandle, Passive, Queue, RegistryKey, Request, SpinLock,
    Timer, TimerEvents, create_driver, pod,
};
use wdk_sys::{DRIVER_OBJECT, NTSTATUS, PCUNICODE_STRING};

pod! {
    /// Has no padding, and compiles.
    struct Whole {
        first: u32,
        second: [u16; 2],
    }
}

struct Good {
    timer: Timer,
    queue: Queue,
}

impl Device for Good {}

#[cfg(case = "complete_twice")] // error[E0382]
fn complete_twice(request: Request) {
    request.complete(NtStatus::Success);
    request.complete(NtStatus::Success);
}

#[cfg(case = "use_after_forward")] // error[E0382]
fn use_after_forward(queue: &Queue, mut request: Request) {
    let _ = request.forward(queue);
    let _ = request.reply(b"late");
}

#[cfg(case = "use_after_close")] // error[E0382]
fn use_after_close(passive: Passive<'_>, target: wdk_kmdf::RemoteTarget) -> Result<(), NtStatus> {
    target.close(passive);
    target.start()
}

#[cfg(case = "use_after_delete")] // error[E0382]
fn use_after_delete(passive: Passive<'_>, device: wdk_kmdf::ControlDevice<Good>) -> bool {
    device.delete(passive);
    device.queue.next_request().is_some()
}

#[cfg(case = "reply_from_input")] // error[E0502]
fn reply_from_input(mut request: Request) -> Result<(), NtStatus> {
    let input = request.input()?;
    request.reply(input)
}

#[cfg(case = "two_outputs")] // error[E0499]
fn two_outputs(mut request: Request) -> Result<(), NtStatus> {
    let mut first = request.output()?;
    let mut second = request.output()?;
    first.write(b"1")?;
    second.write(b"2")
}

#[cfg(case = "input_outlives_request")] // error[E0505]
fn input_outlives_request(request: Request) -> Result<usize, NtStatus> {
    let input = request.input()?;
    request.complete(NtStatus::Success);
    Ok(input.len())
}

#[cfg(case = "wait_in_tick")] // error[E0061]
impl TimerEvents for Good {
    fn tick(&self) {
        self.timer.stop();
    }
}

#[cfg(case = "token_in_lock")] // error[E0277]
fn token_in_lock(lock: &SpinLock<u32>, good: &Good, passive: Passive<'_>) {
    lock.with(|_| good.timer.stop(passive));
}

#[cfg(case = "handle_in_lock")] // error[E0277]
fn handle_in_lock(lock: &SpinLock<u32>, device: DeviceHandle<'_, Good>) {
    lock.with(|_| device.create_manual_queue(true).map(drop));
}

#[cfg(case = "token_as_locked_value")] // error[E0277]
fn token_as_locked_value(lock: &SpinLock<Option<Passive<'_>>>, good: &Good) {
    lock.with(|passive| passive.map(|passive| good.timer.stop(passive)));
}

#[cfg(case = "token_in_interrupt")] // error[E0277]
fn token_in_interrupt(interrupt: &wdk_kmdf::Interrupt, good: &Good, passive: Passive<'_>) {
    let _ = interrupt.locked(|| good.timer.stop(passive));
}

#[cfg(case = "token_in_device")] // error[E0277]
mod token_in_device {
    struct Keeps(wdk_kmdf::Passive<'static>);

    impl wdk_kmdf::Device for Keeps {}
}

#[cfg(case = "token_in_static")] // error[E0277]
static TOKEN: SpinLock<Option<Passive<'static>>> = SpinLock::new(None);

#[cfg(case = "handle_in_static")] // error[E0277]
static HANDLE: SpinLock<Option<DeviceHandle<'static, Good>>> = SpinLock::new(None);

#[cfg(case = "key_in_static")] // error[E0277]
static KEY: SpinLock<Option<RegistryKey<'static>>> = SpinLock::new(None);

#[cfg(case = "key_outlives_callback")] // error[E0621]
fn key_outlives_callback<'a>(driver: DriverHandle, passive: Passive<'_>) -> Result<RegistryKey<'a>, NtStatus> {
    driver.open_parameters(passive, Access::Read)
}

#[cfg(case = "value_outlives_lock")] // error: lifetime may not live long enough
fn value_outlives_lock(lock: &SpinLock<u32>) -> &mut u32 {
    lock.with(|value| value)
}

#[cfg(case = "unsynchronised_device")] // error[E0277]
mod unsynchronised_device {
    struct Shared(core::cell::Cell<u32>);

    impl wdk_kmdf::Device for Shared {}
}

#[cfg(case = "padding")] // error[E0080]
pod! {
    struct Padded {
        first: u8,
        second: u32,
    }
}

#[cfg(case = "padding_in_place_of_a_field")] // error[E0026]
pod! {
    struct Hidden {
        first: u8,
        #[cfg(any())]
        padding: [u8; 3],
        second: u32,
    }
}

#[cfg(case = "reference_in_pod")] // error[E0277]
pod! {
    struct Refers {
        first: &'static u8,
    }
}

#[cfg(case = "method_after_reply")] // error[E0382]
fn method_after_reply(method: wdk_kmdf::WmiMethod<'_>) -> Result<u32, NtStatus> {
    method.reply(b"written")?;
    method.input_value()
}

#[cfg(case = "reply_with_method_input")] // error[E0505]
fn reply_with_method_input(method: wdk_kmdf::WmiMethod<'_>) -> Result<(), NtStatus> {
    let input = method.input();
    method.reply(input)
}

#[cfg(case = "text_outlives_string")] // error[E0505]
fn text_outlives_string(passive: Passive<'_>, string: wdk_kmdf::UnicodeString) -> usize {
    let text = string.text(passive);
    drop(string);
    text.len()
}

#[cfg(case = "swapped_children")] // error[E0521]
fn swapped_children(child: wdk_kmdf::ChildInit<'_, Good>, init: &mut wdk_kmdf::PdoInit<'_>) {
    let _ = child.describe(|other| {
        core::mem::swap(init, other);
        Ok(())
    });
}

#[cfg(case = "files_of_another_device")] // error[E0277]
fn files_of_another_device(init: DeviceInit<'_>) {
    let _ = init.device::<Good>().files();
}

#[cfg(case = "timer_without_callback")] // error[E0277]
fn timer_without_callback(device: DeviceHandle<'_, Good>) -> Result<Timer, NtStatus> {
    device.create_timer()
}

/// # Safety
///
/// Only the system may call this function.
#[unsafe(export_name = "DriverEntry")]
pub unsafe extern "system" fn driver_entry(driver: *mut DRIVER_OBJECT, path: PCUNICODE_STRING) -> NTSTATUS {
    // SAFETY: the arguments are the system's, and this is `DriverEntry`.
    let created = unsafe { create_driver::<ThisDriver>(driver, path) };
    created.err().unwrap_or(NtStatus::Success).as_signed()
}

struct ThisDriver;

impl Driver for ThisDriver {
    fn device_add(_: DriverHandle, _: DeviceInit<'_>) -> Result<(), NtStatus> {
        Err(NtStatus::NotSupported)
    }

    fn unload(_: Passive<'_>) {}
}
