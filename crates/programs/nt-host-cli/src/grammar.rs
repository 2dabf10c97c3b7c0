//! The file that describes a driver's requests for `nt-host fuzz`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

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

/// Why there is no grammar.
#[derive(Debug)]
pub(super) enum GrammarError {
    /// The file cannot be read.
    File(PathBuf, io::Error),
    /// The file is not TOML, or has other members.
    Syntax(PathBuf, toml::de::Error),
    /// A field of the request with this code is none of the three kinds.
    Field(PathBuf, u32),
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Syntax(path, error) => {
                write!(f, "{}: {}", path.display(), error.to_string().trim_end().replace('\n', "; "))
            }
            Self::Field(path, code) => write!(
                f,
                "{}: a field of request {code:#X} has neither a size from 1 to 8 nor bytes: expected for example \
                 {{ size = 4, values = [1, 2] }}, {{ size = 4, length = true }} or {{ bytes = 64 }}",
                path.display()
            ),
        }
    }
}

impl std::error::Error for GrammarError {}

/// Reads a grammar.
pub(super) fn read(path: &Path) -> Result<Grammar, GrammarError> {
    let text = std::fs::read_to_string(path).map_err(|error| GrammarError::File(path.to_owned(), error))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Grammar, GrammarError> {
    let file: GrammarFile = toml::from_str(text).map_err(|error| GrammarError::Syntax(path.to_owned(), error))?;
    let request = |entry: RequestEntry| {
        let code = entry.code;
        let fields: Option<Vec<Field>> = entry.fields.into_iter().map(convert).collect();
        let fields = fields.ok_or_else(|| GrammarError::Field(path.to_owned(), code))?;
        Ok(RequestFormat { code, fields, output: entry.output })
    };
    Ok(Grammar { requests: file.requests.into_iter().map(request).collect::<Result<_, GrammarError>>()? })
}

/// Returns the field that an entry describes, if it describes one.
fn convert(field: FieldEntry) -> Option<Field> {
    match field {
        FieldEntry { size: Some(size @ 1..=8), values, length: false, bytes: None, .. } => {
            Some(Field::Integer { size, values })
        }
        FieldEntry { size: Some(size @ 1..=8), length: true, bytes: None, .. } => Some(Field::Length { size }),
        FieldEntry { size: None, length: false, bytes: Some(most), .. } => Some(Field::Bytes { most }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::path::Path;

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
        let grammar = parse(Path::new("grammar.toml"), text).expect("a grammar");
        assert_eq!(grammar, Grammar { requests: vec![first, second] });
    }

    #[test]
    fn a_grammar_with_mistakes_is_refused_with_the_reason() {
        for (text, reason) in [
            ("[[request]]\n", "missing field `code`"),
            ("[[request]]\ncode = 1\nsize = 2\n", "unknown field `size`"),
            ("[[request]]\ncode = 1\nfields = [{ size = 9 }]\n", "neither a size from 1 to 8 nor bytes"),
            ("[[request]]\ncode = 1\nfields = [{ size = 4, bytes = 4 }]\n", "neither a size from 1 to 8 nor bytes"),
        ] {
            let error = parse(Path::new("grammar.toml"), text).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
