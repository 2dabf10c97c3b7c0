//! A value parser for options that take names and also other forms, such as numbers. The help and the completions list the names.

use std::ffi::OsStr;
use std::fmt::Display;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::{Error as UsageError, ErrorKind};
use clap::{Arg, Command};

/// Parses a value with a function, and lists the names that the value can have.
#[derive(Clone)]
pub struct Words<T, E = String> {
    names: Vec<String>,
    parse: fn(&str) -> Result<T, E>,
}

impl<T, E> Words<T, E> {
    /// `names` is only for the help and the completions: `parse` alone decides which values are valid.
    pub fn new<S: Into<String>>(names: impl IntoIterator<Item = S>, parse: fn(&str) -> Result<T, E>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), parse }
    }
}

impl<T: Clone + Send + Sync + 'static, E: Clone + Display + 'static> TypedValueParser for Words<T, E> {
    type Value = T;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<T, UsageError> {
        let text = value.to_str().ok_or_else(|| UsageError::new(ErrorKind::InvalidUtf8).with_cmd(command))?;
        (self.parse)(text).map_err(|reason| {
            let name = argument.map(ToString::to_string).unwrap_or_default();
            UsageError::raw(ErrorKind::ValueValidation, format!("invalid value '{text}' for '{name}': {reason}\n"))
                .with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.names.iter().cloned().map(PossibleValue::new)))
    }
}
