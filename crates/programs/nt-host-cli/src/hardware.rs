//! `--port`, `--register` and `--pci`: hardware that the command line scripts.

use std::fmt::{self, Write as _};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use nt_machine::Register;

use nt_host::text::{TextError, number};
use nt_host::{Builder, NtHost, pci_header};

/// The maximum number of lines about accesses.
const MAX_LINES: usize = 100;

/// The values of ports and registers.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hardware {
    /// Set what the driver reads from a port, one value after the other; the last one stays; repeatable
    #[arg(long, value_name = "PORT=VALUE[,VALUE]", value_parser = port)]
    port: Vec<Scripted>,
    /// Set what the driver reads from a register, by its physical address; see --resource memory; repeatable
    #[arg(long, value_name = "ADDRESS=VALUE[,VALUE]", value_parser = memory)]
    register: Vec<Scripted>,
    /// Make the device a PCI device: by its identifiers, or by a file with its configuration space
    #[arg(long, value_name = "VENDOR:DEVICE|FILE", value_parser = pci)]
    pci: Option<Space>,
}

/// A configuration space, and the file that it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Space {
    bytes: Arc<[u8]>,
    file: Option<PathBuf>,
}

/// A register and its values.
type Scripted = (Register, Vec<u64>);

impl Hardware {
    /// Adds the values to the description of a run.
    pub(super) fn script(&self, builder: Builder) -> Builder {
        let all = self.port.iter().chain(&self.register);
        let builder = all.fold(builder, |builder, (register, values)| builder.register(*register, values));
        self.pci.iter().fold(builder, |builder, space| builder.pci(&space.bytes))
    }

    /// Returns the files that the values come from.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.pci.iter().filter_map(|space| space.file.as_ref())
    }
}

fn port(text: &str) -> Result<Scripted, TextError> {
    let problem = "is not a port with values";
    let (address, values) = scripted(text, problem, "expected for example 0x379=0x00,0x80")?;
    let port = u16::try_from(address).map_err(|_| TextError::malformed(text, problem, "ports end at 0xFFFF"))?;
    Ok((Register::Port(port), values))
}

fn memory(text: &str) -> Result<Scripted, TextError> {
    let (address, values) = scripted(text, "is not a register with values", "expected for example 0xFE000010=1,2")?;
    Ok((Register::Memory(address), values))
}

/// Why there is no configuration space.
#[derive(Debug)]
enum SpaceError {
    /// The value is neither identifiers nor a file that can be read.
    File(String, io::Error),
    /// The file has another length.
    Length(String, usize),
}

impl fmt::Display for SpaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(text, error) => write!(
                f,
                "`{text}` is neither VENDOR:DEVICE, for example 8086:10D3, nor a file that can be read: {error}"
            ),
            Self::Length(text, length) => {
                write!(f, "`{text}` has {length} bytes: a configuration space has 256 or 4096")
            }
        }
    }
}

impl std::error::Error for SpaceError {}

/// Parses `VENDOR:DEVICE`, or reads a file.
fn pci(text: &str) -> Result<Space, SpaceError> {
    let identifier = |text: &str| u16::from_str_radix(text, 16).ok();
    let identifiers = text.split_once(':').and_then(|(vendor, device)| identifier(vendor).zip(identifier(device)));
    if let Some((vendor, device)) = identifiers {
        return Ok(Space { bytes: pci_header(vendor, device).into(), file: None });
    }
    let space = fs::read(text).map_err(|error| SpaceError::File(text.to_owned(), error))?;
    match space.len() {
        256 | 4096 => Ok(Space { bytes: space.into(), file: Some(text.into()) }),
        length => Err(SpaceError::Length(text.to_owned(), length)),
    }
}

/// Parses `ADDRESS=VALUE[,VALUE]`.
fn scripted(text: &str, problem: &'static str, expected: &str) -> Result<(u64, Vec<u64>), TextError> {
    let (address, values) = text.split_once('=').ok_or_else(|| TextError::malformed(text, problem, expected))?;
    let values: Result<Vec<u64>, TextError> = values.split(',').map(number).collect();
    Ok((number(address)?, values?))
}

/// Describes what the driver did with the hardware.
pub(super) fn accesses(host: &NtHost) -> String {
    let log = host.hardware_log().unwrap_or_default().to_string();
    if log.is_empty() {
        return log;
    }
    let mut lines = log.lines();
    let mut text = String::from("hardware\n");
    for line in lines.by_ref().take(MAX_LINES) {
        let _ = writeln!(text, "  {line}");
    }
    match lines.count() {
        0 => text,
        more => text + &format!("  and {more} more lines\n"),
    }
}
