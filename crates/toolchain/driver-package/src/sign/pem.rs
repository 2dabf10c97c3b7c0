//! The blocks of a PEM file. Text between them is ignored.

use std::error::Error;
use std::fmt;

use der::pem::{self, LineEnding};

/// Why a text is not PEM, or could not be made PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PemError {
    /// The block with this label cannot be decoded.
    Block(String, pem::Error),
    /// The block with this label does not end.
    Open(String),
    /// A block cannot be encoded.
    Encode(pem::Error),
}

impl fmt::Display for PemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(label, error) => write!(f, "block `{label}`: {error}"),
            Self::Open(label) => write!(f, "block `{label}` does not end"),
            Self::Encode(error) => error.fmt(f),
        }
    }
}

impl Error for PemError {}

/// Returns label and bytes of the blocks in the order of the file.
pub(crate) fn blocks(text: &str) -> Result<Vec<(String, Vec<u8>)>, PemError> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in text.lines().map(str::trim_end) {
        if let Some(label) = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----")) {
            open = Some((label.to_owned(), String::new()));
        }
        let Some((label, block)) = &mut open else { continue };
        block.push_str(line);
        block.push('\n');
        if line == format!("-----END {label}-----") {
            let bytes = pem::decode_vec(block.as_bytes()).map_err(|error| PemError::Block(label.clone(), error))?.1;
            blocks.push((std::mem::take(label), bytes));
            open = None;
        }
    }
    match open {
        Some((label, _)) => Err(PemError::Open(label)),
        None => Ok(blocks),
    }
}

/// Encodes one block.
pub(crate) fn block(label: &str, bytes: &[u8]) -> Result<String, PemError> {
    pem::encode_string(label, LineEnding::LF, bytes).map_err(PemError::Encode)
}

#[cfg(test)]
mod tests {
    use super::{PemError, block, blocks};

    #[test]
    fn blocks_are_found_among_other_text() {
        let text =
            format!("Bag Attributes\n{}\nmore\r\n{}", block("A", b"one").unwrap(), block("B C", &[0; 99]).unwrap());
        let expected = [("A".to_owned(), b"one".to_vec()), ("B C".to_owned(), vec![0; 99])];
        assert_eq!(blocks(&text.replace('\n', "\r\n")).unwrap(), expected);
        assert_eq!(blocks("-----BEGIN A-----\nAAAA\n"), Err(PemError::Open("A".into())));
        let wrong = blocks("-----BEGIN A-----\n!!\n-----END A-----\n");
        assert!(matches!(&wrong, Err(PemError::Block(label, _)) if label == "A"), "{wrong:?}");
        assert!(blocks("nothing").unwrap().is_empty());
    }
}
