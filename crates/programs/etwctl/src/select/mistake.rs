//! Why a text is not an expression of `--where`.

use std::{error, fmt};

use super::expression::MAX_DEPTH;
use super::value::Sign;
use crate::values::{InvalidValue, hint};

/// What is wrong with an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mistake {
    /// A `)` comes before its `(`.
    NotOpened,
    /// A `(` has no `)`.
    NotClosed,
    /// This was found in place of a `)`.
    NoClose(String),
    /// This was found in place of `and`, `or` or the end.
    NoJoint(String),
    /// A quotation mark before this has no end.
    NotQuoted(String),
    /// Parentheses and `not` are nested too deeply.
    TooDeep,
    /// There is nothing.
    Empty,
    /// This was found in place of a name.
    NoName(String),
    /// After this name, this was found in place of an operator.
    NoOperator(String, String),
    /// Nothing follows this name.
    OnlyName(String),
    /// After this name and operator, this was found in place of a value.
    NoValue(String, Sign, String),
    /// This text is compared by order.
    NotOrdered(String, Sign),
    /// A level or an opcode is not valid.
    Value(InvalidValue),
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotOpened => f.write_str("there is a ) without its ("),
            Self::NotClosed => f.write_str("a ( has no )"),
            Self::NoClose(found) => write!(f, "expected ')', found '{found}'"),
            Self::NoJoint(found) => {
                write!(f, "expected 'and', 'or' or the end, found '{found}'{}", hint(found, ["and", "or"]))
            }
            Self::NotQuoted(rest) => write!(f, "the quotation mark before {rest} has no end"),
            Self::TooDeep => write!(f, "more than {MAX_DEPTH} parentheses and 'not' inside each other"),
            Self::Empty => f.write_str("expected a name, such as in pid=4"),
            Self::NoName(found) => write!(f, "expected a name, found '{found}'"),
            Self::NoOperator(name, found) => {
                write!(f, "expected =, !=, <, <=, >, >= or ~ after '{name}', found '{found}'")
            }
            Self::OnlyName(name) => {
                write!(f, "'{name}' has no operator: expected NAME=VALUE, or !=, <, <=, >, >= or ~")
            }
            Self::NoValue(name, sign, found) => {
                write!(f, "expected a value after '{name}{}', found '{found}'", sign.text())
            }
            Self::NotOrdered(text, sign) => {
                write!(f, "'{text}' is not a number: {} compares numbers, = and ~ compare text", sign.text())
            }
            Self::Value(error) => error.fmt(f),
        }
    }
}

impl error::Error for Mistake {}

impl From<InvalidValue> for Mistake {
    fn from(error: InvalidValue) -> Self {
        Self::Value(error)
    }
}
