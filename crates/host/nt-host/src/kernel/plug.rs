//! Devices as a client sees them: they come, take requests, and go.
//!
//! What happens in the kernel for it depends on the driver: one of the framework's is served by [`crate::wdf`], any other
//! gets IRPs.

use std::collections::BTreeMap;
use std::sync::Mutex;

use etw_types::NtStatus;

use super::{lock, plug_packets as packets};
use crate::wdf::{self, Asked};

/// Major functions, which are also the framework's kinds of requests.
pub(crate) const READ: u32 = 0x03;
pub(crate) const WRITE: u32 = 0x04;
pub(crate) const CONTROL: u32 = 0x0E;

/// What came of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: u32,
    pub(crate) information: u64,
    pub(crate) output: Vec<u8>,
}

/// A request on its way, or what came of it.
#[derive(Debug)]
enum Sent {
    Framework(wdf::Sent),
    Packets(packets::Sent),
    Over(Outcome),
}

/// Requests that clients have begun and not finished, by number.
static SENT: Mutex<(u64, BTreeMap<u64, Sent>)> = Mutex::new((0, BTreeMap::new()));

/// Finds a device for the driver, and starts it: by plug and play, or one that the driver made by itself.
pub(crate) fn add_device() -> Result<u64, NtStatus> {
    if wdf::is_bound() { wdf::add_device() } else { packets::add_device() }
}

/// Takes a device away, by surprise or because somebody asked for it: then its driver may refuse.
pub(crate) fn remove_device(device: u64, surprise: bool) -> Result<(), NtStatus> {
    if wdf::is_bound() { wdf::remove_device(device, surprise) } else { packets::remove_device(device, surprise) }
}

/// Takes every device away, as before a driver is unloaded. A driver that keeps one loses it all the same.
pub(crate) fn remove_all() {
    if wdf::is_bound() {
        return wdf::remove_all();
    }
    for device in packets::stacks() {
        if packets::remove_device(device, false).is_err() {
            let _ = packets::remove_device(device, true);
        }
    }
}

/// Sends a device to sleep or wakes it up.
pub(crate) fn set_power(device: u64, on: bool) -> Result<(), NtStatus> {
    if wdf::is_bound() { wdf::set_power(device, on) } else { packets::set_power(device, on) }
}

/// A control request: the device is opened, asked and closed.
pub(crate) fn ioctl(device: u64, code: u32, input: &[u8], output: u32) -> Outcome {
    request(device, &Asked { kind: CONTROL, code, input: input.to_vec(), output })
}

/// A request from its begin to its end.
pub(crate) fn request(device: u64, asked: &Asked) -> Outcome {
    match start(device, asked) {
        Sent::Framework(sent) => wdf::finish(sent),
        Sent::Packets(sent) => packets::finish(sent),
        Sent::Over(outcome) => outcome,
    }
}

fn start(device: u64, asked: &Asked) -> Sent {
    let sent = if wdf::is_bound() {
        wdf::begin(device, asked).map(Sent::Framework)
    } else {
        packets::begin(device, asked).map(Sent::Packets)
    };
    sent.unwrap_or_else(Sent::Over)
}

/// Begins a request; answers its number.
pub(crate) fn begin(device: u64, asked: &Asked) -> u64 {
    let sent = start(device, asked);
    let mut table = lock(&SENT);
    table.0 += 1;
    let number = table.0;
    table.1.insert(number, sent);
    number
}

/// Cancels a request. One that is over stays as it is.
pub(crate) fn cancel(number: u64) {
    // The table is not locked while driver code runs: it is put back.
    let Some(sent) = lock(&SENT).1.remove(&number) else { return };
    match &sent {
        Sent::Framework(sent) => wdf::cancel_sent(sent),
        Sent::Packets(sent) => sent.cancel(),
        Sent::Over(_) => {}
    }
    lock(&SENT).1.insert(number, sent);
}

/// Waits for the end of a request.
pub(crate) fn finish(number: u64) -> Option<Outcome> {
    let sent = lock(&SENT).1.remove(&number)?;
    Some(end(sent))
}

fn end(sent: Sent) -> Outcome {
    match sent {
        Sent::Framework(sent) => wdf::finish(sent),
        Sent::Packets(sent) => packets::finish(sent),
        Sent::Over(outcome) => outcome,
    }
}

/// A device is about to go: clients wait for their requests and close their files. What came of them is kept.
pub(crate) fn close_all(device: u64) {
    let open: Vec<u64> = {
        let table = lock(&SENT);
        let of_device = |sent: &Sent| match sent {
            Sent::Framework(sent) => sent.device == device,
            Sent::Packets(sent) => sent.device == device,
            Sent::Over(_) => false,
        };
        table.1.iter().filter(|(_, sent)| of_device(sent)).map(|(number, _)| *number).collect()
    };
    for number in open {
        let Some(sent) = lock(&SENT).1.remove(&number) else { continue };
        let outcome = end(sent);
        lock(&SENT).1.insert(number, Sent::Over(outcome));
    }
}
