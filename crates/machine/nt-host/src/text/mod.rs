//! The text of values, as the command line has it: read and written side by side, so that what the fuzzer writes can be read.

pub mod below;
pub mod registry;
pub mod request;
pub mod traffic;

use std::fmt;
use std::time::Duration;

/// Why a text is not a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextError {
    /// The text is not what it should be.
    Malformed {
        /// The text.
        text: String,
        /// What is wrong with it, after the text.
        problem: &'static str,
        /// What was expected.
        expected: String,
    },
    /// A buffer of this length cannot hold so many bytes of data.
    BufferTooShort {
        /// The length.
        length: u32,
        /// The number of bytes.
        data: u32,
    },
    /// A request with this control code has data in its output buffer, which its driver would not get.
    OutputLost(u32),
}

impl TextError {
    /// Creates an error about a text: what is wrong with it, and what was expected.
    ///
    /// ```
    /// use nt_host::text::TextError;
    ///
    /// let error = TextError::malformed("x", "is not a number", "expected for example 12");
    /// assert_eq!(error.to_string(), "`x` is not a number: expected for example 12");
    /// ```
    #[must_use]
    pub fn malformed(text: &str, problem: &'static str, expected: impl Into<String>) -> Self {
        Self::Malformed { text: text.to_owned(), problem, expected: expected.into() }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { text, problem, expected } => write!(f, "`{text}` {problem}: {expected}"),
            Self::BufferTooShort { length, data } => {
                write!(f, "a buffer of {length} bytes cannot hold {data}: expected a larger length, or none")
            }
            Self::OutputLost(code) => write!(
                f,
                "{code:X} is a METHOD_BUFFERED code, and its driver never gets what the output buffer holds: \
                 send the data as input"
            ),
        }
    }
}

impl std::error::Error for TextError {}

/// Reads a number, decimal or hexadecimal.
///
/// ```
/// assert_eq!(nt_host::text::number("0x10"), Ok(16));
/// ```
///
/// # Errors
///
/// Fails if the text is not a number.
pub fn number(text: &str) -> Result<u64, TextError> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| TextError::malformed(text, "is not a number", "expected for example 12 or 0x10"))
}

/// Reads a number of 32 bits. `problem` says what a larger number is.
pub(crate) fn number_of_32_bits(text: &str, problem: &'static str) -> Result<u32, TextError> {
    u32::try_from(number(text)?).map_err(|_| TextError::malformed(text, problem, "expected at most 0xFFFFFFFF"))
}

/// Reads a number from 1 on. `problem` says what another number is not, and `expected` what counts from 1.
pub(crate) fn ordinal(text: &str, problem: &'static str, expected: &str) -> Result<u32, TextError> {
    let number = u32::try_from(number(text)?).ok().filter(|number| *number != 0);
    number.ok_or_else(|| TextError::malformed(text, problem, expected))
}

/// Reads a length of time.
pub(crate) fn time(text: &str) -> Result<Duration, TextError> {
    let expected = "expected a number with a unit, for example 2s, 20ms or 1m30s";
    humantime::parse_duration(text).map_err(|_| TextError::malformed(text, "is not a time", expected))
}

/// Reads bytes, two hexadecimal digits each.
///
/// ```
/// assert_eq!(nt_host::text::bytes("00ff"), Ok(vec![0, 0xFF]));
/// ```
///
/// # Errors
///
/// Fails if the text has something else.
pub fn bytes(text: &str) -> Result<Vec<u8>, TextError> {
    let bytes = text.as_bytes().chunks(2).map(|pair| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2);
        pair.and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    let bytes: Option<Vec<u8>> = bytes.collect();
    let expected = "expected two digits per byte, for example 0AFF";
    bytes.ok_or_else(|| TextError::malformed(text, "is not hexadecimal data", expected))
}

/// Returns bytes as two hexadecimal digits each.
///
/// ```
/// assert_eq!(nt_host::text::hexadecimal(&[0, 0xFF]), "00ff");
/// ```
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat()
}

/// Returns a share in percent, rounded down to tenths, so that 100 % means all of them.
///
/// ```
/// assert_eq!(nt_host::text::percent(999, 1000), "99.9 %");
/// ```
#[must_use]
pub fn percent(part: usize, all: usize) -> String {
    let tenths = (part * 1000).checked_div(all).unwrap_or_default();
    format!("{}.{} %", tenths / 10, tenths % 10)
}

/// Returns the end of a message about an unknown word: `; did you mean …?` with the nearest known word, or nothing if
/// none is near.
///
/// ```
/// assert_eq!(nt_host::text::suggestion("raed", &["read", "write"]), "; did you mean `read`?");
/// ```
#[must_use]
pub fn suggestion(word: &str, known: &[&str]) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// Returns the nearest known word: one that differs only in case, that begins with the word, or whose edit distance is
/// at most a third of the word's length.
fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let length = word.chars().count();
    let score = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let begins = length >= 3 && candidate.starts_with(&word) && candidate != word;
        if begins { 1 } else { strsim::osa_distance(&word, &candidate) }
    };
    let scored = known.iter().map(|candidate| (score(candidate), *candidate));
    // Of several words that begin with this one, the shortest is the nearest.
    let near = scored.filter(|(score, _)| *score <= length / 3);
    near.min_by_key(|(score, candidate)| (*score, candidate.len())).map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::suggestion;

    #[test]
    fn a_mistyped_word_gets_a_suggestion_and_an_unrelated_one_none() {
        let words = ["EtwRegister", "EtwSetInformation", "IoCreateDevice", "IoCreateDeviceSecure"];
        for (word, near) in [
            ("EtwRegistr", "EtwRegister"),
            ("etwregister", "EtwRegister"),
            ("IoCreateDev", "IoCreateDevice"),
            ("IoCreateDevice", "IoCreateDevice"),
        ] {
            assert_eq!(suggestion(word, &words), format!("; did you mean `{near}`?"), "{word}");
        }
        assert_eq!(suggestion("Nope", &words), "");
    }
}
