//! Devices as a client sees them: they arrive, are opened, receive requests, and are removed.
//!
//! How the kernel handles this depends on the device: [`nt_framework`] serves devices of the framework; all others
//! receive IRPs.

use etw_types::NtStatus;
use nt_framework::Handle;
use nt_kernel::ex::{self, Notification, Notified};
use nt_kernel::io::device::{names, stack};
use nt_kernel::io::hardware::interrupt;
use nt_kernel::io::pnp::notification;
use nt_kernel::io::wmi::{self, WmiRequest};
use nt_kernel::io::{device, pnp};
use nt_kernel::sync::process::CLIENT;
use nt_kernel::{Answer, IoRequest, kernel, lock};
use nt_processor::memory::{GuestPtr, OrStop as _};
use nt_verifier::routine::Failure;
use nt_verifier::verify::gap;

use super::clients::{
    Beginning, Begun, Device, File, FileId, Opened, Sent, begun, clients, close_all, close_where, end, opened,
};
use super::{Machine, gaps};

/// Identifies a device for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId(u64);

impl DeviceId {
    /// Returns the device with this number.
    #[must_use]
    pub const fn from_int(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    #[must_use]
    pub const fn as_int(self) -> u64 {
        self.0
    }

    const fn device(self) -> Device {
        if Handle::is_handle(self.0) {
            Device::Framework(Handle::new(self.0))
        } else {
            Device::Packets(GuestPtr::new(self.0))
        }
    }
}

impl Machine {
    /// Adds a device to the driver and starts it: by Plug and Play, or a device that the driver created itself.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it does not accept the device.
    pub fn add_device(self) -> Result<DeviceId, NtStatus> {
        gap::forget_notes();
        let device = if is_of_framework() {
            // A framework driver may have created its devices without the framework.
            let own = || device::first().map(GuestPtr::address).ok_or(NtStatus::NoSuchDevice.into());
            nt_framework::add_device().map(Handle::as_int).or_else(|failure| match failure {
                Failure::Status(NtStatus::NoSuchDevice) => own(),
                failure => Err(failure),
            })
        } else {
            pnp::add_device().map(GuestPtr::address)
        };
        // What the driver did not find did not keep the device from starting.
        device.or_stop().map(DeviceId).inspect(|_| gap::forget_notes())
    }

    /// Removes a device, either by surprise or in an orderly way.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if the removal is orderly and the driver refuses it.
    pub fn remove_device(self, device: DeviceId, surprise: bool) -> Result<(), NtStatus> {
        remove_device(device.device(), surprise).inspect_err(|status| gaps::not_removed(*status))
    }

    /// Stops a device and starts it again, as when the Plug and Play manager assigns resources anew.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses, or if the device does not start again.
    pub fn rebalance(self, device: DeviceId) -> Result<(), NtStatus> {
        let result = match device.device() {
            Device::Framework(device) => nt_framework::rebalance(device),
            Device::Packets(device) => pnp::rebalance(device),
        };
        result.or_stop()
    }

    /// Puts a device into a low-power state or wakes it up.
    ///
    /// # Errors
    ///
    /// Returns the driver's status.
    pub fn set_power(self, device: DeviceId, on: bool) -> Result<(), NtStatus> {
        let result = match device.device() {
            Device::Framework(device) => nt_framework::set_power(device, on),
            Device::Packets(device) => pnp::set_power(device, on),
        };
        // A driver may refuse to sleep. A device that does not wake up gets no more requests.
        result.or_stop().inspect_err(|status| {
            if on {
                gaps::not_awake(*status);
            }
        })
    }

    /// Asks a device by way of Windows Management Instrumentation.
    #[must_use]
    pub fn wmi(self, device: DeviceId, requested: &WmiRequest) -> Answer {
        let result = match device.device() {
            Device::Framework(device) => nt_framework::request_wmi(device, requested),
            Device::Packets(device) => wmi::request(device, requested),
        };
        let answer = result.or_stop().unwrap_or_else(|status| Answer { status, ..Answer::default() });
        if !answer.reached {
            gaps::wmi(requested, answer.status);
        }
        answer
    }

    /// Raises an interrupt of a device; the first one is 0. Returns whether a service routine claimed it, or `None` if
    /// the interrupt is not connected.
    #[must_use]
    pub fn interrupt(self, device: DeviceId, number: u32) -> Option<bool> {
        let source = match device.device() {
            Device::Framework(device) => nt_framework::interrupt_source(device),
            Device::Packets(device) => stack::below(device).or_stop(),
        };
        let claimed = source.and_then(|source| interrupt::raise(source, number));
        if claimed.is_none() {
            gaps::interrupt(number);
        }
        claimed
    }

    /// Notifies the driver of an event in the system, if it has registered for it.
    #[must_use]
    pub fn notify(self, notification: &Notification) -> Notified {
        let Notification::TargetDevice { device, event } = notification else {
            return ex::raise(notification).or_stop();
        };
        let mut outcome = notification::raise(device, *event).or_stop();
        for status in nt_framework::target_changed(device, *event) {
            outcome.add(status);
        }
        outcome
    }

    /// Opens a device, as `CreateFile` does.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses. Also fails if there is no such device.
    pub fn open(self, device: DeviceId) -> Result<FileId, NtStatus> {
        self.open_as(device, 0)
    }

    /// Opens a device as the program with this number does: each is a process of its own. Programs that name none have number 0.
    ///
    /// # Errors
    ///
    /// Fails like [`Machine::open`].
    pub fn open_as(self, device: DeviceId, program: u16) -> Result<FileId, NtStatus> {
        opened(device.device(), "", CLIENT + 4 * u64::from(program))
    }

    /// Opens a device by its name or a symbolic link, as `CreateFile` does. The rest of the name is passed to the
    /// driver.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses. Also fails if there is no device with this name.
    pub fn open_name(self, name: &str) -> Result<FileId, NtStatus> {
        let framework = || nt_framework::find(name).map(|(device, rest)| (Device::Framework(device), rest));
        let packets = || names::resolve(name).map(|(device, rest)| (Device::Packets(device), rest));
        let Some((device, rest)) = framework().or_else(packets) else {
            gaps::no_such_name(name);
            return Err(NtStatus::ObjectNameNotFound);
        };
        opened(device, &rest, CLIENT)
    }

    /// Closes an open device: the driver receives the cleanup and the close. Returns whether it was open.
    pub fn close(self, file: FileId) -> bool {
        let file = lock(clients()).files.remove(&file);
        file.map(Opened::close).is_some()
    }

    /// Begins a request to an open device. Returns its number, or `None` if the device is not open.
    #[must_use]
    pub fn begin_on(self, file: FileId, request: &IoRequest) -> Option<u64> {
        let what = gaps::What::new(request);
        let Some(file) = lock(clients()).files.get(&file).copied() else {
            gaps::not_reached(what, "its file is not open", NtStatus::InvalidHandle);
            return None;
        };
        let _beginning = Beginning::new(file.file.device());
        Some(begun(Begun { sent: file.begin(request), file: Some(file), closes: false, what, canceled: false }))
    }

    /// Opens a device and begins a request to it. Returns the number of the request. The device is closed when the
    /// request is finished.
    #[must_use]
    pub fn begin(self, device: DeviceId, request: &IoRequest) -> u64 {
        let what = gaps::What::new(request);
        let device = device.device();
        let _beginning = Beginning::new(device);
        begun(match Opened::new(device, "", CLIENT).or_stop() {
            Ok(file) => Begun { sent: file.begin(request), file: Some(file), closes: true, what, canceled: false },
            Err(status) => {
                let why = File::why_not_opened(device).unwrap_or("the driver refused to open the device for it");
                gaps::not_reached(what, why, status);
                let sent = Sent::Over(Answer { status, ..Answer::default() });
                Begun { sent, file: None, closes: false, what, canceled: true }
            }
        })
    }

    /// Performs a whole request: opens the device, sends the request, waits for the result, and closes the device.
    #[must_use]
    pub fn request(self, device: DeviceId, request: &IoRequest) -> Answer {
        let number = self.begin(device, request);
        self.finish(number).unwrap_or_default()
    }

    /// Cancels a request. Has no effect on a request that has been completed.
    pub fn cancel(self, number: u64) {
        // The table must not be locked while driver code runs, so the request is removed and put back.
        let Some(mut begun) = lock(clients()).begun.remove(&number) else { return };
        begun.canceled = true;
        begun.sent.cancel();
        lock(clients()).begun.insert(number, begun);
    }

    /// Waits until a request is completed. Returns `None` if there is no request with this number.
    #[must_use]
    pub fn finish(self, number: u64) -> Option<Answer> {
        // If the device fails and is removed, another thread may be finishing the request.
        let take = || {
            let mut clients = lock(clients());
            (!clients.ending.contains(&number)).then(|| clients.begun.remove(&number))
        };
        let begun = take().unwrap_or_else(|| self.layers.kernel.scheduler.wait(None, |_| take()).flatten())?;
        Some(end(begun))
    }
}

fn remove_device(device: Device, surprise: bool) -> Result<(), NtStatus> {
    let result = match device {
        Device::Framework(device) => nt_framework::remove_device(device, surprise),
        Device::Packets(object) => pnp::remove_device(object, surprise, || close_all(device)),
    };
    result.or_stop()
}

/// Returns whether the framework serves the driver's devices. A driver can also use the framework only for some objects,
/// and have its own `AddDevice`.
fn is_of_framework() -> bool {
    let driver = lock(&kernel().io).driver;
    nt_framework::has_driver()
        && (nt_framework::adds_devices() || device::add_device_routine(driver).or_stop().is_none())
}

/// Removes every device, as before a driver is unloaded. If the driver refuses, the device is removed by surprise.
/// Clients close their open files, because Windows does not unload a driver that is in use.
pub(super) fn remove_all() {
    let framework = if nt_framework::has_driver() { nt_framework::devices() } else { Vec::new() };
    let packets = if is_of_framework() { Vec::new() } else { pnp::stacks().or_stop() };
    for device in framework.into_iter().map(Device::Framework).chain(packets.into_iter().map(Device::Packets)) {
        if let Err(status) = remove_device(device, false) {
            gaps::not_removed(status);
            let _ = remove_device(device, true);
        }
    }
    close_where(|_| true);
}
