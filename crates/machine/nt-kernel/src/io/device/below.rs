//! The devices of other drivers. The test or the command line scripts how they complete requests.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use etw_types::NtStatus;
use nt_processor::layout::{IO_STACK_LOCATION, IRP};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, OrStop as _};
use nt_verifier::routine::DISPATCH;
use nt_verifier::verify::gap;
use windows_constants::request::SL_PENDING_RETURNED;

use crate::config::Below;
use crate::io::{device, mdl, request};
use crate::sync::irql;
use crate::sync::scheduler::Timer;
use crate::{Kernel, RequestKind, kernel, lock};

/// How the next requests complete, before the scripts of the configuration apply.
#[derive(Debug, Default)]
pub struct Answers {
    next: Mutex<VecDeque<Below>>,
    /// The number of reads, writes and control requests so far.
    asked: AtomicU64,
}

impl Answers {
    /// Adds an answer for one request. `None` forgets all answers that are left.
    pub fn add(&self, answer: Option<Below>) {
        let mut next = lock(&self.next);
        match answer {
            Some(answer) => next.push_back(answer),
            None => next.clear(),
        }
    }

    /// Returns the number of reads, writes and control requests that devices of other drivers have received.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Takes the first answer that is for a request.
    fn take(&self, wanted: impl Fn(&Below) -> bool) -> Option<Below> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let mut next = lock(&self.next);
        let index = next.iter().position(wanted)?;
        next.remove(index)
    }
}

/// The scripted result of a request.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status that the request is completed with.
    pub status: NtStatus,
    /// The bytes for the output buffer.
    pub output: Vec<u8>,
    /// The delay in units of 100 ns.
    pub delay: u64,
}

impl Response {
    /// Stores the part of the output that fits into the buffer. Returns the number of transferred bytes.
    pub fn store(&self, kind: RequestKind, room: GuestSlice<u8>, written: u64) -> Result<u64, Fault> {
        if self.status.is_error() {
            return Ok(0);
        }
        if kind == RequestKind::WRITE {
            return Ok(written);
        }
        let length = room.len().min(self.output.len() as u64);
        room.start().write_all(self.output.get(..length as usize).unwrap_or_default())?;
        Ok(length)
    }
}

/// Returns the scripted response of the device with this name, or of the device below the driver if there is no name.
/// Returns `None` if no script matches the request.
pub fn response(device: Option<&str>, kind: RequestKind, code: u32) -> Option<Response> {
    let Kernel { answers, config, .. } = kernel();
    // A script without a kind does not apply to plug and play, power, open and close requests.
    let any = kind.has_code() || matches!(kind, RequestKind::READ | RequestKind::WRITE);
    let fits =
        |below: &Below| below.kind.map_or(any, |known| known == kind) && below.code.is_none_or(|known| known == code);
    let is_next = |below: &Below| (below.device.is_none() || below.device.as_deref() == device) && fits(below);
    let next = if any { answers.take(is_next) } else { None };
    let below = next.or_else(|| {
        let mut scripts = config.below.iter();
        scripts.find(|below| below.device.as_deref() == device && fits(below)).cloned()
    })?;
    let delay = u64::try_from(below.delay.as_nanos() / 100).unwrap_or(u64::MAX);
    Some(Response { status: below.status, output: below.output, delay })
}

/// Notes that a device of another driver refuses a request, with the option that scripts it.
pub fn note_refused(device: Option<String>, kind: RequestKind, code: u32) {
    let script = match kind {
        RequestKind::DEVICE_CONTROL => format!("ioctl:{code:X}=0:HEX"),
        RequestKind::INTERNAL_DEVICE_CONTROL => format!("internal-ioctl:{code:X}=0:HEX"),
        RequestKind::READ => "read=0:HEX".to_owned(),
        RequestKind::WRITE => "write=0".to_owned(),
        _ => return,
    };
    gap::note(match device.filter(|name| !name.is_empty()) {
        Some(name) => format!("the device {name} refused a request: script it with --remote {name},{script}"),
        None => format!("the device below refused a request: script it with --below {script}"),
    });
}

/// Notes that there is no device with the name that the driver opens.
pub fn note_missing(name: &str) {
    gap::note(format!("the driver did not find the device {name}: add it with --remote {name},any=0"));
}

/// Runs `action` after a delay, at `DISPATCH_LEVEL`, like the DPC of an interrupt.
pub fn later(key: u64, delay: u64, action: impl Fn() + Send + Sync + 'static) {
    let Kernel { scheduler, .. } = kernel();
    let due = scheduler.now().saturating_add(delay);
    let at_dispatch = move || {
        let old = irql::raise(DISPATCH);
        action();
        irql::lower(old);
    };
    let timer = Timer { key, due, period: 0, signals: None, action: Some(Arc::new(at_dispatch)), from: 0 };
    scheduler.change(|state| state.timers.push(timer));
}

/// Completes an IRP as scripted. Returns `None` if no script matches it.
pub(in crate::io) fn serve(irp: GuestPtr<IRP>, place: GuestPtr<IO_STACK_LOCATION>) -> Result<Option<NtStatus>, Fault> {
    let kind = RequestKind::from_int(place.MajorFunction().read()?);
    let [length, _, code, _] = place.Parameters().read()?;
    let code = if kind.has_code() { code as u32 } else { 0 };
    let name = device::name_of_others(place.DeviceObject().read()?).filter(|name| !name.is_empty());
    let Some(response) = response(name.as_deref(), kind, code) else { return Ok(None) };
    let room = buffer(irp, kind, code)?.map_or(GuestPtr::<u8>::NULL.array(0), |start| start.array(length));
    let information = response.store(kind, room, length)?;
    irp.IoStatus().Status().write(response.status)?;
    irp.IoStatus().Information().write(information)?;
    if response.delay == 0 {
        request::complete(irp)?;
        return Ok(Some(response.status));
    }
    place.Control().change(|control| control | SL_PENDING_RETURNED)?;
    later(irp.address(), response.delay, move || {
        request::not_cancelable(irp);
        request::complete(irp).or_stop();
    });
    // Like other drivers, this one completes a request that is canceled, also if it was canceled before it arrived.
    request::when_canceled(irp, move || cancel(irp).or_stop());
    if irp.Cancel().read()? != 0 {
        request::cancel(irp)?;
    }
    Ok(Some(NtStatus::Pending))
}

/// Completes a canceled IRP, unless it is being completed.
fn cancel(irp: GuestPtr<IRP>) -> Result<(), Fault> {
    if !kernel().scheduler.change(|state| state.unset(irp.address())) {
        return Ok(());
    }
    irp.IoStatus().Status().write(NtStatus::Cancelled)?;
    irp.IoStatus().Information().write(0)?;
    request::complete(irp)
}

/// Returns the output buffer of an IRP.
fn buffer(irp: GuestPtr<IRP>, kind: RequestKind, code: u32) -> Result<Option<GuestPtr<u8>>, Fault> {
    let neither = kind.has_code() && code & 3 == 3;
    let buffered = !kind.has_code() || code.trailing_zeros() >= 2;
    if let Some(system) = irp.SystemBuffer().read()?.non_null().filter(|_| buffered) {
        return Ok(Some(system));
    }
    match irp.MdlAddress().read()?.non_null().filter(|_| !neither) {
        Some(list) => mdl::start(list).map(Some),
        None => Ok(irp.UserBuffer().read()?.non_null()),
    }
}
