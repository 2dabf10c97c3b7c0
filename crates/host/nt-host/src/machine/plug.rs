//! Devices as a client sees them: they come, take requests, and go.
//!
//! What happens in the kernel for it depends on the driver: one of the framework's is served by [`crate::wdf`], any other
//! gets IRPs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use etw_types::NtStatus;

use super::machine;
use crate::exception::fault;
use crate::kernel::io::pnp;
use crate::kernel::{Asked, Ended, lock};
use crate::memory::GuestPtr;
use crate::memory::OrStop as _;
use crate::routine::{Failure, Outcome};
use crate::wdf;

/// Major functions, which are also the framework's kinds of requests.
pub(crate) const READ: u32 = 0x03;
pub(crate) const WRITE: u32 = pnp::WRITE;
pub(crate) const CONTROL: u32 = pnp::CONTROL;

/// A request on its way, or what came of it.
#[derive(Debug)]
enum Sent {
    Framework(wdf::Sent),
    Packets(pnp::Sent),
    Over(Ended),
}

/// Requests that clients have begun and not finished.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    begun: u64,
    sent: BTreeMap<u64, Sent>,
}

fn clients() -> &'static Mutex<Clients> {
    &machine().clients
}

/// The status of what a client asked for. A fault ends the run.
fn settled<T>(outcome: Outcome<T>) -> Result<T, NtStatus> {
    outcome.map_err(|failure| match failure {
        Failure::Status(status) => status,
        Failure::Fault(fault) => fault::raise(fault, false),
    })
}

/// Finds a device for the driver, and starts it: by plug and play, or one that the driver made by itself.
pub(crate) fn add_device() -> Result<u64, NtStatus> {
    if wdf::is_bound() {
        return settled(wdf::add_device());
    }
    settled(pnp::add_device()).map(GuestPtr::address)
}

/// Takes a device away, by surprise or because somebody asked for it: then its driver may refuse.
pub(crate) fn remove_device(device: u64, surprise: bool) -> Result<(), NtStatus> {
    if wdf::is_bound() {
        return settled(wdf::remove_device(device, surprise));
    }
    settled(pnp::remove_device(GuestPtr::new(device), surprise, || close_all(device)))
}

/// Takes every device away, as before a driver is unloaded. A driver that keeps one loses it all the same.
pub(crate) fn remove_all() {
    let devices = if wdf::is_bound() {
        wdf::devices()
    } else {
        pnp::stacks().or_stop().into_iter().map(GuestPtr::address).collect()
    };
    for device in devices {
        if remove_device(device, false).is_err() {
            let _ = remove_device(device, true);
        }
    }
}

/// Sends a device to sleep or wakes it up.
pub(crate) fn set_power(device: u64, on: bool) -> Result<(), NtStatus> {
    settled(if wdf::is_bound() { wdf::set_power(device, on) } else { pnp::set_power(GuestPtr::new(device), on) })
}

/// A control request: the device is opened, asked and closed.
pub(crate) fn ioctl(device: u64, code: u32, input: &[u8], output: u32) -> Ended {
    request(device, &Asked { kind: CONTROL, code, input: input.to_vec(), output })
}

/// A request from its begin to its end.
pub(crate) fn request(device: u64, asked: &Asked) -> Ended {
    end(start(device, asked))
}

fn start(device: u64, asked: &Asked) -> Sent {
    let sent = if wdf::is_bound() {
        settled(wdf::begin(device, asked)).map(Sent::Framework)
    } else {
        settled(pnp::begin(GuestPtr::new(device), asked)).map(Sent::Packets)
    };
    sent.unwrap_or_else(|status| Sent::Over(Ended { status, ..Ended::default() }))
}

/// Begins a request; returns its number.
pub(crate) fn begin(device: u64, asked: &Asked) -> u64 {
    let sent = start(device, asked);
    let mut clients = lock(clients());
    clients.begun += 1;
    let number = clients.begun;
    clients.sent.insert(number, sent);
    number
}

/// Cancels a request. One that is over stays as it is.
pub(crate) fn cancel(number: u64) {
    // The table is not locked while driver code runs: the request is put back.
    let Some(sent) = lock(clients()).sent.remove(&number) else { return };
    match &sent {
        Sent::Framework(sent) => wdf::cancel_sent(sent),
        Sent::Packets(sent) => sent.cancel().or_stop(),
        Sent::Over(_) => {}
    }
    lock(clients()).sent.insert(number, sent);
}

/// Waits for the end of a request.
pub(crate) fn finish(number: u64) -> Option<Ended> {
    let sent = lock(clients()).sent.remove(&number)?;
    Some(end(sent))
}

fn end(sent: Sent) -> Ended {
    match sent {
        Sent::Framework(sent) => wdf::finish(sent).or_stop(),
        Sent::Packets(sent) => pnp::finish(sent).or_stop(),
        Sent::Over(ended) => ended,
    }
}

/// A device is about to go: clients wait for their requests and close their files. What came of them is kept.
pub(super) fn close_all(device: u64) {
    let of_device = |sent: &Sent| match sent {
        Sent::Framework(sent) => sent.device == device,
        Sent::Packets(sent) => sent.device.address() == device,
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
