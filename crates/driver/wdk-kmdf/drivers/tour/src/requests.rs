//! The device's requests.

use core::sync::atomic::Ordering;
use core::time::Duration;

use wdk_etw::NtStatus;
use wdk_kmdf::{
    ChildDevice, Completion, IoDefaultEvents, Memory, Operation, OwnRequestEvents, Passive, Pod, QueueEvents, Request,
    RequestKind, SendEvents, pod,
};

use crate::device::{Opened, Tour};
use crate::lamp;

const fn code(function: u32) -> u32 {
    0x0022_0000 | (0x800 + function) << 2
}

/// Waits in the manual queue.
const WAIT: u32 = code(0);
/// Looks at the first waiting request, and puts it back.
const PEEK: u32 = code(1);
/// Completes the first waiting request.
const RELEASE: u32 = code(2);
/// Sends the request to the device below, and changes its status.
const BELOW: u32 = code(3);
/// Sends the request to the device below.
const FORGET: u32 = code(4);
/// Adds two numbers, in place.
const ADD: u32 = code(5);
/// Replies with several values.
const VALUES: u32 = code(6);

/// Sends a request of the driver's own to the device below, and replies with its output.
const OWN: u32 = code(7);
/// The code of that request.
const OWN_BELOW: u32 = code(8);

/// Adds the device on this one.
const PLUG: u32 = code(9);
/// Removes it.
const UNPLUG: u32 = code(10);
/// Makes the list of lamps that of the input: a byte for each.
const LIST: u32 = code(11);
/// Replies with the input in reverse order. `METHOD_NEITHER`: both buffers are addresses in the client's process.
const NEITHER: u32 = code(12) | 3;
/// Keeps the device in D0, and replies with how often it has left D0. Internal, in a queue that is not power-managed.
const STAY: u32 = code(13);
/// Lets the device sleep again, with the same reply.
const REST: u32 = code(14);

pod! {
    /// The input of [`ADD`].
    struct Terms {
        first: u32,
        second: u32,
    }
}

pod! {
    /// The output of [`ADD`].
    struct Sum {
        sum: u32,
        carry: u32,
    }
}

/// The queue for internal control requests.
pub(crate) struct Internal;

impl QueueEvents<Internal> for Tour {
    fn internal_device_control(&self, mut request: Request, code: u32) {
        let result = match code {
            STAY => self.stay(&request).and_then(|()| request.reply_value(&self.sleeps.load(Ordering::Relaxed))),
            REST => {
                drop(self.power.with(Option::take));
                request.reply_value(&self.sleeps.load(Ordering::Relaxed))
            }
            _ => request.reply_value(&code),
        };
        request.finish(result);
    }
}

impl QueueEvents for Tour {
    fn read(&self, mut request: Request) {
        self.count(1);
        if request.offset() != Some(0) {
            return request.complete(NtStatus::InvalidParameter);
        }
        let is_empty = request.output_length() == 0;
        let result = if is_empty { Ok(()) } else { read(&mut request) };
        request.finish(result);
    }

    fn device_control(&self, mut request: Request, code: u32) {
        self.count(3);
        if request.offset().is_some() || request.is_from_kernel() {
            return request.complete(NtStatus::InternalError);
        }
        let result = match code {
            WAIT => {
                let _ = request.forward(&self.waiting);
                return;
            }
            PEEK => self.peek(),
            RELEASE => self.release(),
            BELOW | FORGET => return self.send(request, code),
            OWN => return self.send_own(request),
            PLUG => self.plug(&request),
            UNPLUG => self.lamp.with(Option::take).ok_or(NtStatus::NotFound).and_then(ChildDevice::mark_missing),
            LIST => self.list(&request),
            NEITHER => reverse(&mut request),
            ADD => add(&mut request),
            VALUES => values(&mut request),
            _ => Err(NtStatus::InvalidDeviceRequest),
        };
        request.finish(result);
    }
}

/// Writes have a queue of their own, with one callback for every kind of request.
impl IoDefaultEvents for Tour {
    fn io_default(&self, mut request: Request) {
        self.count(2);
        if request.kind() != RequestKind::Write {
            return request.complete(NtStatus::InternalError);
        }
        let mut copy = [0; 16];
        // Direct I/O: there is no reference to the client's memory, only copies.
        let result = match (request.input(), request.copy_input(1, &mut copy)) {
            (Ok([]), Ok(0)) => Ok(()),
            (Err(NtStatus::InvalidDeviceRequest), Ok(length)) if copy.iter().take(length).all(|byte| *byte == b'w') => {
                request.consume(length + 1);
                Ok(())
            }
            _ => Err(NtStatus::InvalidParameter),
        };
        request.finish(result);
    }
}

impl SendEvents for Tour {
    fn sent(&self, request: Request, status: NtStatus) {
        wdk::println!("tour: sent, {status}, {} bytes", request.information());
        request.complete(if status == NtStatus::NotSupported { NtStatus::DeviceBusy } else { status });
    }
}

impl OwnRequestEvents for Tour {
    fn completed(&self, completion: Completion) {
        if let Some(mut request) = self.client.take() {
            let output = completion.output.as_deref().and_then(|output| output.get(..completion.transferred));
            let replied = request.reply(output.unwrap_or_default());
            request.finish(completion.status.ok().and(replied));
        }
    }
}

impl Tour {
    /// Reports a lamp. The device's execution level is passive, so there is a token.
    fn plug(&self, request: &Request) -> Result<(), NtStatus> {
        let passive = Passive::current().ok_or(NtStatus::InvalidDeviceState)?;
        let device = request.device::<Self>(passive).ok_or(NtStatus::InternalError)?;
        let lamp = lamp::plug(device)?;
        lamp.shine();
        drop(self.lamp.with(|place| place.replace(lamp)));
        Ok(())
    }

    /// Waits until the device is in D0, and keeps it there.
    fn stay(&self, request: &Request) -> Result<(), NtStatus> {
        let passive = Passive::current().ok_or(NtStatus::InvalidDeviceState)?;
        let device = request.device::<Self>(passive).ok_or(NtStatus::InternalError)?;
        let power = device.reference().ok_or(NtStatus::InternalError)?.stop_idle_and_wait(passive)?;
        drop(self.power.with(|place| place.replace(power)));
        Ok(())
    }

    /// Replaces the list of lamps.
    fn list(&self, request: &Request) -> Result<(), NtStatus> {
        let numbers = request.input()?;
        let added = self.lamps.scan(|lamps| numbers.iter().try_for_each(|number| lamps.add(&u64::from(*number))));
        added.unwrap_or(Err(NtStatus::InternalError))
    }

    /// Sends the driver's own request twice at once: the second time, it is busy.
    fn send_own(&self, request: Request) {
        let (Some(target), Some(own)) = (&self.target, &self.own) else {
            return request.complete(NtStatus::NoSuchDevice);
        };
        if self.client.keep(request).is_err() {
            return;
        }
        let send = || {
            let output = Memory::new(16, *b"Tour")?;
            own.send(target, Operation::Control(OWN_BELOW), None, Some(output), Some(Duration::from_secs(1)))
        };
        let first = send();
        let second = send();
        wdk::println!("tour: own {}, {}", first.is_ok(), second == Err(NtStatus::DeviceBusy));
        if let Err(status) = first
            && let Some(request) = self.client.take()
        {
            request.complete(status);
        }
    }

    fn count(&self, kind: usize) {
        // The device's execution level is passive.
        if let Some(passive) = Passive::current() {
            self.counts.with(passive, |counts| {
                if let Some(count) = counts.get_mut(kind) {
                    *count += 1;
                }
            });
        }
    }

    fn peek(&self) -> Result<(), NtStatus> {
        let request = self.waiting.next_request().ok_or(NtStatus::NotFound)?;
        if request.kind() != RequestKind::Control(WAIT) || request.is_cancelled() || request.file::<Opened>().is_none()
        {
            return Err(NtStatus::InternalError);
        }
        request.requeue()
    }

    fn release(&self) -> Result<(), NtStatus> {
        let mut request = self.waiting.next_request().ok_or(NtStatus::NotFound)?;
        let result = request.reply(b"released");
        request.finish(result);
        Ok(())
    }

    fn send(&self, request: Request, code: u32) {
        let Some(target) = &self.target else { return request.complete(NtStatus::NoSuchDevice) };
        let _ = if code == BELOW {
            request.send::<Self, ()>(target, Some(Duration::from_secs(1)))
        } else {
            request.send_and_forget(target)
        };
    }
}

fn read(request: &mut Request) -> Result<(), NtStatus> {
    let mut output = request.output()?;
    // The client's own memory: it can be written, but not borrowed.
    if output.value::<u32>() != Err(NtStatus::InvalidDeviceRequest) {
        return Err(NtStatus::InternalError);
    }
    output.write(b"rea")?;
    output.write(b"d")
}

fn reverse(request: &mut Request) -> Result<(), NtStatus> {
    // There is no reference to the client's memory, only copies.
    if request.input_length() != 0 && request.input() != Err(NtStatus::InvalidDeviceRequest) {
        return Err(NtStatus::InternalError);
    }
    let mut copy = [0; 16];
    let length = request.copy_input(0, &mut copy)?;
    let input = copy.get_mut(..length).unwrap_or_default();
    input.reverse();
    request.reply(input)
}

fn add(request: &mut Request) -> Result<(), NtStatus> {
    let Terms { first, second } = *request.input_ref()?;
    let (sum, carry) = first.overflowing_add(second);
    let mut output = request.output()?;
    let place: &mut Sum = output.value()?;
    place.sum = sum;
    place.carry = carry.into();
    Ok(())
}

fn values(request: &mut Request) -> Result<(), NtStatus> {
    fn append<T: Pod>(output: &mut wdk_kmdf::Output<'_>, value: T) -> Result<(), NtStatus> {
        output.write_value(&value)
    }
    let mut output = request.output()?;
    append(&mut output, 1_u8)?;
    append(&mut output, 2_u16)?;
    // After three bytes, a reference to a `u32` would not be aligned.
    if output.value::<u32>() != Err(NtStatus::DatatypeMisalignment) || output.written() != 3 {
        return Err(NtStatus::InternalError);
    }
    append(&mut output, [3_u32; 2])
}
