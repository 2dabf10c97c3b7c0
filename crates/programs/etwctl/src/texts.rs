//! Texts of the command line: any text is a value or an error. `PROPTEST_CASES` sets the number of texts.

use proptest::prelude::*;

use crate::input::local_parts;
use crate::select::Expression;
use crate::values;

/// Words, signs and numbers that the parsers know.
const WORDS: [&str; 48] = [
    "a",
    "pid",
    "level",
    "warning",
    "=",
    "==",
    "!=",
    "~",
    "!~",
    "<",
    "<=",
    ">",
    ">=",
    "(",
    ")",
    " ",
    "and",
    "or",
    "not ",
    "\"",
    "'",
    "&&",
    "||",
    "1",
    "-",
    "0x",
    "1e9",
    "18446744073709551615",
    "99999999999999999999",
    "64KiB",
    "16EiB",
    ".5",
    "é",
    "!",
    "&",
    ".",
    ";",
    "*",
    "srv*",
    "cache*",
    "symsrv*",
    "https://",
    "{",
    "}",
    ":",
    "/",
    "+",
    "2026-11-15T13:05:00Z",
];

/// A text of known words and of any characters.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        8 => prop::sample::select(WORDS.as_slice()).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => "[ -~]{0,6}",
    ];
    prop::collection::vec(word, 0..40).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_expression_asks_for_each_of_its_comparisons_once(text in text()) {
        match Expression::parse(&text) {
            Ok(expression) => {
                let mut comparisons = 0;
                let mut asked = 0;
                expression.visit(&mut |comparison| {
                    assert!(comparison.to_string().starts_with(&comparison.name));
                    comparisons += 1;
                });
                for holds in [false, true] {
                    expression.holds(&mut |_| {
                        asked += 1;
                        holds
                    });
                }
                prop_assert!(comparisons > 0);
                prop_assert_eq!(asked, 2 * comparisons);
            }
            Err(mistake) => prop_assert!(!mistake.to_string().is_empty()),
        }
    }

    #[test]
    fn a_symbol_path_has_only_folders(path in text()) {
        for dir in local_parts(&path) {
            let dir = dir.to_string_lossy();
            prop_assert!(!dir.is_empty() && !dir.contains("://") && !dir.contains([';', '*']), "{}", dir);
        }
    }

    #[test]
    fn every_kind_of_value_takes_or_refuses_a_text(text in text()) {
        let refusals = [
            values::number(&text).err(),
            values::moment(&text).err(),
            values::kibibytes(&text).err(),
            values::whole_seconds(&text).err(),
            values::level(&text).err(),
            values::filter(&text).err(),
            values::control_request(&text).err(),
            values::classic_event(&text).err(),
            text.parse::<values::Provider>().err(),
        ];
        prop_assert!(refusals.iter().flatten().all(|refusal| !refusal.to_string().is_empty()));
    }
}
