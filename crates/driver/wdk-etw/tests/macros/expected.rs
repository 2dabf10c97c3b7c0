//! The list of errors that a program must have, and its comparison with the errors that the compiler reported.

use crate::compile::Diagnostic;

/// One line of a list: `9:43 E0435`, `13:49 E0277 one part | another`, or `6:51 the whole message`.
#[derive(Debug)]
pub(crate) struct Expected {
    line: String,
    place: (u64, u64),
    code: Option<String>,
    text: String,
}

impl Expected {
    pub(crate) fn parse(line: &str) -> Self {
        let (place, rest) = line.split_once(' ').unwrap_or((line, ""));
        let numbers = place.split_once(':').and_then(|(line, column)| Some((line.parse().ok()?, column.parse().ok()?)));
        let place = numbers.unwrap_or_else(|| panic!("`{line}` does not start with LINE:COLUMN"));
        let (first, parts) = rest.split_once(' ').unwrap_or((rest, ""));
        let is_code = first.len() == 5 && first.starts_with('E') && first[1..].chars().all(|c| c.is_ascii_digit());
        let (code, text) = if is_code { (Some(first.to_owned()), parts) } else { (None, rest) };
        Self { line: line.to_owned(), place, code, text: text.to_owned() }
    }

    /// Whether this line matches the error. Our messages must be equal; for the compiler's errors, the code must be
    /// equal and the text must contain the listed parts.
    fn is(&self, found: &Diagnostic) -> bool {
        let is_text = match &self.code {
            None => self.text == found.message,
            Some(_) => self.text.split(" | ").all(|part| found.text.contains(part)),
        };
        self.place == found.place && self.code == found.code && is_text
    }
}

/// Returns the errors that are missing and those that are not expected. Each error matches at most one line.
pub(crate) fn differences(expected: &[Expected], found: &[Diagnostic]) -> Vec<String> {
    let mut rest: Vec<&Diagnostic> = found.iter().collect();
    let mut differences = Vec::new();
    for expected in expected {
        match rest.iter().position(|found| expected.is(found)) {
            Some(index) => drop(rest.remove(index)),
            None => differences.push(format!("missing: {}", expected.line)),
        }
    }
    differences.extend(rest.iter().map(|found| format!("not expected: {found}")));
    differences
}

#[test]
fn another_message_another_place_and_another_error_are_detected() {
    let found = |message: &str, code: Option<&str>, column| Diagnostic {
        place: (6, column),
        code: code.map(Into::into),
        message: message.into(),
        text: format!("{message}\na label of ours\na help of the compiler"),
    };
    let wrong = |list: &str, found: &[Diagnostic]| {
        differences(&list.lines().map(Expected::parse).collect::<Vec<_>>(), found).len()
    };
    let ours = "6:5 a tag has 28 bits";
    assert_eq!(wrong(ours, &[found("a tag has 28 bits", None, 5)]), 0);
    assert_eq!(wrong(ours, &[found("a tag has 28 bits", None, 6)]), 2);
    assert_eq!(wrong(ours, &[found("a tag has 28 bits!", None, 5)]), 2);
    assert_eq!(wrong(ours, &[]), 1);
    assert_eq!(wrong("", &[found("a tag has 28 bits", None, 5)]), 1);
    let theirs = "6:5 E0277 is no id | a label of ours";
    assert_eq!(wrong(theirs, &[found("`u32` is no id", Some("E0277"), 5)]), 0);
    assert_eq!(wrong(theirs, &[found("`u32` is no name", Some("E0277"), 5)]), 2);
    assert_eq!(wrong(theirs, &[found("`u32` is no id", Some("E0308"), 5)]), 2);
    assert_eq!(wrong("6:5 E0308", &[found("whatever the compiler says", Some("E0308"), 5)]), 0);
}
