//! The steps of clients that use files of the volume, as the command line has them.

use std::str::FromStr;

use crate::suggest::suggestion;

/// The number of bytes of a read, and of the output of a message.
pub(super) const LENGTH: u32 = 4096;

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
    pub(super) fn names(&self) -> (&'static str, &str) {
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
        for wrong in ["open", "delete:x", "read:x", "copy:x", "write"] {
            let message = wrong.parse::<FileStep>().expect_err(wrong);
            assert!(message.contains("expected"), "{message}");
        }
    }
}
