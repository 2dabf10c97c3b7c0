//! Names and expressions with wildcards: `FsRtlIsNameInExpression` and its relative.

use super::string::upcase;
use crate::layout::UNICODE_STRING;
use crate::memory::{Fault, GuestPtr};
use crate::routine::{APC, Ignored, routines};

/// The wildcards. The last three are those that Windows puts in the place of `*.`, `?` and `.` in an expression of DOS.
const STAR: u16 = b'*' as u16;
const ONE: u16 = b'?' as u16;
const DOS_STAR: u16 = b'<' as u16;
const DOS_ONE: u16 = b'>' as u16;
const DOS_DOT: u16 = b'"' as u16;
const DOT: u16 = b'.' as u16;

routines! { pub(super) ROUTINES;
    /// The caller passes an expression in upper case if case is ignored.
    #[irql(APC)]
    fn FsRtlIsNameInExpression(
        expression: GuestPtr<UNICODE_STRING>,
        name: GuestPtr<UNICODE_STRING>,
        ignore_case: bool,
        _upper_case: Ignored<GuestPtr<u16>>,
    ) -> Result<bool, Fault> {
        let (expression, name) = (expression.units()?, name.units()?);
        let name = if ignore_case { name.into_iter().map(upcase).collect() } else { name };
        Ok(matches(&expression, &name))
    }

    #[irql(APC)]
    fn FsRtlDoesNameContainWildCards(name: GuestPtr<UNICODE_STRING>) -> Result<bool, Fault> {
        Ok(name.units()?.iter().any(|unit| [STAR, ONE, DOS_STAR, DOS_ONE, DOS_DOT].contains(unit)))
    }
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
    use super::matches;

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
