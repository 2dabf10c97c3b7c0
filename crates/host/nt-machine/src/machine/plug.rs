//! Devices as a client sees them: they come, are opened, take requests, and go.
//!
//! What happens in the kernel for it depends on the device: one of the framework's is served by [`crate::wdf`], any other
//! gets IRPs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use etw_types::NtStatus;

use super::{Machine, parts};
use crate::exception::fault;
use crate::kernel::ex::{self, Notification, Told};
use crate::kernel::io::wmi::WmiRequest;
use crate::kernel::io::{device, interrupt, names, open, pnp, stack, wmi};
use crate::kernel::{Answer, IoRequest, lock};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT};
use crate::memory::{GuestPtr, OrStop as _};
use crate::routine::{Failure, Outcome};
use crate::wdf::{self, Handle};

/// A device, for those who use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId(u64);

/// An open device, for those who use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(u64);

/// A device as its layer knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Framework(Handle),
    Packets(GuestPtr<DEVICE_OBJECT>),
}

/// An open device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    /// The file is NULL if the driver wants none.
    Framework(Handle, Handle),
    Packets(GuestPtr<DEVICE_OBJECT>, GuestPtr<FILE_OBJECT>),
}

/// A request on its way, or what came of it.
#[derive(Debug)]
enum Sent {
    Framework(wdf::Sent),
    Packets(pnp::Sent),
    Over(Answer),
}

/// A request that was begun.
#[derive(Debug)]
struct Begun {
    sent: Sent,
    /// What it was sent through.
    file: Option<File>,
    /// The file was opened for this request only.
    closes: bool,
}

/// What clients have open, and the requests that they have begun and not finished.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    numbers: u64,
    files: BTreeMap<FileId, File>,
    begun: BTreeMap<u64, Begun>,
}

impl DeviceId {
    /// The device with a number.
    #[must_use]
    pub const fn from_int(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
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

impl FileId {
    /// The open device with a number.
    #[must_use]
    pub const fn from_int(number: u64) -> Self {
        Self(number)
    }

    /// Its number.
    #[must_use]
    pub const fn as_int(self) -> u64 {
        self.0
    }
}

impl File {
    fn open(device: Device, name: &str) -> Outcome<Self> {
        Ok(match device {
            Device::Framework(device) => Self::Framework(device, wdf::open(device, name)?),
            Device::Packets(device) => Self::Packets(device, open::open(device, name)?),
        })
    }

    fn close(self) {
        match self {
            Self::Framework(device, file) => wdf::close(device, file),
            Self::Packets(device, file) => open::close(device, file).or_stop(),
        }
    }

    const fn device(self) -> Device {
        match self {
            Self::Framework(device, _) => Device::Framework(device),
            Self::Packets(device, _) => Device::Packets(device),
        }
    }

    fn begin(self, request: &IoRequest) -> Sent {
        let sent = match self {
            Self::Framework(device, file) => wdf::begin(device, file, request).map(|begun| match begun {
                wdf::Begun::Request(sent) => Sent::Framework(sent),
                wdf::Begun::Packet(sent) => Sent::Packets(sent),
            }),
            Self::Packets(device, file) => pnp::begin(device, file, request).map(Sent::Packets),
        };
        settled(sent).unwrap_or_else(|status| Sent::Over(Answer { status, ..Answer::default() }))
    }
}

fn clients() -> &'static Mutex<Clients> {
    &parts().clients
}

impl Clients {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// The status of what a client asked for. A fault ends the run.
fn settled<T>(outcome: Outcome<T>) -> Result<T, NtStatus> {
    outcome.map_err(|failure| match failure {
        Failure::Status(status) => status,
        Failure::Fault(fault) => fault::raise(fault, false),
    })
}

impl Machine {
    /// Finds a device for the driver, and starts it: by plug and play, or one that the driver made by itself.
    ///
    /// # Errors
    ///
    /// With the driver's status if it does not take the device.
    pub fn add_device(self) -> Result<DeviceId, NtStatus> {
        let device = if wdf::has_driver() {
            // A driver of the framework's may have made its devices without it.
            let own = device::first().map(GuestPtr::address).ok_or(NtStatus::NoSuchDevice.into());
            wdf::add_device().map(Handle::as_int).or_else(|failure| match failure {
                Failure::Status(NtStatus::NoSuchDevice) => own,
                failure => Err(failure),
            })
        } else {
            pnp::add_device().map(GuestPtr::address)
        };
        settled(device).map(DeviceId)
    }

    /// Takes a device away, by surprise or because somebody asked for it.
    ///
    /// # Errors
    ///
    /// With the driver's status if it was asked and refuses.
    pub fn remove_device(self, device: DeviceId, surprise: bool) -> Result<(), NtStatus> {
        remove_device(device.device(), surprise)
    }

    /// Sends a device to sleep or wakes it up.
    ///
    /// # Errors
    ///
    /// With the driver's status.
    pub fn set_power(self, device: DeviceId, on: bool) -> Result<(), NtStatus> {
        settled(match device.device() {
            Device::Framework(device) => wdf::set_power(device, on),
            Device::Packets(device) => pnp::set_power(device, on),
        })
    }

    /// Asks a device by way of Windows Management Instrumentation.
    #[must_use]
    pub fn wmi(self, device: DeviceId, asked: &WmiRequest) -> Answer {
        let answer = match device.device() {
            Device::Framework(device) => wdf::ask_wmi(device, asked),
            Device::Packets(device) => wmi::ask(device, asked),
        };
        settled(answer).unwrap_or_else(|status| Answer { status, ..Answer::default() })
    }

    /// Raises an interrupt of a device, counted from 0: whether a routine said that it was for it. `None` if nobody is connected.
    #[must_use]
    pub fn interrupt(self, device: DeviceId, number: u32) -> Option<bool> {
        let source = match device.device() {
            Device::Framework(device) => wdf::interrupt_source(device)?,
            Device::Packets(device) => stack::below(device).or_stop()?,
        };
        interrupt::raise(source, number)
    }

    /// Tells the driver what happens in the system, if it asked for it.
    #[must_use]
    pub fn notify(self, notification: &Notification) -> Told {
        ex::raise(notification).or_stop()
    }

    /// Opens a device, as `CreateFile` does.
    ///
    /// # Errors
    ///
    /// With the driver's status if it refuses, and if there is no such device.
    pub fn open(self, device: DeviceId) -> Result<FileId, NtStatus> {
        opened(device.device(), "")
    }

    /// Opens a device by its name or a symbolic link, as `CreateFile` does. What follows the name is for the driver.
    ///
    /// # Errors
    ///
    /// With the driver's status if it refuses, and if the name leads nowhere.
    pub fn open_name(self, name: &str) -> Result<FileId, NtStatus> {
        let framework = || wdf::find(name).map(|(device, rest)| (Device::Framework(device), rest));
        let packets = || names::resolve(name).map(|(device, rest)| (Device::Packets(device), rest));
        let (device, rest) = framework().or_else(packets).ok_or(NtStatus::ObjectNameNotFound)?;
        opened(device, &rest)
    }

    /// Closes an open device: its driver sees the cleanup and the close. Whether it was open.
    pub fn close(self, file: FileId) -> bool {
        let file = lock(clients()).files.remove(&file);
        file.map(File::close).is_some()
    }

    /// Begins a request to an open device; returns its number, or `None` if the device is not open.
    #[must_use]
    pub fn begin_on(self, file: FileId, request: &IoRequest) -> Option<u64> {
        let file = lock(clients()).files.get(&file).copied()?;
        Some(begun(Begun { sent: file.begin(request), file: Some(file), closes: false }))
    }

    /// Opens a device and begins a request to it; returns its number. The device is closed when the request is finished.
    #[must_use]
    pub fn begin(self, device: DeviceId, request: &IoRequest) -> u64 {
        begun(match settled(File::open(device.device(), "")) {
            Ok(file) => Begun { sent: file.begin(request), file: Some(file), closes: true },
            Err(status) => {
                Begun { sent: Sent::Over(Answer { status, ..Answer::default() }), file: None, closes: false }
            }
        })
    }

    /// A request from its begin to its end: the device is opened, asked and closed.
    #[must_use]
    pub fn request(self, device: DeviceId, request: &IoRequest) -> Answer {
        let number = self.begin(device, request);
        self.finish(number).unwrap_or_default()
    }

    /// Cancels a request. One that is over stays as it is.
    pub fn cancel(self, number: u64) {
        // The table is not locked while driver code runs: the request is put back.
        let Some(begun) = lock(clients()).begun.remove(&number) else { return };
        match &begun.sent {
            Sent::Framework(sent) => wdf::cancel_sent(sent),
            Sent::Packets(sent) => sent.cancel().or_stop(),
            Sent::Over(_) => {}
        }
        lock(clients()).begun.insert(number, begun);
    }

    /// Waits for the end of a request; `None` if there is none with this number.
    #[must_use]
    pub fn finish(self, number: u64) -> Option<Answer> {
        let begun = lock(clients()).begun.remove(&number)?;
        Some(end(begun))
    }
}

fn opened(device: Device, name: &str) -> Result<FileId, NtStatus> {
    let file = settled(File::open(device, name))?;
    let mut clients = lock(clients());
    let number = FileId(clients.number());
    clients.files.insert(number, file);
    Ok(number)
}

fn begun(begun: Begun) -> u64 {
    let mut clients = lock(clients());
    let number = clients.number();
    clients.begun.insert(number, begun);
    number
}

fn remove_device(device: Device, surprise: bool) -> Result<(), NtStatus> {
    settled(match device {
        Device::Framework(device) => wdf::remove_device(device, surprise),
        Device::Packets(object) => pnp::remove_device(object, surprise, || close_all(device)),
    })
}

/// Takes every device away, as before a driver is unloaded. A driver that keeps one loses it all the same. Clients close
/// what they have open: Windows unloads no driver that is in use.
pub(super) fn remove_all() {
    let framework = if wdf::has_driver() { wdf::devices() } else { Vec::new() };
    let packets = if wdf::has_driver() { Vec::new() } else { pnp::stacks().or_stop() };
    for device in framework.into_iter().map(Device::Framework).chain(packets.into_iter().map(Device::Packets)) {
        if remove_device(device, false).is_err() {
            let _ = remove_device(device, true);
        }
    }
    close_where(|_| true);
}

fn end(begun: Begun) -> Answer {
    let answer = match begun.sent {
        Sent::Framework(sent) => wdf::finish(sent).or_stop(),
        Sent::Packets(sent) => pnp::finish(sent).or_stop(),
        Sent::Over(answer) => answer,
    };
    if let Some(file) = begun.file.filter(|_| begun.closes) {
        file.close();
    }
    answer
}

/// A device of the framework is about to go.
pub(super) fn close_all_of(device: Handle) {
    close_all(Device::Framework(device));
}

/// A device is about to go: clients wait for their requests and close their files. What came of them is kept.
fn close_all(device: Device) {
    close_where(|file| file.device() == device);
}

fn close_where(wanted: impl Fn(&File) -> bool) {
    let begun: Vec<u64> = {
        let clients = lock(clients());
        let of_device = |begun: &Begun| begun.file.as_ref().is_some_and(&wanted);
        clients.begun.iter().filter(|(_, begun)| of_device(begun)).map(|(number, _)| *number).collect()
    };
    for number in begun {
        let Some(begun) = lock(clients()).begun.remove(&number) else { continue };
        let sent = Sent::Over(end(begun));
        lock(clients()).begun.insert(number, Begun { sent, file: None, closes: false });
    }
    let files: Vec<FileId> = {
        let clients = lock(clients());
        clients.files.iter().filter(|(_, file)| wanted(file)).map(|(number, _)| *number).collect()
    };
    for number in files {
        let file = lock(clients()).files.remove(&number);
        if let Some(file) = file {
            file.close();
        }
    }
}
