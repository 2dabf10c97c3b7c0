//! The blocks of a PEM file. Text between them is ignored.

use der::pem::{self, LineEnding};

/// Returns label and bytes of the blocks in the order of the file.
pub(crate) fn blocks(text: &str) -> Result<Vec<(String, Vec<u8>)>, String> {
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
            let bytes = pem::decode_vec(block.as_bytes()).map_err(|error| format!("block `{label}`: {error}"))?.1;
            blocks.push((std::mem::take(label), bytes));
            open = None;
        }
    }
    match open {
        Some((label, _)) => Err(format!("block `{label}` does not end")),
        None => Ok(blocks),
    }
}

/// Encodes one block.
pub(crate) fn block(label: &str, bytes: &[u8]) -> Result<String, String> {
    pem::encode_string(label, LineEnding::LF, bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::{block, blocks};

    #[test]
    fn blocks_are_found_among_other_text() {
        let text =
            format!("Bag Attributes\n{}\nmore\r\n{}", block("A", b"one").unwrap(), block("B C", &[0; 99]).unwrap());
        let expected = [("A".to_owned(), b"one".to_vec()), ("B C".to_owned(), vec![0; 99])];
        assert_eq!(blocks(&text.replace('\n', "\r\n")).unwrap(), expected);
        assert!(blocks("-----BEGIN A-----\nAAAA\n").unwrap_err().contains("does not end"));
        assert!(blocks("-----BEGIN A-----\n!!\n-----END A-----\n").unwrap_err().contains("block `A`"));
        assert!(blocks("nothing").unwrap().is_empty());
    }
}
