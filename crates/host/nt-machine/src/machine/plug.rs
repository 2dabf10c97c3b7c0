//! Devices as a client sees them: they come, take requests, and go.
//!
//! What happens in the kernel for it depends on the driver: one of the framework's is served by [`crate::wdf`], any other
//! gets IRPs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use etw_types::NtStatus;

use super::{Machine, parts};
use crate::exception::fault;
use crate::kernel::io::pnp;
use crate::kernel::{Answer, IoRequest, lock};
use crate::layout::DEVICE_OBJECT;
use crate::memory::GuestPtr;
use crate::memory::OrStop as _;
use crate::routine::{Failure, Outcome};
use crate::wdf;

/// A device, for those who use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId(u64);

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

    /// As the framework knows it.
    const fn object(self) -> wdf::Handle {
        wdf::Handle::new(self.0)
    }

    /// As the I/O manager knows it.
    const fn device(self) -> GuestPtr<DEVICE_OBJECT> {
        GuestPtr::new(self.0)
    }
}

/// A request on its way, or what came of it.
#[derive(Debug)]
enum Sent {
    Framework(wdf::Sent),
    Packets(pnp::Sent),
    Over(Answer),
}

/// Requests that clients have begun and not finished.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    begun: u64,
    sent: BTreeMap<u64, Sent>,
}

fn clients() -> &'static Mutex<Clients> {
    &parts().clients
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
        let device = if wdf::is_bound() {
            wdf::add_device().map(wdf::Handle::as_int)
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
        remove_device(device, surprise)
    }

    /// Sends a device to sleep or wakes it up.
    ///
    /// # Errors
    ///
    /// With the driver's status.
    pub fn set_power(self, device: DeviceId, on: bool) -> Result<(), NtStatus> {
        settled(if wdf::is_bound() { wdf::set_power(device.object(), on) } else { pnp::set_power(device.device(), on) })
    }

    /// A request from its begin to its end: the device is opened, asked and closed.
    #[must_use]
    pub fn request(self, device: DeviceId, request: &IoRequest) -> Answer {
        end(start(device, request))
    }

    /// Begins a request; returns its number.
    #[must_use]
    pub fn begin(self, device: DeviceId, request: &IoRequest) -> u64 {
        let sent = start(device, request);
        let mut clients = lock(clients());
        clients.begun += 1;
        let number = clients.begun;
        clients.sent.insert(number, sent);
        number
    }

    /// Cancels a request. One that is over stays as it is.
    pub fn cancel(self, number: u64) {
        // The table is not locked while driver code runs: the request is put back.
        let Some(sent) = lock(clients()).sent.remove(&number) else { return };
        match &sent {
            Sent::Framework(sent) => wdf::cancel_sent(sent),
            Sent::Packets(sent) => sent.cancel().or_stop(),
            Sent::Over(_) => {}
        }
        lock(clients()).sent.insert(number, sent);
    }

    /// Waits for the end of a request; `None` if there is none with this number.
    #[must_use]
    pub fn finish(self, number: u64) -> Option<Answer> {
        let sent = lock(clients()).sent.remove(&number)?;
        Some(end(sent))
    }
}

fn remove_device(device: DeviceId, surprise: bool) -> Result<(), NtStatus> {
    settled(if wdf::is_bound() {
        wdf::remove_device(device.object(), surprise)
    } else {
        pnp::remove_device(device.device(), surprise, || close_all(device))
    })
}

/// Takes every device away, as before a driver is unloaded. A driver that keeps one loses it all the same.
pub(super) fn remove_all() {
    let devices: Vec<u64> = if wdf::is_bound() {
        wdf::devices().into_iter().map(wdf::Handle::as_int).collect()
    } else {
        pnp::stacks().or_stop().into_iter().map(GuestPtr::address).collect()
    };
    for device in devices.into_iter().map(DeviceId) {
        if remove_device(device, false).is_err() {
            let _ = remove_device(device, true);
        }
    }
}

fn start(device: DeviceId, request: &IoRequest) -> Sent {
    let sent = if wdf::is_bound() {
        settled(wdf::begin(device.object(), request)).map(Sent::Framework)
    } else {
        settled(pnp::begin(device.device(), request)).map(Sent::Packets)
    };
    sent.unwrap_or_else(|status| Sent::Over(Answer { status, ..Answer::default() }))
}

fn end(sent: Sent) -> Answer {
    match sent {
        Sent::Framework(sent) => wdf::finish(sent).or_stop(),
        Sent::Packets(sent) => pnp::finish(sent).or_stop(),
        Sent::Over(ended) => ended,
    }
}

/// A device of the framework is about to go.
pub(super) fn close_all_of(device: wdf::Handle) {
    close_all(DeviceId(device.as_int()));
}

/// A device is about to go: clients wait for their requests and close their files. What came of them is kept.
fn close_all(device: DeviceId) {
    let of_device = |sent: &Sent| match sent {
        Sent::Framework(sent) => sent.device == device.object(),
        Sent::Packets(sent) => sent.device == device.device(),
        Sent::Over(_) => false,
    };
    let open: Vec<u64> =
        lock(clients()).sent.iter().filter(|(_, sent)| of_device(sent)).map(|(number, _)| *number).collect();
    for number in open {
        let Some(sent) = lock(clients()).sent.remove(&number) else { continue };
        let ended = end(sent);
        lock(clients()).sent.insert(number, Sent::Over(ended));
    }
}
