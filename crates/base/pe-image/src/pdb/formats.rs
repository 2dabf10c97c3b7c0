//! The formats of WPP messages, which a compiler stores in a PDB as annotations.
//!
//! The WPP preprocessor writes `__annotation(L"TMF:", …)` next to each message. The compiler turns it into an `S_ANNOTATION`
//! record, whose strings are the lines of a trace message format (TMF) file.

use super::address::Header;
use super::module::Module;
use super::msf::Msf;
use crate::bytes::{part, u16_at};
use crate::error::Error;

/// The stream with the debug information.
const DEBUG_INFORMATION: usize = 3;
/// `S_ANNOTATION`: kind, offset, section, number of strings, NUL-terminated strings.
const ANNOTATION: u16 = 0x1019;
const STRINGS: usize = 10;

/// Returns the lines of all trace message formats, as in a TMF file. The result is empty if the program has no WPP messages.
///
/// # Errors
///
/// Fails if the debug information is damaged.
pub fn trace_formats(msf: &Msf<'_>) -> Result<String, Error> {
    let damaged = || Error::new("DBI stream", "it is missing or cut off");
    let stream = msf.stream(DEBUG_INFORMATION).ok_or_else(damaged)?;
    let header = Header::read(&stream).ok_or_else(damaged)?;
    let modules = part(&stream, header.modules.0, header.modules.1).ok_or_else(damaged)?;
    let mut text = String::new();
    for module in Module::all(modules) {
        let Some(stream) = msf.stream(module.stream) else { continue };
        collect(module.parts(&stream).0, &mut text);
    }
    Ok(text)
}

/// Adds the formats found in symbol records. The list ends at the first damaged record.
fn collect(records: &[u8], text: &mut String) {
    let mut rest = records;
    while let Some(length) = u16_at(rest, 0).map(usize::from) {
        let Some(record) = part(rest, 2, length) else { return };
        rest = rest.get(2 + length..).unwrap_or_default();
        if u16_at(record, 0) != Some(ANNOTATION) {
            continue;
        }
        let count = u16_at(record, 8).unwrap_or_default().into();
        let mut strings = record.get(STRINGS..).unwrap_or_default().split(|byte| *byte == 0).take(count);
        if strings.next() == Some(b"TMF:") {
            for line in strings {
                text.push_str(&String::from_utf8_lossy(line).replace(['\r', '\n'], " "));
                text.push('\n');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::collect;

    fn annotation(strings: &[&str]) -> Vec<u8> {
        let mut data = vec![0x19, 0x10, 0, 0, 0, 0, 1, 0, u8::try_from(strings.len()).unwrap(), 0];
        for string in strings {
            data.extend(string.bytes().chain([0]));
        }
        [&u16::try_from(data.len()).unwrap().to_le_bytes()[..], &data].concat()
    }

    #[test]
    fn formats_are_found_among_other_annotations() {
        let mut records = annotation(&["other", "text"]);
        records.extend(annotation(&["TMF:", "guid name", "#typev a 10 \"%0x\"", "{", "}"]));
        records.extend([4, 0, 6, 0, 0, 0]);
        records.extend(annotation(&["TMF:", "second\nline"]));
        let mut text = String::new();
        collect(&records, &mut text);
        assert_eq!(text, "guid name\n#typev a 10 \"%0x\"\n{\n}\nsecond line\n");
        for length in 0..records.len() {
            collect(&records[..length], &mut String::new());
        }
    }
}
