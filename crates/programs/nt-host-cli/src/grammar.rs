//! The file that describes a driver's requests for `nt-host fuzz`.

use std::path::Path;

use serde::Deserialize;

use nt_host::{Field, Grammar, RequestFormat};

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GrammarFile {
    #[serde(rename = "request")]
    requests: Vec<RequestEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestEntry {
    code: u32,
    #[serde(default)]
    output: u32,
    #[serde(default)]
    fields: Vec<FieldEntry>,
    /// For the reader of the file.
    #[serde(default, rename = "name")]
    _name: Option<String>,
}

/// A field: `size` with `values` or `length`, or `bytes`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldEntry {
    size: Option<usize>,
    #[serde(default)]
    values: Vec<u64>,
    #[serde(default)]
    length: bool,
    bytes: Option<usize>,
    /// For the reader of the file.
    #[serde(default, rename = "name")]
    _name: Option<String>,
}

/// Reads a grammar.
pub(super) fn read(path: &Path) -> Result<Grammar, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn parse(text: &str) -> Result<Grammar, String> {
    let file: GrammarFile = toml::from_str(text).map_err(|error| error.to_string().trim_end().replace('\n', "; "))?;
    let request = |entry: RequestEntry| {
        let fields = entry.fields.into_iter().map(|field| convert(field, entry.code)).collect::<Result<_, _>>()?;
        Ok(RequestFormat { code: entry.code, fields, output: entry.output })
    };
    Ok(Grammar { requests: file.requests.into_iter().map(request).collect::<Result<_, String>>()? })
}

fn convert(field: FieldEntry, code: u32) -> Result<Field, String> {
    match field {
        FieldEntry { size: Some(size @ 1..=8), values, length: false, bytes: None, .. } => {
            Ok(Field::Integer { size, values })
        }
        FieldEntry { size: Some(size @ 1..=8), length: true, bytes: None, .. } => Ok(Field::Length { size }),
        FieldEntry { size: None, length: false, bytes: Some(most), .. } => Ok(Field::Bytes { most }),
        _ => Err(format!(
            "a field of request {code:#X} has neither a size from 1 to 8 nor bytes: expected for example \
             {{ size = 4, values = [1, 2] }}, {{ size = 4, length = true }} or {{ bytes = 64 }}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use nt_host::{Field, Grammar, RequestFormat};

    #[test]
    fn a_grammar_names_requests_and_their_fields() {
        let text = "[[request]]\nname = \"set\"\ncode = 0x222004\noutput = 16\nfields = [\n  { name = \"magic\", size = 4, values = [0x12345678] },\n  \
                    { size = 2, length = true },\n  { bytes = 64 },\n]\n[[request]]\ncode = 0x222008\n";
        let fields = vec![
            Field::Integer { size: 4, values: vec![0x1234_5678] },
            Field::Length { size: 2 },
            Field::Bytes { most: 64 },
        ];
        let first = RequestFormat { code: 0x0022_2004, fields, output: 16 };
        let second = RequestFormat { code: 0x0022_2008, ..RequestFormat::default() };
        assert_eq!(parse(text), Ok(Grammar { requests: vec![first, second] }));
    }

    #[test]
    fn a_grammar_with_mistakes_is_refused_with_the_reason() {
        for (text, reason) in [
            ("[[request]]\n", "missing field `code`"),
            ("[[request]]\ncode = 1\nsize = 2\n", "unknown field `size`"),
            ("[[request]]\ncode = 1\nfields = [{ size = 9 }]\n", "neither a size from 1 to 8 nor bytes"),
            ("[[request]]\ncode = 1\nfields = [{ size = 4, bytes = 4 }]\n", "neither a size from 1 to 8 nor bytes"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
