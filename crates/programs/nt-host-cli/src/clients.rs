//! The steps of the driver's clients.

use std::time::Duration;

use etw_types::NtStatus;
use nt_machine::{Gap, GapKind, IoRequest, RequestKind};

use super::files::Files;
use super::memory::Memory;
use super::network::Traffic;
use super::progress::{Progress, Sent, status_of};
use nt_host::Step;
use nt_host::text::hexadecimal;
use nt_host::{Answer, Device, Error, File, NtHost, PendingRequest};

/// The clients of a driver.
pub(super) struct Clients<'a> {
    host: &'a NtHost,
    /// The device; `None` if there is none, or if it was removed.
    device: &'a mut Option<Device>,
    /// The files that were opened; `None` for those that could not be opened or were closed.
    files: Vec<Option<File>>,
    /// The file in use, counted from 1; 0 before the first one.
    current: usize,
    /// The requests that were begun; `None` for those that have ended.
    begun: Vec<Option<(PendingRequest, IoRequest)>>,
    /// The number of requests that are still to be sent at the same time, their schedule, and those so far, with their files.
    together: usize,
    schedule: u32,
    waiting: Vec<(usize, IoRequest)>,
    /// What the clients have open on the volume.
    volume: Files,
    traffic: Traffic,
    memory: Memory,
}

impl<'a> Clients<'a> {
    pub(super) fn new(host: &'a NtHost, device: &'a mut Option<Device>) -> Self {
        let files = Vec::new();
        let begun = Vec::new();
        let waiting = Vec::new();
        let volume = Files::default();
        let traffic = Traffic::default();
        let memory = Memory::default();
        Self { host, device, files, current: 0, begun, together: 0, schedule: 0, waiting, volume, traffic, memory }
    }

    /// Performs the steps in order. A request that cannot be sent is recorded, and the other steps continue. Requests that
    /// are still pending at the end are canceled.
    pub(super) fn run(mut self, steps: &[Step], progress: &mut Progress) -> Result<(), Error> {
        for step in steps {
            if !matches!(step, Step::Request { .. } | Step::Handle { .. }) {
                self.send_together(progress)?;
            }
            match step {
                Step::Open { name } => self.open(name.as_deref(), progress)?,
                Step::Handle { number } => self.current = *number as usize,
                Step::Close {} => self.close(progress)?,
                Step::Request { request } if self.together != 0 => {
                    self.waiting.push((self.current, request.clone()));
                    self.together -= 1;
                    if self.together == 0 {
                        self.send_together(progress)?;
                    }
                }
                Step::Request { request } => self.send(request, progress)?,
                Step::Begin { request } => self.begin(request, progress)?,
                Step::Cancel { number } => self.cancel(*number as usize, progress)?,
                Step::Together { count, schedule } => (self.together, self.schedule) = (*count as usize, *schedule),
                Step::FailNext { call } => self.host.fail_next(*call)?,
                Step::Interrupt { number } => self.interrupt(*number, progress)?,
                Step::Wait { time } => {
                    progress.step("time");
                    self.host.advance(Duration::from_nanos(time.saturating_mul(100)))?;
                }
                Step::Sleep {} => drop(self.change("sleep", progress, Device::sleep)?),
                Step::Wake {} => drop(self.change("wake", progress, Device::wake)?),
                Step::Rebalance {} => drop(self.change("rebalance", progress, Device::rebalance)?),
                Step::Remove {} => self.remove("removal", progress, Device::remove)?,
                Step::SurpriseRemove {} => self.remove("surprise removal", progress, Device::surprise_remove)?,
                Step::AddDevice {} => self.add(progress)?,
                Step::AnswerNext { answer } => self.host.answer_next(answer.clone())?,
                Step::Change { offset, value } => self.host.change_next(*offset, *value)?,
                Step::File { step } => self.volume.perform(self.host, step, progress)?,
                Step::Connect { connection } => self.traffic.connect(self.host, connection, progress)?,
                Step::Transfer { inbound, data } => self.traffic.transfer(self.host, *inbound, data, progress)?,
                Step::Disconnect {} => self.traffic.disconnect(self.host, progress)?,
                Step::Packet { packet } => self.traffic.packet(self.host, packet, progress)?,
                Step::Memory { address, data } => self.memory.write(self.host, *address, data, progress)?,
            }
            self.memory.show_changes(progress)?;
        }
        self.send_together(progress)?;
        (1..=self.begun.len()).try_for_each(|number| self.cancel(number, progress))?;
        self.memory.show_changes(progress)?;
        progress.memory = self.memory.contents();
        self.volume.close()
    }

    /// Does something with the device. Returns whether it succeeded.
    fn change(
        &self,
        what: &str,
        progress: &mut Progress,
        change: impl FnOnce(&Device) -> Result<(), Error>,
    ) -> Result<bool, Error> {
        progress.step(what);
        let changed =
            self.device.as_ref().map_or(Ok(Err(NtStatus::NoSuchDevice)), |device| status_of(change(device)))?;
        progress.note(&format!("{what}: {}", changed.err().unwrap_or(NtStatus::Success)));
        Ok(changed.is_ok())
    }

    fn remove(
        &mut self,
        what: &str,
        progress: &mut Progress,
        remove: impl FnOnce(Device) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.change(what, progress, |device| remove(device.clone()))? {
            *self.device = None;
        }
        Ok(())
    }

    fn add(&mut self, progress: &mut Progress) -> Result<(), Error> {
        if self.device.is_none() {
            progress.step("device");
            let added = status_of(self.host.add_device())?;
            progress.note(&format!("add device: {}", added.as_ref().err().copied().unwrap_or(NtStatus::Success)));
            *self.device = added.ok();
        }
        Ok(())
    }

    fn begin(&mut self, request: &IoRequest, progress: &mut Progress) -> Result<(), Error> {
        progress.step("begin");
        // If no file is open, the device is opened for this request.
        let begun = match (self.current, self.device.as_ref()) {
            (0, Some(device)) => status_of(device.begin(request.clone()))?,
            (current, _) => match self.files.get(current.wrapping_sub(1)).and_then(Option::as_ref) {
                Some(file) => status_of(file.begin(request.clone()))?,
                None => Err(NtStatus::InvalidHandle),
            },
        };
        if let Err(status) = begun {
            not_sent(request, "the device is not open", status, progress);
        }
        self.begun.push(begun.ok().map(|pending| (pending, request.clone())));
        Ok(())
    }

    fn cancel(&mut self, number: usize, progress: &mut Progress) -> Result<(), Error> {
        let begun = self.begun.get_mut(number.wrapping_sub(1)).and_then(Option::take);
        let Some((pending, request)) = begun else { return Ok(()) };
        progress.step("cancel");
        pending.cancel()?;
        answered(&request, &pending.wait()?, progress);
        Ok(())
    }

    /// Sends the requests that wait to be sent at the same time.
    fn send_together(&mut self, progress: &mut Progress) -> Result<(), Error> {
        self.together = 0;
        if self.waiting.is_empty() {
            return Ok(());
        }
        progress.step("requests");
        let file = |number: usize| self.files.get(number.wrapping_sub(1)).and_then(Option::as_ref);
        let waiting = std::mem::take(&mut self.waiting);
        let requests: Vec<(&File, IoRequest)> =
            waiting.iter().filter_map(|(number, request)| Some((file(*number)?, request.clone()))).collect();
        for (_, request) in waiting.iter().filter(|(number, _)| file(*number).is_none()) {
            not_sent(request, "the device is not open", NtStatus::InvalidHandle, progress);
        }
        for ((_, request), answer) in requests.iter().zip(self.host.interleave(self.schedule, &requests)?) {
            answered(request, &answer, progress);
        }
        Ok(())
    }

    fn open(&mut self, name: Option<&str>, progress: &mut Progress) -> Result<(), Error> {
        progress.step("open");
        let gaps = self.host.gaps().len();
        let opened = match (name, self.device.as_ref()) {
            (Some(name), _) => status_of(self.host.open(name))?,
            (None, Some(device)) => status_of(device.open())?,
            (None, None) => Err(NtStatus::NoSuchDevice),
        };
        let name = name.unwrap_or("device");
        match &opened {
            Ok(_) => progress.note(&format!("open {name}: handle {}", self.files.len() + 1)),
            Err(status) => {
                progress.note(&format!("open {name}: {status}"));
                // If the driver itself refused, it has received the request, and there is no gap.
                let arrived = self.host.gaps().len() == gaps;
                progress.requests.push(Sent { arrived, ..Sent::not_sent("open", 0, *status) });
            }
        }
        self.files.push(opened.ok());
        self.current = self.files.len();
        Ok(())
    }

    fn close(&mut self, progress: &mut Progress) -> Result<(), Error> {
        progress.step("close");
        let closed = match self.files.get_mut(self.current.wrapping_sub(1)).and_then(Option::take) {
            Some(file) => status_of(file.close())?,
            None => Err(NtStatus::InvalidHandle),
        };
        if let Err(status) = closed {
            progress.note(&format!("close: {status}"));
            progress.requests.push(Sent::not_sent("close", 0, status));
            progress.gaps.push(not_reached("close", "the device is not open", status));
        }
        Ok(())
    }

    fn interrupt(&self, number: u32, progress: &mut Progress) -> Result<(), Error> {
        progress.step("interrupt");
        let raised = match self.device.as_ref() {
            Some(device) => status_of(device.interrupt(number))?,
            None => Err(NtStatus::NoSuchDevice),
        };
        match raised {
            Ok(claimed) => {
                progress.note(&format!("interrupt {number}: {}", if claimed { "handled" } else { "not handled" }));
            }
            Err(status) => {
                progress.note(&format!("interrupt {number}: not connected: {status}"));
                progress.requests.push(Sent::not_sent("interrupt", number, status));
                if self.device.is_none() {
                    progress.gaps.push(not_reached(&format!("interrupt {number}"), NO_DEVICE, status));
                }
            }
        }
        Ok(())
    }

    fn send(&self, request: &IoRequest, progress: &mut Progress) -> Result<(), Error> {
        progress.step(name(request.kind));
        // If no file is open, open the device for this request.
        let own = match (self.current, self.device.as_ref()) {
            (0, Some(device)) => Some(status_of(device.open())?),
            (0, None) => Some(Err(NtStatus::NoSuchDevice)),
            _ => None,
        };
        let file = match &own {
            Some(opened) => opened.as_ref().map_err(|status| *status),
            None => self.files.get(self.current - 1).and_then(Option::as_ref).ok_or(NtStatus::InvalidHandle),
        };
        match file {
            Ok(file) => match status_of(file.begin(request.clone()))? {
                Ok(pending) => answered(request, &pending.wait()?, progress),
                Err(status) => refused(request, status, progress),
            },
            Err(status) => {
                let why = match (&own, self.device.as_ref()) {
                    (Some(_), None) => NO_DEVICE,
                    (Some(_), Some(_)) => "opening the device failed",
                    (None, _) => "the device is not open",
                };
                not_sent(request, why, status, progress);
            }
        }
        if let Some(Ok(file)) = own {
            // The device may have been removed meanwhile, and the file with it.
            let _ = status_of(file.close())?;
        }
        Ok(())
    }
}

/// Returns the name of a request, with its code.
fn line(request: &IoRequest) -> String {
    let what = name(request.kind);
    if request.kind.has_code() { format!("{what} {:08X}", request.code) } else { what.to_owned() }
}

/// Records the result of a request.
fn answered(request: &IoRequest, answer: &Answer, progress: &mut Progress) {
    let what = name(request.kind);
    let code = request.code;
    let status = answer.status;
    let arrived = answer.reached;
    let output = hexadecimal(&answer.output);
    let rest = if arrived { output.as_str() } else { "(it did not reach the driver)" };
    progress.note(format!("{}: {status} {rest}", line(request)).trim_end());
    progress.requests.push(Sent { what, code, status, output, arrived });
}

/// Records a request that was refused before it was sent.
fn refused(request: &IoRequest, status: NtStatus, progress: &mut Progress) {
    progress.note(&format!("{}: not sent: {status}", line(request)));
    progress.requests.push(Sent::not_sent(name(request.kind), request.code, status));
}

/// Records a request that could not be sent, which is a gap.
fn not_sent(request: &IoRequest, why: &str, status: NtStatus, progress: &mut Progress) {
    progress.gaps.push(not_reached(&line(request), why, status));
    refused(request, status, progress);
}

/// Why a request cannot be sent.
const NO_DEVICE: &str = "there is no device";

/// Returns the gap of a request that the client could not send.
fn not_reached(what: &str, why: &str, status: NtStatus) -> Gap {
    let detail = format!("{what} did not reach the driver: {why} ({status})");
    Gap { kind: GapKind::NotReached, detail, advice: Vec::new() }
}

const fn name(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::DEVICE_CONTROL => "ioctl",
        RequestKind::INTERNAL_DEVICE_CONTROL => "internal ioctl",
        RequestKind::READ => "read",
        RequestKind::WRITE => "write",
        _ => "request",
    }
}
