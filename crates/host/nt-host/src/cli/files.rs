//! The steps of clients that use files of the volume, or a communication port of the minifilter.

use std::str::FromStr;

use etw_types::NtStatus;
use nt_machine::Answer;

use super::clients::status_of;
use super::progress::{Progress, Sent};
use crate::suggest::suggestion;
use crate::{Error, NtHost, Port, VolumeFile};

/// The number of bytes of a read, and of the output of a message.
const LENGTH: u32 = 4096;

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileStep {
    Open(String),
    Create(String),
    Folder(String),
    Read(u32),
    Write(String),
    Rename(String),
    Delete,
    List(String),
    Close,
    Attach,
    Detach,
    Connect(String),
    Send(String),
    Reply(String),
}

/// The words of the steps.
const WORDS: [&str; 14] = [
    "open", "create", "folder", "read", "write", "rename", "delete", "list", "close", "attach", "detach", "connect",
    "send", "reply",
];

impl FromStr for FileStep {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
        let needs = |what: &str| {
            rest.map(str::to_owned).ok_or_else(|| format!("`{text}` needs {what}: expected for example {word}:{what}"))
        };
        let or_empty = rest.unwrap_or_default().to_owned();
        Ok(match word {
            "open" => Self::Open(needs(r"\dir\a.txt")?),
            "create" => Self::Create(needs(r"\dir\a.txt")?),
            "folder" => Self::Folder(needs(r"\dir")?),
            "rename" => Self::Rename(needs(r"\dir\b.txt")?),
            "write" => Self::Write(needs("text")?),
            "connect" => Self::Connect(needs(r"\PortName")?),
            "reply" => Self::Reply(needs("text")?),
            "send" => Self::Send(or_empty),
            "list" => Self::List(rest.unwrap_or("*").to_owned()),
            "read" => {
                let bad = |_| format!("`{text}` does not say how much to read: expected for example read:64");
                Self::Read(rest.map_or(Ok(LENGTH), |count| count.parse().map_err(bad))?)
            }
            "delete" | "close" | "attach" | "detach" if rest.is_some() => {
                return Err(format!("`{word}` takes no value: expected {word}"));
            }
            "delete" => Self::Delete,
            "close" => Self::Close,
            "attach" => Self::Attach,
            "detach" => Self::Detach,
            _ => {
                return Err(format!(
                    "`{word}` is not a step: expected {}{}",
                    WORDS.join(", "),
                    suggestion(word, &WORDS)
                ));
            }
        })
    }
}

impl FileStep {
    /// Returns the name of the step, and what it is about.
    fn names(&self) -> (&'static str, &str) {
        match self {
            Self::Open(path) => ("open", path),
            Self::Create(path) => ("create", path),
            Self::Folder(path) => ("folder", path),
            Self::Read(_) => ("read", ""),
            Self::Write(_) => ("write", ""),
            Self::Rename(path) => ("rename", path),
            Self::Delete => ("delete", ""),
            Self::List(pattern) => ("list", pattern),
            Self::Close => ("close", ""),
            Self::Attach => ("attach", ""),
            Self::Detach => ("detach", ""),
            Self::Connect(name) => ("connect", name),
            Self::Send(_) => ("send", ""),
            Self::Reply(_) => ("reply", ""),
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::FileStep;

    #[test]
    fn steps_are_words_with_values() {
        assert_eq!(r"open:\a:b".parse(), Ok(FileStep::Open(r"\a:b".into())));
        assert_eq!("read".parse(), Ok(FileStep::Read(4096)));
        assert_eq!("read:3".parse(), Ok(FileStep::Read(3)));
        assert_eq!("list".parse(), Ok(FileStep::List("*".into())));
        assert_eq!("delete".parse(), Ok(FileStep::Delete));
        for wrong in ["open", "delete:x", "read:x", "opne:x", "write"] {
            let message = wrong.parse::<FileStep>().expect_err(wrong);
            assert!(message.contains("expected"), "{message}");
        }
    }
}
