//! Names of files: expressions with wildcards (`FsRtlIsNameInExpression` and its relative), and short names.

use nt_processor::layout::{STRING, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{APC, DISPATCH, Ignored, routines};

use crate::case::upcase;

/// The wildcards. The last three are those that Windows puts in the place of `*.`, `?` and `.` in an expression of DOS.
const STAR: u16 = b'*' as u16;
const ONE: u16 = b'?' as u16;
const DOS_STAR: u16 = b'<' as u16;
const DOS_ONE: u16 = b'>' as u16;
const DOS_DOT: u16 = b'"' as u16;
const DOT: u16 = b'.' as u16;
/// The characters that a name on a FAT volume cannot have, besides the control characters.
const NOT_IN_SHORT_NAMES: &[u8] = b"\"*+,/:;<=>?[\\]|";

routines! { pub(super) ROUTINES;
    /// The caller passes an expression in upper case if case is ignored.
    #[irql(APC)]
    fn FsRtlIsNameInExpression(
        expression: GuestPtr<UNICODE_STRING>,
        name: GuestPtr<UNICODE_STRING>,
        ignore_case: bool,
        _upper_case: Ignored<GuestPtr<u16>>,
    ) -> Result<bool, Fault> {
        let expression = expression.units()?;
        let name = name.units()?;
        let name = if ignore_case { name.into_iter().map(upcase).collect() } else { name };
        Ok(matches(&expression, &name))
    }

    #[irql(APC)]
    fn FsRtlDoesNameContainWildCards(name: GuestPtr<UNICODE_STRING>) -> Result<bool, Fault> {
        Ok(name.units()?.iter().any(|unit| [STAR, ONE, DOS_STAR, DOS_ONE, DOS_DOT].contains(unit)))
    }

    /// The code page of the system has the characters of ASCII.
    #[irql(DISPATCH)]
    fn RtlIsNameLegalDOS8Dot3(
        name: GuestPtr<UNICODE_STRING>,
        oem: Option<GuestPtr<STRING>>,
        has_spaces: Option<GuestPtr<u8>>,
    ) -> Result<bool, Fault> {
        let bytes: Option<Vec<u8>> = name.units()?.into_iter().map(|unit| u8::try_from(upcase(unit)).ok()).collect();
        let Some(bytes) = bytes.filter(|bytes| is_short(bytes)) else { return Ok(false) };
        if let Some(oem) = oem {
            if usize::from(oem.MaximumLength().read()?) < bytes.len() {
                return Ok(false);
            }
            oem.Buffer().read()?.write_all(&bytes)?;
            oem.Length().write(bytes.len() as u16)?;
        }
        if let Some(place) = has_spaces {
            place.write(bytes.contains(&b' ').into())?;
        }
        Ok(true)
    }
}

/// Returns whether a name has at most eight characters and, after a period, at most three.
fn is_short(name: &[u8]) -> bool {
    let parts: Vec<&[u8]> = name.split(|byte| *byte == b'.').collect();
    let is_legal = |byte: &u8| (b' '..0x7F).contains(byte) && !NOT_IN_SHORT_NAMES.contains(byte);
    // A space at the end of a part would be padding.
    let fits = |part: &[u8], most: usize| (1..=most).contains(&part.len()) && !part.ends_with(b" ");
    let (base, extension) = match *parts.as_slice() {
        [base] => (base, None),
        [base, extension] => (base, Some(extension)),
        _ => return false,
    };
    fits(base, 8) && extension.is_none_or(|extension| fits(extension, 3)) && parts.concat().iter().all(is_legal)
}

/// Returns whether a name matches an expression. The work is bounded by the product of the two lengths.
pub(crate) fn matches(expression: &[u16], name: &[u16]) -> bool {
    let last_dot = name.iter().rposition(|unit| *unit == DOT);
    // `rest[j]`: whether the name from `j` on matches the expression behind the current element.
    let mut rest: Vec<bool> = (0..=name.len()).map(|at| at == name.len()).collect();
    for element in expression.iter().rev() {
        let mut here = vec![false; rest.len()];
        for at in (0..rest.len()).rev() {
            let unit = name.get(at).copied();
            let empty = rest.get(at).copied().unwrap_or_default();
            let one = rest.get(at + 1).copied().unwrap_or_default();
            let again = here.get(at + 1).copied().unwrap_or_default();
            let found = match *element {
                STAR => empty || again,
                // It does not go beyond the last period.
                DOS_STAR => empty || again && last_dot != Some(at),
                DOS_ONE if unit.is_none_or(|unit| unit == DOT) => empty,
                ONE | DOS_ONE => one,
                DOS_DOT => unit.is_none() && empty || unit == Some(DOT) && one,
                letter => unit == Some(letter) && one,
            };
            if let Some(place) = here.get_mut(at) {
                *place = found;
            }
        }
        rest = here;
    }
    rest.first().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{is_short, matches};

    #[test]
    fn short_names_have_eight_characters_and_an_extension_of_three() {
        for name in ["A", "ABCDEFGH", "ABCDEFGH.TXT", "A B.C", "A~1.$$$"] {
            assert!(is_short(name.as_bytes()), "{name}");
        }
        for name in
            ["", ".", ".A", "A.", "A.B.C", "ABCDEFGHI", "A.TEXT", "A .B", "A+B", "A[1]", "A*", "\u{7F}", "A\u{1}"]
        {
            assert!(!is_short(name.as_bytes()), "{name:?}");
        }
    }

    fn is_in(name: &str, expression: &str) -> bool {
        let units = |text: &str| text.encode_utf16().collect::<Vec<u16>>();
        matches(&units(expression), &units(name))
    }

    #[test]
    fn expressions_match_as_documented() {
        for (expression, matching, others) in [
            ("", &[""][..], &["A"][..]),
            ("*", &["", "A", "A.B"], &[]),
            ("A", &["A"], &["", "AB", "B"]),
            ("A?C", &["ABC", "A.C"], &["AC", "ABBC"]),
            ("*.SYS", &["X.SYS", "X.Y.SYS", ".SYS"], &["SYS", "X.SYS2"]),
            ("*A*B*", &["AB", "XAXBX"], &["BA"]),
            // `<` (DOS_STAR) matches up to the last period. Alone, it matches names without an extension.
            ("<", &["A", "AB", ""], &["A.B"]),
            ("<.B", &["A.B", "A.A.B"], &["A.B.A"]),
            ("<\"", &["A", "A."], &["A.B"]),
            // Contiguous `>` (DOS_QM) match nothing before a period or at the end of the name.
            ("A>>", &["A", "AB", "ABC"], &["ABCD", "A.B"]),
            ("A>>.C", &["A.C", "AB.C"], &["ABCD.C"]),
            ("A\"B", &["A.B"], &["AB"]),
            ("A\"", &["A", "A."], &["AB"]),
        ] {
            for name in matching {
                assert!(is_in(name, expression), "{name} is in {expression}");
            }
            for name in others {
                assert!(!is_in(name, expression), "{name} is not in {expression}");
            }
        }
    }

    #[test]
    fn an_expression_with_many_stars_is_matched_quickly() {
        assert!(!is_in(&"A".repeat(2000), &"*A".repeat(300).replace("A*", "A*B*")));
    }
}
