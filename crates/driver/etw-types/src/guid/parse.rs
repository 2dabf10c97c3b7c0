//! Parses the text of a GUID.

use core::fmt;

use super::Guid;

/// The text is not a GUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuidParseError {
    /// Byte offset of the first unexpected character, or the length of the text if it is too short.
    pub position: usize,
}

impl fmt::Display for GuidParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "not a GUID (position {}): expected 8-4-4-4-12 hexadecimal digits, such as 20cf46dd-3b90-476c-94e9-4e74bbc30e31",
            self.position
        )
    }
}

impl core::error::Error for GuidParseError {}

/// The number of digits before each hyphen.
const HYPHENS_AFTER: [u32; 4] = [8, 12, 16, 20];

pub(super) const fn parse(text: &str) -> Result<Guid, GuidParseError> {
    let (mut rest, start) = match text.as_bytes() {
        [b'{', inner @ .., b'}'] => (inner, 1),
        bare => (bare, 0),
    };
    let length = rest.len();
    let mut digits = 0_u128;
    let mut count = 0;
    let mut hyphens: &[u32] = &HYPHENS_AFTER;
    while let [byte, tail @ ..] = rest {
        let error = Err(GuidParseError { position: start + length - rest.len() });
        if let [after, later @ ..] = hyphens
            && *after == count
        {
            if *byte != b'-' {
                return error;
            }
            hyphens = later;
        } else {
            let Some(digit) = (*byte as char).to_digit(16) else {
                return error;
            };
            if count == 32 {
                return error;
            }
            digits = digits << 4 | digit as u128;
            count += 1;
        }
        rest = tail;
    }
    if count == 32 { Ok(Guid::from_u128(digits)) } else { Err(GuidParseError { position: start + length }) }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString;

    use super::super::Guid;
    use super::GuidParseError;

    const ID: Guid = Guid::from_u128(0x20cf_46dd_3b90_476c_94e9_4e74_bbc3_0e31);

    #[test]
    fn both_cases_and_braces_are_read() {
        for text in ["20cf46dd-3b90-476c-94e9-4e74bbc30e31", "{20CF46DD-3B90-476C-94E9-4E74BBC30E31}"] {
            assert_eq!(text.parse(), Ok(ID));
        }
        assert_eq!(ID.to_string().parse(), Ok(ID));
    }

    #[test]
    fn errors_name_the_position() {
        for (text, position) in [
            ("", 0),
            ("{}", 1),
            ("20cf46dd3b90-476c-94e9-4e74bbc30e31", 8),
            ("20cf46dg-3b90-476c-94e9-4e74bbc30e31", 7),
            ("20cf46dd-3b90-476c-94e9-4e74bbc30e3", 35),
            ("20cf46dd-3b90-476c-94e9-4e74bbc30e311", 36),
            ("{20cf46dd-3b90-476c-94e9-4e74bbc30e31", 0),
        ] {
            let error = Guid::parse(text).unwrap_err();
            assert_eq!(error, GuidParseError { position }, "{text}");
            assert!(error.to_string().contains(&format!("(position {position}): expected 8-4-4-4-12")), "{error}");
        }
    }

    #[test]
    fn every_truncation_is_refused() {
        let text = format!("{{{ID}}}");
        for end in 0..text.len() {
            assert!(Guid::parse(&text[..end]).is_err());
        }
    }
}
