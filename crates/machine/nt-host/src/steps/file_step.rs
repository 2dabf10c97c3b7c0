//! A step of a client that uses a file of the volume or a communication port: the declaration of each.

use std::fmt;
use std::str::FromStr;

use nt_machine::{FileOpen, FileRequest};

use super::declare::steps;
use super::form::{switch, value};
use super::requests;
use crate::text::{TextError, bytes, hexadecimal, number, suggestion};

steps! {
    /// A step of a client that uses a file or a port. There is one of each, and reads and writes continue where the last one
    /// ended.
    ///
    /// ```
    /// use nt_host::FileStep;
    ///
    /// let step: FileStep = "query:5/24".parse().expect("a step");
    /// assert_eq!(step, FileStep::Query { class: 5, length: 24 });
    /// assert_eq!((step.word(), step.name()), ("query", None));
    /// assert!(step.open().is_none());
    /// assert_eq!(step.request(0).expect("an operation on the open file").output, 24);
    /// println!("{}", FileStep::words());
    /// ```
    FileStep {
        /// Creates a file.
        Create { path: String } = 2 {
            read "create" <"PATH"> like [r"\dir\a.txt"] => |text| Ok(FileStep::Create { path: text.to_owned() });
            write => value("create", path);
            test |code| => code.open_file(&format!("create({path:?})"));
        }
        /// Opens a file or a folder.
        Open { path: String } = 1 {
            read "open" <"PATH"> like [r"\dir\a.txt", r"\dir\a b:c"] => |text| Ok(FileStep::Open { path: text.to_owned() });
            write => value("open", path);
            test |code| => code.open_file(&format!("open({path:?})"));
        }
        /// Writes to the file.
        Write { data: Vec<u8> } = 5 {
            read "write" <"TEXT"> like ["plain text"] => |text| Ok(FileStep::Write { data: text.as_bytes().to_vec() });
            read "write-hex" <"HEX"> like ["00ff"] => |text| Ok(FileStep::Write { data: bytes(text)? });
            write => if is_text(data) { value("write", String::from_utf8_lossy(data)) } else { value("write-hex", hexadecimal(data)) };
            test |code| => code.move_in_file(&format!("write(position, &{data:?})"));
        }
        /// Reads from the file.
        Read { length: u32 } = 4 {
            read "read" <"BYTES"> default "4096" like ["64"] => |text| Ok(FileStep::Read { length: length(text)? });
            write => value("read", length.to_string());
            test |code| => code.move_in_file(&format!("read(position, {length})"));
        }
        /// Queries information of a class.
        Query { class: u32, length: u32 } = 6 {
            read "query" <"CLASS[/LENGTH]"> like ["5/24", "5"] => |text| {
                let (class, output) = text.split_once('/').unwrap_or((text, LENGTH));
                Ok(FileStep::Query { class: length(class)?, length: length(output)? })
            };
            write => value("query", format!("{class}/{length}"));
            test |code| => code.use_file(&format!("query({class}, {length})"));
        }
        /// Sets information of a class.
        Set { class: u32, data: Vec<u8> } = 7 {
            read "set" <"CLASS:HEX"> like ["20:0300000000000000"] => |text| {
                let (class, data) = text.split_once(':').unwrap_or((text, ""));
                Ok(FileStep::Set { class: length(class)?, data: bytes(data)? })
            };
            write => value("set", format!("{class}:{}", hexadecimal(data)));
            test |code| => code.use_file(&format!("set({class}, &{data:?})"));
        }
        /// Renames the file.
        Rename { path: String } = 8 {
            read "rename" <"PATH"> like [r"\dir\b.txt"] => |text| Ok(FileStep::Rename { path: text.to_owned() });
            write => value("rename", path);
            test |code| => code.use_file(&format!("rename({path:?})"));
        }
        /// Marks the file for deletion.
        Delete {} = 9 {
            read "delete" <""> like [""] => |_| Ok(FileStep::Delete {});
            write => switch("delete");
            test |code| => code.use_file("delete()");
        }
        /// Closes the file.
        Close {} = 11 {
            read "close" <""> like [""] => |_| Ok(FileStep::Close {});
            write => switch("close");
            test |code| => code.line("let _ = file.take().map(VolumeFile::close);");
        }
        /// Creates a folder.
        Folder { path: String } = 3 {
            read "folder" <"PATH"> like [r"\folder"] => |text| Ok(FileStep::Folder { path: text.to_owned() });
            write => value("folder", path);
            test |code| => code.open_file(&format!("create_folder({path:?})"));
        }
        /// Lists the folder.
        List { pattern: String } = 10 {
            read "list" <"PATTERN"> default "*" like ["*.txt"] => |text| Ok(FileStep::List { pattern: text.to_owned() });
            write => value("list", pattern);
            test |code| => code.use_file(&format!("list({pattern:?})"));
        }
        /// Detaches the minifilter.
        Detach {} = 13 {
            read "detach" <""> like [""] => |_| Ok(FileStep::Detach {});
            write => switch("detach");
            test |code| => code.line("let _ = host.volume().detach();");
        }
        /// Attaches the minifilter to the volume.
        Attach {} = 12 {
            read "attach" <""> like [""] => |_| Ok(FileStep::Attach {});
            write => switch("attach");
            test |code| => code.line("let _ = host.volume().attach();");
        }
        /// Connects to a communication port.
        Connect { name: String } = 14 {
            read "connect" <"NAME"> like [r"\PortName"] => |text| Ok(FileStep::Connect { name: text.to_owned() });
            write => value("connect", name);
            test |code| => {
                code.line("let _ = port.take().map(Port::close);");
                code.line(&format!("port = host.volume().connect({name:?}, &[]).ok();"));
            };
        }
        /// Sends a message.
        Send { data: Vec<u8>, output: u32 } = 15 {
            read "send" <"TEXT"> default "" like ["plain text"]
                => |text| Ok(FileStep::Send { data: text.as_bytes().to_vec(), output: FileStep::LENGTH });
            read "send-hex" <"HEX[/LENGTH]"> like ["01/4", "00ff"] => |text| {
                let (data, output) = text.split_once('/').unwrap_or((text, LENGTH));
                Ok(FileStep::Send { data: bytes(data)?, output: length(output)? })
            };
            write => if *output == FileStep::LENGTH && is_text(data) {
                value("send", String::from_utf8_lossy(data))
            } else {
                value("send-hex", format!("{}/{output}", hexadecimal(data)))
            };
            test |code| => code.use_port(&format!("send(&{data:?}, {output})"));
        }
        /// Gives the reply to the minifilter's next message.
        Reply { data: Vec<u8> } = 16 {
            read "reply" <"TEXT"> like ["plain text"] => |text| Ok(FileStep::Reply { data: text.as_bytes().to_vec() });
            read "reply-hex" <"HEX"> like ["00ff"] => |text| Ok(FileStep::Reply { data: bytes(text)? });
            write => if is_text(data) { value("reply", String::from_utf8_lossy(data)) } else { value("reply-hex", hexadecimal(data)) };
            test |code| => code.use_port(&format!("reply(&{data:?})"));
        }
        /// Closes the connection to the port.
        Disconnect {} = 17 {
            read "disconnect" <""> like [""] => |_| Ok(FileStep::Disconnect {});
            write => switch("disconnect");
            test |code| => code.line("let _ = port.take().map(Port::close);");
        }
    }
}

/// [`FileStep::LENGTH`] as text.
const LENGTH: &str = "4096";

impl FileStep {
    /// The number of bytes of a read, of a query and of the output of a message, unless they are given.
    pub const LENGTH: u32 = 4096;

    /// Returns the word of the step.
    ///
    /// ```
    /// use nt_host::FileStep;
    ///
    /// assert_eq!(FileStep::Read { length: 64 }.word(), "read");
    /// assert!(FileStep::words().contains("read"));
    /// ```
    #[must_use]
    pub fn word(&self) -> &'static str {
        let (word, _) = self.written();
        word.trim_end_matches("-hex")
    }

    /// Returns all words, with what their values are called.
    #[must_use]
    pub fn words() -> String {
        let described = Self::forms().iter().map(|form| match (form.value, form.default) {
            ("", _) => form.name.to_owned(),
            (value, None) => format!("{}:{value}", form.name),
            (value, Some(_)) => format!("{}[:{value}]", form.name),
        });
        described.collect::<Vec<_>>().join(", ")
    }

    /// Returns how the step opens a file.
    #[must_use]
    pub fn open(&self) -> Option<FileOpen> {
        match self {
            Self::Open { path } => Some(requests::open(path)),
            Self::Create { path } => Some(requests::create(path)),
            Self::Folder { path } => Some(requests::create_folder(path)),
            _ => None,
        }
    }

    /// Returns the operation of the step on the open file.
    #[must_use]
    pub fn request(&self, position: u64) -> Option<FileRequest> {
        match self {
            Self::Read { length } => Some(requests::read(position, *length)),
            Self::Write { data } => Some(requests::write(position, data)),
            Self::Query { class, length } => Some(requests::query(*class, *length)),
            Self::Set { class, data } => Some(requests::set(*class, data.clone())),
            Self::Rename { path } => Some(requests::rename(path)),
            Self::Delete {} => Some(requests::delete()),
            Self::List { pattern } => Some(requests::list(pattern)),
            _ => None,
        }
    }

    /// Returns the path, the pattern or the name of the port.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::List { pattern } => Some(pattern),
            Self::Connect { name } => Some(name),
            _ => self.path(),
        }
    }

    /// Returns the path of the file that the step opens, or that the file gets.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Open { path } | Self::Create { path } | Self::Folder { path } | Self::Rename { path } => Some(path),
            _ => None,
        }
    }

    /// Returns this path, to change it.
    pub(crate) const fn path_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Open { path } | Self::Create { path } | Self::Folder { path } | Self::Rename { path } => Some(path),
            _ => None,
        }
    }

    /// Returns the data that the step sends.
    pub(super) const fn data(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Write { data } | Self::Set { data, .. } | Self::Send { data, .. } | Self::Reply { data } => {
                Some(data)
            }
            _ => None,
        }
    }

    /// Returns the data that the step sends, to change it.
    pub(super) const fn data_mut(&mut self) -> Option<&mut Vec<u8>> {
        match self {
            Self::Write { data } | Self::Set { data, .. } | Self::Send { data, .. } | Self::Reply { data } => {
                Some(data)
            }
            _ => None,
        }
    }
}

/// As after `--file`: `open:\a.txt`.
impl fmt::Display for FileStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, value) = self.written();
        f.write_str(word)?;
        value.map_or(Ok(()), |value| write!(f, ":{value}"))
    }
}

impl FromStr for FileStep {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let (word, value) = text.split_once(':').map_or((text, None), |(word, value)| (word, Some(value)));
        let Some(form) = Self::forms().iter().find(|form| form.name == word) else {
            let names: Vec<&str> = Self::forms().iter().map(|form| form.name).collect();
            let expected = format!("expected {}{}", names.join(", "), suggestion(word, &names));
            return Err(TextError::malformed(word, "is not a step", expected));
        };
        if form.value.is_empty() && value.is_some() {
            return Err(TextError::malformed(word, "takes no value", format!("expected {word}")));
        }
        let missing = || {
            let example = form.examples.first().copied().unwrap_or_default();
            TextError::malformed(text, "needs a value", format!("expected for example {word}:{example}"))
        };
        let default = if form.value.is_empty() { Some("") } else { form.default };
        form.read(value.or(default).ok_or_else(missing)?)
    }
}

/// Returns whether data can be written as text on the command line.
fn is_text(data: &[u8]) -> bool {
    data.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ')
}

fn length(text: &str) -> Result<u32, TextError> {
    let number = number(text).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| TextError::malformed(text, "is not a number of 32 bits", "expected for example 64"))
}
