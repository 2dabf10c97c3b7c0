//! All declarations of steps, with their examples.

use std::collections::BTreeSet;
use std::mem::discriminant;

use super::{FileStep, Form, Step};
use crate::codec::Wire;

/// Checks the examples of forms: a step comes back from its text and from its bytes. Returns the steps.
fn check<T>(forms: &'static [Form<T>]) -> Vec<T>
where
    T: Clone + std::fmt::Debug + std::fmt::Display + PartialEq + std::str::FromStr<Err = crate::text::TextError> + Wire,
{
    let mut steps = Vec::new();
    for form in forms {
        for example in form.examples {
            let step = form.read(example).unwrap_or_else(|error| panic!("{} {example}: {error}", form.name));
            let text = step.to_string();
            assert_eq!(text.parse(), Ok(step.clone()), "{text}");
            let mut bytes = Vec::new();
            step.put(&mut bytes);
            let mut rest = bytes.as_slice();
            assert_eq!(T::get(&mut rest), Some(step.clone()), "{text}");
            assert!(rest.is_empty(), "{text}");
            steps.push(step);
        }
    }
    let names: BTreeSet<&str> = forms.iter().map(|form| form.name).collect();
    assert_eq!(names.len(), forms.len(), "two forms have one name");
    steps
}

#[test]
fn a_step_comes_back_from_its_text_and_its_bytes() {
    let steps = check(Step::forms());
    let count = |wanted: &Step| steps.iter().filter(|step| discriminant(*step) == discriminant(wanted)).count();
    assert_eq!(count(&Step::Sleep {}), 1, "a step without a value has one example");
    check(FileStep::forms());
}

#[test]
fn the_options_of_the_command_line_have_help() {
    for form in Step::forms() {
        assert!(form.help.len() > 5, "--{}", form.name);
        assert!(!form.help.ends_with('.'), "--{}", form.name);
    }
}

#[test]
fn a_value_that_is_missing_or_not_taken_is_named() {
    for (text, reason) in [
        ("--cancel", "`--cancel` needs a value: expected for example --cancel=2"),
        ("--close=1", "`--close` takes no value: expected --close"),
        ("--clsoe", "`--clsoe` is not a step: expected an option such as --close; did you mean `close`?"),
        ("--file=copy:x", "`copy` is not a step: expected create, open"),
        ("--file=write", "`write` needs a value: expected for example write:plain text"),
        ("--file=delete:x", "`delete` takes no value: expected delete"),
        ("--file=read:x", "`x` is not a number of 32 bits"),
        ("--file=set", "`set` needs a value"),
        ("--file=send-hex:0", "`0` is not hexadecimal data"),
    ] {
        let error = text.parse::<Step>().expect_err(text).to_string();
        assert!(error.starts_with(reason), "{error}");
    }
}

#[test]
fn a_word_without_a_value_has_its_default() {
    assert_eq!("read".parse(), Ok(FileStep::Read { length: 4096 }));
    assert_eq!("list".parse(), Ok(FileStep::List { pattern: "*".into() }));
    assert_eq!("send".parse(), Ok(FileStep::Send { data: Vec::new(), output: 4096 }));
}
