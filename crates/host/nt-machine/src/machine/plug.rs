//! Devices as a client sees them: they arrive, are opened, receive requests, and are removed.
//!
//! How the kernel handles this depends on the device: [`crate::wdf`] serves devices of the framework; all others
//! receive IRPs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use etw_types::NtStatus;

use super::{Machine, gaps, parts};
use crate::cpu::thread;
use crate::kernel::ex::{self, Notification, Notified};
use crate::kernel::io::client::Mode;
use crate::kernel::io::wmi::WmiRequest;
use crate::kernel::io::{device, exchange, interrupt, names, open, plug_play, pnp, stack, wmi};
use crate::kernel::{Answer, IoRequest, kernel, lock};
use crate::layout::{DEVICE_OBJECT, FILE_OBJECT};
use crate::memory::{GuestPtr, OrStop as _};
use crate::routine::{Failure, Outcome};
use crate::verify::gap;
use crate::wdf::{self, Handle};

/// How long a removal waits for clients whose threads are in the driver, in units of 100 ns.
const PATIENCE: u64 = 600_000_000;

/// Identifies a device for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId(u64);

/// Identifies an open device for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(u64);

/// A device, as the layer that implements it identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Device {
    Framework(Handle),
    Packets(GuestPtr<DEVICE_OBJECT>),
}

/// An open device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum File {
    /// A device and a file. The file is NULL if the driver uses no file objects.
    Framework(Handle, Handle),
    Packets(GuestPtr<DEVICE_OBJECT>, GuestPtr<FILE_OBJECT>),
}

/// A pending request, or the result of one.
#[derive(Debug)]
enum Sent {
    Framework(wdf::Sent),
    Packets(exchange::Sent),
    Over(Answer),
}

impl Sent {
    fn cancel(&self) {
        match self {
            Self::Framework(sent) => wdf::cancel_sent(*sent),
            Self::Packets(sent) => sent.cancel().or_stop(),
            Self::Over(_) => {}
        }
    }
}

/// A request that was begun.
#[derive(Debug)]
struct Begun {
    sent: Sent,
    /// The file that it was sent through.
    file: Option<File>,
    /// Whether the file was opened for this request only.
    closes: bool,
    /// What the client requested.
    what: gaps::What,
    /// Whether the client canceled it, so that it need not reach the driver.
    canceled: bool,
}

/// The files that clients have open, and the requests that they have begun and not finished.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    numbers: u64,
    files: BTreeMap<FileId, File>,
    begun: BTreeMap<u64, Begun>,
    /// The calls of clients that open a file or begin a request: their threads may be in the driver. With the thread; the file is NULL.
    beginning: BTreeMap<u64, (u32, File)>,
    calls: u64,
    /// The number of removals that wait for such calls.
    removals: u32,
    /// The requests that a removal of their device is finishing. They are not in `begun` at that time.
    ending: BTreeSet<u64>,
}

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

impl FileId {
    /// Returns the open device with this number.
    #[must_use]
    pub const fn from_int(number: u64) -> Self {
        Self(number)
    }

    /// Returns its number.
    #[must_use]
    pub const fn as_int(self) -> u64 {
        self.0
    }
}

impl File {
    fn open(device: Device, name: &str) -> Outcome<Self> {
        Ok(match device {
            Device::Framework(device) => Self::Framework(device, wdf::open(device, name)?),
            Device::Packets(device) => Self::Packets(device, open::open(device, name, Mode::User)?),
        })
    }

    fn close(self) {
        match self {
            Self::Framework(device, file) => wdf::close(device, file),
            Self::Packets(_, file) => open::close(file),
        }
    }

    /// Returns why the system does not open a device, or `None` if the driver refused.
    fn why_not_opened(device: Device) -> Option<&'static str> {
        match device {
            Device::Framework(device) => wdf::why_not_opened(device),
            Device::Packets(device) => open::why_not_opened(device).or_stop(),
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
            Self::Packets(device, file) => exchange::begin(device, file, request, Mode::User).map(Sent::Packets),
        };
        sent.or_stop().unwrap_or_else(|status| Sent::Over(Answer { status, ..Answer::default() }))
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
            wdf::add_device().map(Handle::as_int).or_else(|failure| match failure {
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
            Device::Framework(device) => wdf::rebalance(device),
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
            Device::Framework(device) => wdf::set_power(device, on),
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
            Device::Framework(device) => wdf::request_wmi(device, requested),
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
            Device::Framework(device) => wdf::interrupt_source(device),
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
        let mut outcome = plug_play::raise(device, *event).or_stop();
        for status in wdf::target_changed(device, *event) {
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
        opened(device.device(), "")
    }

    /// Opens a device by its name or a symbolic link, as `CreateFile` does. The rest of the name is passed to the
    /// driver.
    ///
    /// # Errors
    ///
    /// Returns the driver's status if it refuses. Also fails if there is no device with this name.
    pub fn open_name(self, name: &str) -> Result<FileId, NtStatus> {
        let framework = || wdf::find(name).map(|(device, rest)| (Device::Framework(device), rest));
        let packets = || names::resolve(name).map(|(device, rest)| (Device::Packets(device), rest));
        let Some((device, rest)) = framework().or_else(packets) else {
            gaps::no_such_name(name);
            return Err(NtStatus::ObjectNameNotFound);
        };
        opened(device, &rest)
    }

    /// Closes an open device: the driver receives the cleanup and the close. Returns whether it was open.
    pub fn close(self, file: FileId) -> bool {
        let file = lock(clients()).files.remove(&file);
        file.map(File::close).is_some()
    }

    /// Begins a request to an open device. Returns its number, or `None` if the device is not open.
    #[must_use]
    pub fn begin_on(self, file: FileId, request: &IoRequest) -> Option<u64> {
        let what = gaps::What::new(request);
        let Some(file) = lock(clients()).files.get(&file).copied() else {
            gaps::not_reached(what, "its file is not open", NtStatus::InvalidHandle);
            return None;
        };
        let _beginning = Beginning::new(file.device());
        Some(begun(Begun { sent: file.begin(request), file: Some(file), closes: false, what, canceled: false }))
    }

    /// Opens a device and begins a request to it. Returns the number of the request. The device is closed when the
    /// request is finished.
    #[must_use]
    pub fn begin(self, device: DeviceId, request: &IoRequest) -> u64 {
        let (what, device) = (gaps::What::new(request), device.device());
        let _beginning = Beginning::new(device);
        begun(match File::open(device, "").or_stop() {
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
        let begun = take().unwrap_or_else(|| self.parts.kernel.scheduler.wait(None, |_| take()).flatten())?;
        Some(end(begun))
    }
}

/// A call of a client that opens a file or begins a request. As long as it exists, the device is not removed: on Windows, a file stays
/// open until all its requests are completed.
struct Beginning(u64);

impl Beginning {
    fn new(device: Device) -> Self {
        let file = match device {
            Device::Framework(device) => File::Framework(device, Handle::NULL),
            Device::Packets(device) => File::Packets(device, GuestPtr::NULL),
        };
        let mut clients = lock(clients());
        clients.calls += 1;
        let number = clients.calls;
        clients.beginning.insert(number, (thread::number(), file));
        Self(number)
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        let is_awaited = {
            let mut clients = lock(clients());
            clients.beginning.remove(&self.0);
            clients.removals > 0
        };
        if is_awaited {
            parts().kernel.scheduler.change(|_| ());
        }
    }
}

fn opened(device: Device, name: &str) -> Result<FileId, NtStatus> {
    let _beginning = Beginning::new(device);
    let file = File::open(device, name).or_stop().inspect_err(|status| {
        // A driver that refuses has received the request.
        if let Some(why) = File::why_not_opened(device) {
            gaps::not_opened(why, *status);
        }
    })?;
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
    let result = match device {
        Device::Framework(device) => wdf::remove_device(device, surprise),
        Device::Packets(object) => pnp::remove_device(object, surprise, || close_all(device)),
    };
    result.or_stop()
}

/// Returns whether the framework serves the driver's devices. A driver can also use the framework only for some objects,
/// and have its own `AddDevice`.
fn is_of_framework() -> bool {
    let driver = lock(&kernel().io).driver;
    wdf::has_driver() && (wdf::adds_devices() || device::add_device_routine(driver).or_stop().is_none())
}

/// Removes every device, as before a driver is unloaded. If the driver refuses, the device is removed by surprise.
/// Clients close their open files, because Windows does not unload a driver that is in use.
pub(super) fn remove_all() {
    let framework = if wdf::has_driver() { wdf::devices() } else { Vec::new() };
    let packets = if is_of_framework() { Vec::new() } else { pnp::stacks().or_stop() };
    for device in framework.into_iter().map(Device::Framework).chain(packets.into_iter().map(Device::Packets)) {
        if let Err(status) = remove_device(device, false) {
            gaps::not_removed(status);
            let _ = remove_device(device, true);
        }
    }
    close_where(|_| true);
}

fn end(begun: Begun) -> Answer {
    let (result, is_of_framework) = match begun.sent {
        Sent::Framework(sent) => (wdf::finish(sent), true),
        Sent::Packets(sent) => (exchange::finish(sent).or_stop(), false),
        Sent::Over(result) => (result, false),
    };
    if !result.reached && !begun.canceled {
        gaps::not_delivered(begun.what, result.status, is_of_framework);
    }
    if let Some(file) = begun.file.filter(|_| begun.closes) {
        file.close();
    }
    result
}

/// Called before a device of the framework is removed.
pub(super) fn close_all_of(device: Handle) {
    close_all(Device::Framework(device));
}

/// Called before a device that handles IRPs is removed.
pub(super) fn close_all_of_packets(device: GuestPtr<DEVICE_OBJECT>) {
    close_all(Device::Packets(device));
}

/// Called before a device is removed: clients cancel their requests, wait for them and close their files, as a program
/// does when Windows asks it to close a device. The results are kept.
fn close_all(device: Device) {
    close_where(|file| match (file, device) {
        // A file may be that of the physical device, if the client used its name.
        (File::Packets(opened, _), Device::Packets(device)) => stack::top(*opened).or_stop() == device,
        _ => file.device() == device,
    });
}

fn close_where(wanted: impl Fn(&File) -> bool) {
    close_begun(&wanted);
    lock(clients()).removals += 1;
    let me = thread::number();
    let deadline = parts().kernel.scheduler.now().saturating_add(PATIENCE);
    loop {
        let calls = lock(clients()).beginning.clone();
        let of_others = calls.iter().filter(|(_, (thread, file))| *thread != me && wanted(file));
        let left: Vec<u64> = of_others.map(|(number, _)| *number).collect();
        let are_over = || left.iter().all(|number| !lock(clients()).beginning.contains_key(number));
        // If the driver keeps the thread of a client for so long, the removal goes on.
        if left.is_empty() || parts().kernel.scheduler.wait(Some(deadline), |_| are_over().then_some(())).is_none() {
            break;
        }
        close_begun(&wanted);
    }
    lock(clients()).removals -= 1;
}

/// Cancels and finishes requests, and closes files.
fn close_begun(wanted: &impl Fn(&File) -> bool) {
    let begun: Vec<u64> = {
        let clients = lock(clients());
        let of_device = |begun: &Begun| begun.file.as_ref().is_some_and(wanted);
        clients.begun.iter().filter(|(_, begun)| of_device(begun)).map(|(number, _)| *number).collect()
    };
    for number in begun {
        let begun = {
            let mut clients = lock(clients());
            let begun = clients.begun.remove(&number);
            clients.ending.extend(begun.as_ref().map(|_| number));
            begun
        };
        let Some(begun) = begun else { continue };
        begun.sent.cancel();
        let what = begun.what;
        let sent = Sent::Over(end(begun));
        {
            let mut clients = lock(clients());
            clients.begun.insert(number, Begun { sent, file: None, closes: false, what, canceled: true });
            clients.ending.remove(&number);
        }
        parts().kernel.scheduler.change(|_| ());
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
