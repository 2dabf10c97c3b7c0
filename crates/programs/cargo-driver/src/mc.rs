//! A stand-in for Microsoft's message compiler, `mc.exe`, for build scripts that compile a manifest with it.
//!
//! `etw-manifest` compiles the manifest. This writes the files that `mc.exe` writes (Learn, "Message Compiler"): the resources with
//! their resource script, and a header with the provider's id and the descriptors of events. The header has no macros that write events.

use std::ffi::OsString;
use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command_line::{Inputs, OutputError, Outputs, error, exit};
use etw_manifest::codegen::compile_bytes;
use etw_manifest::manifest::Manifest;

/// The options that have a value.
const WITH_VALUE: [&str; 13] = ["h", "r", "z", "e", "t", "s", "x", "w", "m", "p", "P", "W", "cp"];

/// Runs the compiler. `words` begins with the program's name.
pub(crate) fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    match Line::parse(&words).and_then(|line| line.compile()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error(&format!("mc: {reason}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Why nothing was compiled.
#[derive(Debug)]
enum McError {
    NoManifest,
    /// This option has no value.
    NoValue(String),
    /// The file is no manifest but a message text file.
    MessageText(PathBuf),
    /// The manifest cannot be read, or is wrong.
    Manifest(PathBuf, String),
    Output(OutputError),
}

impl fmt::Display for McError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoManifest => f.write_str("no manifest is named"),
            Self::NoValue(option) => write!(f, "the option -{option} has no value"),
            Self::MessageText(path) => {
                write!(f, "{}: only manifests (.man) can be compiled, no message text files", path.display())
            }
            Self::Manifest(path, reason) => write!(f, "{}: {reason}", path.display()),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl From<OutputError> for McError {
    fn from(error: OutputError) -> Self {
        Self::Output(error)
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    manifest: PathBuf,
    /// The name of the files, without extension.
    name: String,
    header_dir: PathBuf,
    resource_dir: PathBuf,
}

impl Line {
    fn parse(words: &[String]) -> Result<Self, McError> {
        let mut manifest = None;
        let mut name = None;
        let mut header_dir = PathBuf::new();
        let mut resource_dir = PathBuf::new();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix('-') else {
                manifest = Some(PathBuf::from(word));
                continue;
            };
            let value = if WITH_VALUE.contains(&option) {
                words.next().ok_or_else(|| McError::NoValue(option.to_owned()))?.as_str()
            } else {
                ""
            };
            match option {
                "h" => header_dir = value.into(),
                "r" => resource_dir = value.into(),
                "z" => name = Some(value.to_owned()),
                // The others choose what is not made here, or how much is printed.
                _ => {}
            }
        }
        let manifest: PathBuf = manifest.ok_or(McError::NoManifest)?;
        if manifest.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("mc")) {
            return Err(McError::MessageText(manifest));
        }
        let stem = || manifest.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name: name.unwrap_or_else(stem), manifest, header_dir, resource_dir })
    }

    /// The name of a file with this extension.
    fn file(&self, extension: &str) -> String {
        Path::new(&self.name).with_extension(extension).to_string_lossy().into_owned()
    }

    /// Writes a file that was made from the manifest, and never replaces the manifest.
    fn write(&self, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), McError> {
        let dir = Outputs::new(Inputs::new().file(&self.manifest)).dir(&dir.to_owned().into());
        // A folder without a name is the current one.
        if !dir.path().as_os_str().is_empty() {
            dir.create()?;
        }
        Ok(dir.file(name)?.write(bytes)?)
    }

    fn compile(&self) -> Result<(), McError> {
        let wrong = |reason: &dyn fmt::Display| McError::Manifest(self.manifest.clone(), reason.to_string());
        let text = fs::read(&self.manifest).map_err(|error| wrong(&error))?;
        let compiled = compile_bytes(&text).map_err(|error| wrong(&error))?;
        let manifest = Manifest::parse(&text).map_err(|error| wrong(&error))?;
        let mut script = String::new();
        for (number, resource) in resources(&compiled.resources).enumerate() {
            let (kind, file) = match resource.kind {
                Kind::Templates => ("WEVT_TEMPLATE", format!("{}TEMP.BIN", self.name)),
                Kind::Messages => ("11", format!("MSG{number:05}.bin")),
            };
            self.write(&self.resource_dir, &file, resource.data)?;
            let primary = resource.language & 0x3FF;
            let sub = resource.language >> 10;
            // Writing to a string cannot fail.
            let _ = write!(script, "LANGUAGE 0x{primary:x},0x{sub:x}\r\n1 {kind} \"{file}\"\r\n");
        }
        self.write(&self.resource_dir, &self.file("rc"), script.as_bytes())?;
        self.write(&self.header_dir, &self.file("h"), header(&manifest).as_bytes())
    }
}

/// The ids of providers and the descriptors of events, as C.
fn header(manifest: &Manifest) -> String {
    let mut text = String::from("#pragma once\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    for provider in &manifest.providers {
        let (a, b, c, d) = provider.guid.to_fields();
        let d = d.map(|byte| format!("0x{byte:02x}")).join(", ");
        let _ = writeln!(
            text,
            "__declspec(selectany) const GUID {} = {{0x{a:08x}, 0x{b:04x}, 0x{c:04x}, {{{d}}}}};",
            provider.symbol
        );
        for event in provider.events.iter().filter(|event| !event.symbol.is_empty()) {
            let numbers = provider.numbers(event);
            let _ = writeln!(
                text,
                "__declspec(selectany) const EVENT_DESCRIPTOR {0} = {{0x{1:x}, 0x{2:x}, 0x{3:x}, 0x{4:x}, 0x{5:x}, 0x{6:x}, \
                 0x{7:x}}};\n#define {0}_value 0x{1:x}",
                event.symbol,
                event.id,
                event.version,
                numbers.channel,
                numbers.level,
                numbers.opcode,
                numbers.task,
                numbers.keyword
            );
        }
    }
    text + "#ifdef __cplusplus\n}\n#endif\n"
}

/// A resource of a manifest.
struct Resource<'a> {
    kind: Kind,
    language: u16,
    data: &'a [u8],
}

enum Kind {
    Templates,
    Messages,
}

/// The resources in a `.res` file of `etw-manifest`, in which the templates come first. A header has 32 bytes if its type is a number.
fn resources(file: &[u8]) -> impl Iterator<Item = Resource<'_>> {
    let mut rest = file;
    let entries = std::iter::from_fn(move || {
        let number = |at: usize| Some(u32::from_le_bytes(*rest.get(at..)?.first_chunk()?) as usize);
        let data = number(0)?;
        let header = number(4)?;
        let language = u16::from_le_bytes(*rest.get(header.checked_sub(10)?..)?.first_chunk()?);
        let bytes = rest.get(header..header.checked_add(data)?)?;
        let kind = if header == 32 { Kind::Messages } else { Kind::Templates };
        rest = rest.get((header + data).next_multiple_of(4)..).unwrap_or_default();
        Some(Resource { kind, language, data: bytes })
    });
    // The first entry is empty in every such file.
    entries.filter(|resource| !resource.data.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Line;

    fn parse(line: &str) -> Result<Line, String> {
        Line::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn options_of_the_original_are_accepted() {
        let line = parse("-um -v -h out/inc -r out/res -z events -W winmeta.xml dir/My.man").unwrap();
        assert_eq!(line.name, "events");
        assert_eq!(line.manifest, Path::new("dir/My.man"));
        assert_eq!(line.header_dir, Path::new("out/inc"));
        assert_eq!(line.resource_dir, Path::new("out/res"));
        assert_eq!(parse("-km dir/My.man").unwrap().name, "My");
        assert!(parse("-um").unwrap_err().contains("no manifest"));
        assert!(parse("a.mc").unwrap_err().contains("only manifests"));
        assert!(parse("a.man -h").unwrap_err().contains("-h has no value"));
    }
}
