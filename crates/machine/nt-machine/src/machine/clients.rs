//! Clients: the files that they have open, the requests that they have begun, and how both end before a device goes.

use std::sync::Mutex;

use etw_types::NtStatus;
use nt_framework::Handle;
use nt_kernel::io::device::stack;
use nt_kernel::io::file::file_object;
use nt_kernel::io::request::client::Mode;
use nt_kernel::io::request::exchange;
use nt_kernel::sync::process::in_client;
use nt_kernel::{Answer, IoRequest, lock};
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT};
use nt_processor::memory::{GuestPtr, OrStop as _};
use nt_processor::sorted::{SortedMap, SortedSet};
use nt_verifier::routine::Outcome;

use super::{gaps, layers};

/// Identifies an open device for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(u64);

/// A device, as the layer that implements it identifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Device {
    Framework(Handle),
    Packets(GuestPtr<DEVICE_OBJECT>),
}

/// An open device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    /// A device and a file. The file is NULL if the driver uses no file objects.
    Framework(Handle, Handle),
    Packets(GuestPtr<DEVICE_OBJECT>, GuestPtr<FILE_OBJECT>),
}

/// A pending request, or the result of one.
#[derive(Debug)]
pub(super) enum Sent {
    Framework(nt_framework::Sent),
    Packets(exchange::Sent),
    Over(Answer),
}

impl Sent {
    pub(super) fn cancel(&self) {
        match self {
            Self::Framework(sent) => nt_framework::cancel_sent(*sent),
            Self::Packets(sent) => sent.cancel().or_stop(),
            Self::Over(_) => {}
        }
    }
}

/// A request that was begun.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) sent: Sent,
    /// The file that it was sent through.
    pub(super) file: Option<Opened>,
    /// Whether the file was opened for this request only.
    pub(super) closes: bool,
    /// What the client requested.
    pub(super) what: gaps::What,
    /// Whether the client canceled it, so that it need not reach the driver.
    pub(super) canceled: bool,
}

/// The files that clients have open, and the requests that they have begun and not finished.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    numbers: u64,
    pub(super) files: SortedMap<FileId, Opened>,
    pub(super) begun: SortedMap<u64, Begun>,
    /// The calls of clients that open a file or begin a request: their threads may be in the driver. With the thread; the file is NULL.
    beginning: SortedMap<u64, (u32, File)>,
    calls: u64,
    /// The number of removals that wait for such calls.
    removals: u32,
    /// The requests that a removal of their device is finishing. They are not in `begun` at that time.
    pub(super) ending: SortedSet<u64>,
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

/// A file, and the process that has it open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) process: u64,
}

impl Opened {
    /// Opens a device in a process.
    pub(super) fn new(device: Device, name: &str, process: u64) -> Outcome<Self> {
        in_client(process, || Ok(Self { file: File::open(device, name)?, process }))
    }

    pub(super) fn close(self) {
        in_client(self.process, || self.file.close());
    }

    pub(super) fn begin(self, request: &IoRequest) -> Sent {
        in_client(self.process, || self.file.begin(request))
    }
}

impl File {
    fn open(device: Device, name: &str) -> Outcome<Self> {
        Ok(match device {
            Device::Framework(device) => Self::Framework(device, nt_framework::open(device, name)?),
            Device::Packets(device) => Self::Packets(device, file_object::open(device, name, Mode::User)?),
        })
    }

    fn close(self) {
        match self {
            Self::Framework(device, file) => nt_framework::close(device, file),
            Self::Packets(_, file) => file_object::close(file),
        }
    }

    /// Returns why the system does not open a device, or `None` if the driver refused.
    pub(super) fn why_not_opened(device: Device) -> Option<&'static str> {
        match device {
            Device::Framework(device) => nt_framework::why_not_opened(device),
            Device::Packets(device) => file_object::why_not_opened(device).or_stop(),
        }
    }

    pub(super) const fn device(self) -> Device {
        match self {
            Self::Framework(device, _) => Device::Framework(device),
            Self::Packets(device, _) => Device::Packets(device),
        }
    }

    fn begin(self, request: &IoRequest) -> Sent {
        let sent = match self {
            Self::Framework(device, file) => nt_framework::begin(device, file, request).map(|begun| match begun {
                nt_framework::Begun::Request(sent) => Sent::Framework(sent),
                nt_framework::Begun::Packet(sent) => Sent::Packets(sent),
            }),
            Self::Packets(device, file) => exchange::begin(device, file, request, Mode::User).map(Sent::Packets),
        };
        sent.or_stop().unwrap_or_else(|status| Sent::Over(Answer { status, ..Answer::default() }))
    }
}

pub(super) fn clients() -> &'static Mutex<Clients> {
    &layers().clients
}

impl Clients {
    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// A call of a client that opens a file or begins a request. As long as it exists, the device is not removed: on Windows, a file stays
/// open until all its requests are completed.
pub(super) struct Beginning(u64);

impl Beginning {
    pub(super) fn new(device: Device) -> Self {
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
            layers().kernel.scheduler.change(|_| ());
        }
    }
}

pub(super) fn opened(device: Device, name: &str, process: u64) -> Result<FileId, NtStatus> {
    let _beginning = Beginning::new(device);
    let file = Opened::new(device, name, process).or_stop().inspect_err(|status| {
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

pub(super) fn begun(begun: Begun) -> u64 {
    let mut clients = lock(clients());
    let number = clients.number();
    clients.begun.insert(number, begun);
    number
}

pub(super) fn end(begun: Begun) -> Answer {
    let (result, is_of_framework) = match begun.sent {
        Sent::Framework(sent) => (nt_framework::finish(sent), true),
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
pub(super) fn close_all(device: Device) {
    close_where(|file| match (file, device) {
        // A file may be that of the physical device, if the client used its name.
        (File::Packets(opened, _), Device::Packets(device)) => stack::top(*opened).or_stop() == device,
        _ => file.device() == device,
    });
}

pub(super) fn close_where(wanted: impl Fn(&File) -> bool) {
    close_begun(&wanted);
    lock(clients()).removals += 1;
    let me = thread::number();
    let deadline = layers().kernel.scheduler.now().saturating_add(layers().kernel.config.give_up_after());
    loop {
        let calls = lock(clients()).beginning.clone();
        let of_others = calls.iter().filter(|(_, (thread, file))| *thread != me && wanted(file));
        let left: Vec<u64> = of_others.map(|(number, _)| *number).collect();
        let are_over = || left.iter().all(|number| !lock(clients()).beginning.contains_key(number));
        // If the driver keeps the thread of a client for so long, the removal goes on.
        if left.is_empty() || layers().kernel.scheduler.wait(Some(deadline), |_| are_over().then_some(())).is_none() {
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
        let of_device = |begun: &Begun| begun.file.is_some_and(|opened| wanted(&opened.file));
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
        layers().kernel.scheduler.change(|_| ());
    }
    let files: Vec<FileId> = {
        let clients = lock(clients());
        clients.files.iter().filter(|(_, opened)| wanted(&opened.file)).map(|(number, _)| *number).collect()
    };
    for number in files {
        let file = lock(clients()).files.remove(&number);
        if let Some(file) = file {
            file.close();
        }
    }
}
