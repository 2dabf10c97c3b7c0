//! What clients do with files of the volume, or a communication port of the minifilter.

use etw_types::NtStatus;
use nt_machine::{Answer, FileRequest};

use super::progress::{Progress, Sent, status_of};
use nt_host::FileStep;
use nt_host::{Error, FileOperation, NtHost, Port, VolumeFile};

/// What the clients have open: a file with the position in it, and a port.
#[derive(Default)]
pub(super) struct Files {
    file: Option<VolumeFile>,
    position: u64,
    port: Option<Port>,
}

/// The result of a step: a status, and the text of its output.
type Done = Result<(NtStatus, String), NtStatus>;

fn text(answer: &Answer) -> (NtStatus, String) {
    (answer.status, String::from_utf8_lossy(&answer.output).into_owned())
}

impl Files {
    /// Performs a step. One that the minifilter or the file system refuses is recorded, and the others continue.
    pub(super) fn perform(&mut self, host: &NtHost, step: &FileStep, progress: &mut Progress) -> Result<(), Error> {
        let what = step.word();
        let about = step.name().unwrap_or_default();
        progress.step(what);
        let gaps = host.gaps().len();
        let done = self.run(host, step)?;
        let (status, output) = done.unwrap_or_else(|status| (status, String::new()));
        let line = format!("file {what} {about}");
        progress.note(format!("{}: {status} {output}", line.trim_end()).trim_end());
        let arrived = host.gaps().len() == gaps;
        let output = output.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        progress.requests.push(Sent { what, code: 0, status, output, arrived });
        Ok(())
    }

    fn run(&mut self, host: &NtHost, step: &FileStep) -> Result<Done, Error> {
        let volume = host.volume();
        let nothing = |result| status_of(result).map(|done| done.map(|()| (NtStatus::Success, String::new())));
        let closed = Ok(Err(NtStatus::InvalidHandle));
        if let Some(open) = step.open() {
            self.close_file()?;
            self.position = 0;
            let opened = status_of(volume.open_with(open))?;
            return Ok(opened.map(|file| self.file = Some(file)).map(|()| (NtStatus::Success, String::new())));
        }
        if let Some(request) = step.request(self.position) {
            return self.file.as_ref().map_or(closed, |file| Self::use_file(file, step, request, &mut self.position));
        }
        match (step, &self.port) {
            (FileStep::Attach {}, _) => nothing(volume.attach()),
            (FileStep::Detach {}, _) => nothing(volume.detach()),
            (FileStep::Connect { name }, _) => {
                self.close_port()?;
                let port = status_of(volume.connect(name, &[]))?;
                Ok(port.map(|port| self.port = Some(port)).map(|()| (NtStatus::Success, String::new())))
            }
            (FileStep::Send { data, output }, Some(port)) => {
                Ok(status_of(port.send(data, *output))?.as_ref().map(text).map_err(|status| *status))
            }
            (FileStep::Reply { data }, Some(port)) => nothing(port.reply(data)),
            (FileStep::Disconnect {}, Some(_)) => nothing(self.port.take().map_or(Ok(()), Port::close)),
            (FileStep::Close {}, _) => self.file.take().map_or(closed, |file| nothing(file.close())),
            _ => closed,
        }
    }

    fn use_file(file: &VolumeFile, step: &FileStep, request: FileRequest, position: &mut u64) -> Result<Done, Error> {
        if let FileStep::List { pattern } = step {
            return Ok(status_of(file.list(pattern))?.map(|names| (NtStatus::Success, names.join(" "))));
        }
        let answer = status_of(file.begin(request).and_then(FileOperation::wait))?;
        if let (FileStep::Read { .. } | FileStep::Write { .. }, Ok(answer)) = (step, &answer)
            && answer.status.is_success()
        {
            *position += answer.information;
        }
        Ok(answer.as_ref().map(text).map_err(|status| *status))
    }

    fn close_file(&mut self) -> Result<(), Error> {
        self.file.take().map_or(Ok(()), |file| status_of(file.close()).map(drop))
    }

    /// Closes what is open.
    pub(super) fn close(mut self) -> Result<(), Error> {
        self.close_file()?;
        self.close_port()
    }

    fn close_port(&mut self) -> Result<(), Error> {
        self.port.take().map_or(Ok(()), |port| status_of(port.close()).map(drop))
    }
}
