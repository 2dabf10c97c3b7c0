//! The steps of the driver's clients.

use etw_types::NtStatus;
use nt_machine::{Gap, GapKind, IoRequest, RequestKind};

use super::args::Step;
use super::files::Files;
use super::progress::{Progress, Sent, status_of};
use crate::{Device, Error, File, NtHost};

/// The clients of a driver.
pub(super) struct Clients<'a> {
    host: &'a NtHost,
    /// The device for requests when no file is open.
    device: Option<&'a Device>,
    /// The files that were opened; `None` for those that could not be opened or were closed.
    files: Vec<Option<File>>,
    /// The file in use, counted from 1; 0 before the first one.
    current: usize,
    /// What the clients have open on the volume.
    volume: Files,
}

impl<'a> Clients<'a> {
    pub(super) fn new(host: &'a NtHost, device: Option<&'a Device>) -> Self {
        Self { host, device, files: Vec::new(), current: 0, volume: Files::default() }
    }

    /// Performs the steps in order. A request that cannot be sent is recorded, and the other steps continue.
    pub(super) fn run(mut self, steps: &[Step], progress: &mut Progress) -> Result<(), Error> {
        for step in steps {
            match step {
                Step::Open(name) => self.open(name, progress)?,
                Step::Handle(number) => self.current = *number,
                Step::Close => self.close(progress)?,
                Step::Request(request) => self.send(request, progress)?,
                Step::Interrupt(number) => self.interrupt(*number, progress)?,
                Step::File(step) => self.volume.perform(self.host, step, progress)?,
                Step::Wait(time) => {
                    progress.step("time");
                    self.host.advance(*time)?;
                }
            }
        }
        self.volume.close()
    }

    fn open(&mut self, name: &str, progress: &mut Progress) -> Result<(), Error> {
        progress.step("open");
        let gaps = self.host.gaps().len();
        let opened = status_of(self.host.open(name))?;
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
        let raised = match self.device {
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
        let (what, code) = (name(request.kind), request.code);
        let line = if request.kind.has_code() { format!("{what} {code:08X}") } else { what.to_owned() };
        progress.step(what);
        // If no file is open, open the device for this request.
        let own = match (self.current, self.device) {
            (0, Some(device)) => Some(status_of(device.open())?),
            (0, None) => Some(Err(NtStatus::NoSuchDevice)),
            _ => None,
        };
        let file = match &own {
            Some(opened) => opened.as_ref().map_err(|status| *status),
            None => self.files.get(self.current - 1).and_then(Option::as_ref).ok_or(NtStatus::InvalidHandle),
        };
        let begun = match file {
            Ok(file) => status_of(file.begin(request.clone()))?,
            Err(status) => {
                let why = match (&own, self.device) {
                    (Some(_), None) => NO_DEVICE,
                    (Some(_), Some(_)) => "opening the device failed",
                    (None, _) => "the device is not open",
                };
                progress.gaps.push(not_reached(&line, why, status));
                Err(status)
            }
        };
        match begun {
            Ok(pending) => {
                let answer = pending.wait()?;
                let output = answer.output.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
                let arrived = answer.reached;
                let rest = if arrived { output.as_str() } else { "(it did not reach the driver)" };
                progress.note(format!("{line}: {} {rest}", answer.status).trim_end());
                progress.requests.push(Sent { what, code, status: answer.status, output, arrived });
            }
            Err(status) => {
                progress.note(&format!("{line}: not sent: {status}"));
                progress.requests.push(Sent::not_sent(what, code, status));
            }
        }
        if let Some(Ok(file)) = own {
            // The device may have been removed meanwhile, and the file with it.
            let _ = status_of(file.close())?;
        }
        Ok(())
    }
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
