//! What clients do with files of the volume, or a communication port of the minifilter.

use etw_types::NtStatus;
use nt_machine::Answer;

use super::file_steps::{FileStep, LENGTH};
use super::progress::{Progress, Sent, status_of};
use crate::{Error, NtHost, Port, VolumeFile};

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
        let (what, about) = step.names();
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
        let opened = match step {
            FileStep::Open(path) => Some(volume.open(path)),
            FileStep::Create(path) => Some(volume.create(path)),
            FileStep::Folder(path) => Some(volume.create_folder(path)),
            _ => None,
        };
        if let Some(opened) = opened {
            self.close_file()?;
            let opened = status_of(opened)?;
            self.position = 0;
            let status = opened.as_ref().map_or_else(|status| *status, |_| NtStatus::Success);
            self.file = opened.ok();
            return Ok(Ok((status, String::new())));
        }
        let closed = Ok(Err(NtStatus::InvalidHandle));
        match step {
            FileStep::Attach => nothing(volume.attach()),
            FileStep::Detach => nothing(volume.detach()),
            FileStep::Connect(name) => {
                let port = status_of(volume.connect(name, &[]))?;
                Ok(port.map(|port| self.port = Some(port)).map(|()| (NtStatus::Success, String::new())))
            }
            FileStep::Send(message) => match &self.port {
                Some(port) => {
                    Ok(status_of(port.send(message.as_bytes(), LENGTH))?.as_ref().map(text).map_err(|status| *status))
                }
                None => closed,
            },
            FileStep::Reply(reply) => match &self.port {
                Some(port) => nothing(port.reply(reply.as_bytes())),
                None => closed,
            },
            FileStep::Close => match self.file.take() {
                Some(file) => nothing(file.close()),
                None => closed,
            },
            _ => match &self.file {
                Some(file) => Self::use_file(file, step, &mut self.position),
                None => closed,
            },
        }
    }

    fn use_file(file: &VolumeFile, step: &FileStep, position: &mut u64) -> Result<Done, Error> {
        let answer = match step {
            FileStep::Read(length) => file.read(*position, *length),
            FileStep::Write(data) => file.write(*position, data.as_bytes()),
            FileStep::Rename(path) => file.rename(path),
            FileStep::List(pattern) => {
                return Ok(status_of(file.list(pattern))?.map(|names| (NtStatus::Success, names.join(" "))));
            }
            _ => file.delete(),
        };
        let answer = status_of(answer)?;
        if let Ok(answer) = &answer
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
        self.port.take().map_or(Ok(()), |port| status_of(port.close()).map(drop))
    }
}
