//! How a step is written.

use crate::text::TextError;

/// A form of a step: an option of the command line, or a word after `--file`. Some steps have several.
///
/// ```
/// use nt_host::Step;
///
/// let form = Step::forms().iter().find(|form| form.name == "cancel").expect("an option");
/// assert_eq!((form.value, form.default), ("N", None));
/// assert_eq!(form.read("2"), Ok(Step::Cancel { number: 2 }));
/// println!("--{}={}: {}", form.name, form.examples[0], form.help);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Form<T: 'static> {
    /// The option without its dashes, or the word.
    pub name: &'static str,
    /// What its value is called; empty if it has none.
    pub value: &'static str,
    /// The value that it has if none is given.
    pub default: Option<&'static str>,
    /// What the option does.
    pub help: &'static str,
    /// Values. The first one is shown if a value is missing.
    pub examples: &'static [&'static str],
    pub(super) read: fn(&str) -> Result<T, TextError>,
}

impl<T> Form<T> {
    /// Reads the value. That of a form without a value is empty.
    ///
    /// # Errors
    ///
    /// Fails if the text is not such a value.
    pub fn read(&self, text: &str) -> Result<T, TextError> {
        (self.read)(text)
    }
}

/// A step as it is written: the name of the form, and the value.
pub(crate) type Written = (&'static str, Option<String>);

/// Returns a step without a value.
pub(super) const fn switch(name: &'static str) -> Written {
    (name, None)
}

/// Returns a step with a value.
pub(super) fn value(name: &'static str, value: impl Into<String>) -> Written {
    (name, Some(value.into()))
}
