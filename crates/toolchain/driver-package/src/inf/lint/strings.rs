//! Tokens between percent signs.

use super::Linter;

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    for section in inf.sections().iter().filter(|section| !section.name.eq_ignore_ascii_case("Strings")) {
        for entry in &section.entries {
            for value in entry.key.iter().chain(&entry.fields) {
                for token in tokens(value).filter(|token| inf.string(token).is_none()) {
                    let text = format!("token `%{token}%` is not in [Strings]; write `%%` for a percent sign");
                    linter.report(1235, entry.line, text);
                }
            }
        }
    }
}

/// Returns the tokens of a value, without directory numbers and doubled percent signs.
fn tokens(value: &str) -> impl Iterator<Item = &str> {
    let between = value.split('%').enumerate().filter(|(index, _)| index % 2 == 1).map(|(_, token)| token);
    let complete = value.matches('%').count() / 2;
    between.take(complete).filter(|token| !token.is_empty() && !token.chars().all(|c| c.is_ascii_digit()))
}
