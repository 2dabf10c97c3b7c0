//! The values of options, parsed with errors that say what is expected.

use command_line::units::duration;
use etw_types::NtStatus;
use nt_machine::{Below, RegistryKey, RegistryValue, RequestKind, Resource};

use nt_host::text::suggestion;
use nt_host::{Failure, GapKind};

pub(super) fn gap(text: &str) -> Result<GapKind, String> {
    // The exit code of a driver that is not loaded, or of a run that ends early, does not depend on gaps.
    let known = || GapKind::ALL.iter().filter(|kind| !matches!(kind, GapKind::NotLoaded | GapKind::NotFinished));
    known().find(|kind| kind.id() == text).copied().ok_or_else(|| {
        let names: Vec<&str> = known().map(|kind| kind.id()).collect();
        format!("`{text}` is not a gap: expected {}{}", names.join(", "), suggestion(text, &names))
    })
}

pub(super) fn failure(text: &str) -> Result<Failure, String> {
    let (rest, call) = match text.split_once('@') {
        Some((rest, call)) => (rest, Some(number(call)?)),
        None => (text, None),
    };
    let (routine, status) = match rest.split_once('=') {
        Some((routine, status)) => {
            let digits = status.trim_start_matches("0x");
            let number = u32::from_str_radix(digits, 16)
                .map_err(|_| format!("`{status}` is not a status: expected for example C000009A"))?;
            if number < 0x8000_0000 {
                return Err(format!(
                    "`{status}` is not a failure status: expected 80000000 or higher, for example C000009A"
                ));
            }
            let status = number;
            (routine, Some(NtStatus::from_int(status)))
        }
        None => (rest, None),
    };
    if routine.is_empty() || call == Some(0) {
        return Err(format!(
            "`{text}` does not select a call: expected a routine and a call from 1 on, for example EtwRegister@2"
        ));
    }
    Ok(Failure { routine: routine.to_owned(), status, call })
}

pub(super) fn resource(text: &str) -> Result<Resource, String> {
    let bad = || {
        let kind = text.split(':').next().unwrap_or_default();
        let near = suggestion(kind, &["line", "messages", "memory", "port"]);
        format!("`{text}` is not a resource: expected line, messages:4, memory:0xFE000000:0x1000 or port:0x3F8:8{near}")
    };
    let size = |text: &str| number(text).ok().and_then(|number| u32::try_from(number).ok()).ok_or_else(bad);
    match *text.split(':').collect::<Vec<_>>() {
        ["line"] => Ok(Resource::LineInterrupt),
        ["messages", count] => Ok(Resource::MessageInterrupts(size(count)?)),
        ["memory", start, length] => Ok(Resource::Memory { start: number(start)?, length: size(length)? }),
        ["port", start, length] => Ok(Resource::Port { start: number(start)?, length: size(length)? }),
        _ => Err(bad()),
    }
}

/// The argument of `--registry`: the key, the name of the value, and the value.
pub(super) type Registry = (RegistryKey, String, RegistryValue);

pub(super) fn registry(text: &str) -> Result<Registry, String> {
    let bad = || {
        format!(
            r"`{text}` is not a value of the registry: expected for example device\PortName=COM5 or parameters\Level=dword:3"
        )
    };
    let (place, value) = text.split_once('=').ok_or_else(bad)?;
    let (key, name) = place.rsplit_once('\\').filter(|(_, name)| !name.is_empty()).ok_or_else(bad)?;
    let key = match key {
        "parameters" => RegistryKey::Parameters,
        "device" => RegistryKey::Device,
        "driver" => RegistryKey::Driver,
        path if path.get(..10).is_some_and(|start| start.eq_ignore_ascii_case(r"\Registry\")) => {
            RegistryKey::Path(path.to_owned())
        }
        _ => {
            let near = suggestion(key, &["parameters", "device", "driver"]);
            let keys = r"parameters, device, driver or a path that begins with \Registry\";
            return Err(format!("`{key}` is not a key of the registry: expected {keys}{near}"));
        }
    };
    let value = match value.split_once(':') {
        Some(("dword", value)) => RegistryValue::Dword(u32::try_from(number(value)?).map_err(|_| bad())?),
        Some(("qword", value)) => RegistryValue::Qword(number(value)?),
        Some(("hex", value)) => RegistryValue::Binary(bytes(value)?),
        Some(("text", value)) => RegistryValue::Text(value.to_owned()),
        _ => RegistryValue::Text(value.to_owned()),
    };
    Ok((key, name.to_owned(), value))
}

/// The kinds of requests that can be scripted.
const KINDS: [&str; 5] = ["any", "ioctl", "internal-ioctl", "read", "write"];

/// Parses `KIND[:CODE]=STATUS[:HEX][@TIME]`.
pub(super) fn below(text: &str) -> Result<Below, String> {
    let bad =
        || format!("`{text}` does not describe how requests complete: expected for example ioctl:222000=0:0102@10ms");
    let (wanted, response) = text.split_once('=').ok_or_else(bad)?;
    let (kind, code) = wanted.split_once(':').map_or((wanted, None), |(kind, code)| (kind, Some(code)));
    let kind = match kind {
        "any" => None,
        "ioctl" => Some(RequestKind::DEVICE_CONTROL),
        "internal-ioctl" => Some(RequestKind::INTERNAL_DEVICE_CONTROL),
        "read" => Some(RequestKind::READ),
        "write" => Some(RequestKind::WRITE),
        _ => {
            let near = suggestion(kind, &KINDS);
            return Err(format!("`{kind}` is not a kind of request: expected {}{near}", KINDS.join(", ")));
        }
    };
    let hexadecimal = |digits: &str| u32::from_str_radix(digits.trim_start_matches("0x"), 16).map_err(|_| bad());
    let (response, delay) = response.split_once('@').map_or((response, "0"), |(response, delay)| (response, delay));
    let (status, output) = response.split_once(':').unwrap_or((response, ""));
    Ok(Below {
        device: None,
        kind,
        code: code.map(hexadecimal).transpose()?,
        status: NtStatus::from_int(hexadecimal(status)?),
        output: bytes(output)?,
        delay: duration(delay)?,
    })
}

/// Parses `NAME,` followed by the text that [`below`] parses.
pub(super) fn remote(text: &str) -> Result<Below, String> {
    let (name, script) = text.split_once(',').filter(|(name, _)| name.starts_with('\\')).ok_or_else(|| {
        format!(r"`{text}` does not begin with a device name: expected for example \Device\Name,ioctl:222000=0:0102")
    })?;
    Ok(Below { device: Some(name.to_owned()), ..below(script)? })
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is not a number: expected for example 12 or 0x10"))
}

pub(super) fn bytes(text: &str) -> Result<Vec<u8>, String> {
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    let bytes: Option<Vec<u8>> = bytes.collect();
    bytes.ok_or_else(|| format!("`{text}` is not hexadecimal data: expected two digits per byte, for example 0AFF"))
}
