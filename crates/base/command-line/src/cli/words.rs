//! A value parser for options that take names and also other forms, such as numbers. The help and the completions list the names.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};

/// Parses a value with a function, and lists the names that the value can have.
#[derive(Clone)]
pub struct Words<T> {
    names: Vec<String>,
    parse: fn(&str) -> Result<T, String>,
}

impl<T> Words<T> {
    /// `names` is only for the help and the completions: `parse` alone decides which values are valid.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>, parse: fn(&str) -> Result<T, String>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), parse }
    }
}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for Words<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let text = value.to_str().ok_or_else(|| Error::new(ErrorKind::InvalidUtf8).with_cmd(command))?;
        (self.parse)(text).map_err(|reason| {
            let name = argument.map(ToString::to_string).unwrap_or_default();
            Error::raw(ErrorKind::ValueValidation, format!("invalid value '{text}' for '{name}': {reason}\n"))
                .with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().cloned().map(PossibleValue::new)))
    }
}
