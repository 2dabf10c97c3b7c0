//! Values of events and of `--where`, with their types, and how they compare.

use std::cmp::Ordering;
use std::fmt;

use command_line::units;
use etw_etl::decode::{Node, Scalar};

use super::mistake::Mistake;
use crate::values::{self, InvalidValue};

/// The operator of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    ContainsNot,
}

/// The operators; those of two characters first.
const SIGNS: [(&str, Sign); 9] = [
    ("!=", Sign::NotEqual),
    ("==", Sign::Equal),
    ("<=", Sign::LessOrEqual),
    (">=", Sign::GreaterOrEqual),
    ("!~", Sign::ContainsNot),
    ("=", Sign::Equal),
    ("<", Sign::Less),
    (">", Sign::Greater),
    ("~", Sign::Contains),
];

impl Sign {
    /// Returns the operator at the start of a text, and its length.
    pub(super) fn split(text: &str) -> Option<(Self, usize)> {
        SIGNS.iter().find(|(sign, _)| text.starts_with(sign)).map(|(text, sign)| (*sign, text.len()))
    }

    pub(super) fn text(self) -> &'static str {
        SIGNS.iter().rev().find(|(_, sign)| *sign == self).map_or("", |(text, _)| text)
    }

    const fn needs_order(self) -> bool {
        matches!(self, Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual)
    }
}

/// A number: an integer of up to 64 bits, or a fraction.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Integer(i128),
    Fraction(f64),
}

impl Number {
    fn parse(text: &str) -> Option<Self> {
        let (digits, is_negative) = text.strip_prefix('-').map_or((text, false), |digits| (digits, true));
        if let Ok(number) = values::number(digits) {
            let number = i128::from(number);
            return Some(Self::Integer(if is_negative { -number } else { number }));
        }
        let is_number = text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '.'));
        text.parse().ok().filter(|number: &f64| is_number && number.is_finite()).map(Self::Fraction)
    }

    #[expect(clippy::cast_precision_loss, reason = "a fraction is compared with at most 53 bits of an integer")]
    fn compare(self, other: Self) -> Ordering {
        let fraction = |number| match number {
            Self::Integer(number) => number as f64,
            Self::Fraction(number) => number,
        };
        match (self, other) {
            (Self::Integer(one), Self::Integer(other)) => one.cmp(&other),
            (one, other) => fraction(one).total_cmp(&fraction(other)),
        }
    }
}

/// A value in an expression: a text, and its number if it is one. Sizes have a unit, such as `64KiB`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Literal {
    text: String,
    number: Option<Number>,
}

impl Literal {
    pub(super) fn new(text: &str) -> Self {
        let size = || units::size(text).ok().map(|size| Number::Integer(size.into()));
        Self { text: text.to_owned(), number: Number::parse(text).or_else(size) }
    }

    /// The value that is compared with the value of this name, such as a level by its name.
    pub(super) fn for_name(name: &str, sign: Sign, text: &str) -> Result<Self, InvalidValue> {
        let number = match name.to_ascii_lowercase().as_str() {
            // A part of a name.
            _ if matches!(sign, Sign::Contains | Sign::ContainsNot) => return Ok(Self::new(text)),
            "level" => values::level(text)?.as_int(),
            "opcode" => values::opcode(text)?.as_int(),
            _ => return Ok(Self::new(text)),
        };
        Ok(Self { text: text.to_owned(), number: Some(Number::Integer(number.into())) })
    }

    pub(super) const fn is_number(&self) -> bool {
        self.number.is_some()
    }
}

/// A value of an event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    text: String,
    number: Option<Number>,
}

impl Value {
    /// Whether it is a number without a name. A status has a name behind its number.
    pub(super) fn is_plain_number(&self) -> bool {
        self.number.is_some() && !self.text.contains(' ')
    }

    pub(super) fn from_integer(number: impl Into<i128>) -> Self {
        let number = number.into();
        Self { text: number.to_string(), number: Some(Number::Integer(number)) }
    }

    /// A number that has this name, if it has one.
    pub(super) fn from_named(number: u8, name: Option<&str>) -> Self {
        let value = Self::from_integer(number);
        Self { text: name.map_or(value.text, str::to_owned), ..value }
    }

    pub(super) fn from_text(text: &str) -> Self {
        Self { text: text.to_owned(), number: None }
    }

    pub(super) fn from_node(node: &Node) -> Self {
        match node {
            Node::Value(Scalar::Integer(number)) => Self::from_integer(*number),
            Node::Value(Scalar::F32(number)) => {
                Self { text: number.to_string(), number: Some(Number::Fraction((*number).into())) }
            }
            Node::Value(Scalar::F64(number)) => {
                Self { text: number.to_string(), number: Some(Number::Fraction(*number)) }
            }
            Node::Value(Scalar::Text(text)) => Self::from_text(text),
            // A pointer, or a status with its name.
            Node::Value(Scalar::Word(word)) => {
                let first = word.split(' ').next().filter(|first| first.starts_with("0x"));
                Self { text: word.clone(), number: first.and_then(Number::parse) }
            }
            node => Self::from_text(&node.to_string()),
        }
    }

    /// Returns whether the text, or a word of a value with a number and a name, is this one. Case does not matter.
    fn is(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let own = self.text.to_lowercase();
        own == text || (self.number.is_some() && own.split(' ').any(|word| word == text))
    }
}

/// `NAME OPERATOR VALUE`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Comparison {
    pub(crate) name: String,
    sign: Sign,
    literal: Literal,
}

impl Comparison {
    pub(super) fn new(name: String, sign: Sign, literal: Literal) -> Result<Self, Mistake> {
        if sign.needs_order() && !literal.is_number() {
            return Err(Mistake::NotOrdered(literal.text, sign));
        }
        Ok(Self { name, sign, literal })
    }

    /// Returns whether the comparison holds, or `None` if it compares the value of an event that is not a number in order.
    pub(super) fn holds(&self, value: &Value) -> Option<bool> {
        let order = value.number.zip(self.literal.number).map(|(one, other)| one.compare(other));
        let contains = || value.text.to_lowercase().contains(&self.literal.text.to_lowercase());
        let equal = || order.map_or_else(|| value.is(&self.literal.text), |order| order == Ordering::Equal);
        Some(match self.sign {
            Sign::Contains => contains(),
            Sign::ContainsNot => !contains(),
            Sign::Equal => equal(),
            Sign::NotEqual => !equal(),
            Sign::Less => order? == Ordering::Less,
            Sign::LessOrEqual => order? != Ordering::Greater,
            Sign::Greater => order? == Ordering::Greater,
            Sign::GreaterOrEqual => order? != Ordering::Less,
        })
    }

    /// Returns the text that is compared with a value that is only a number, if it cannot be equal to any number.
    pub(super) fn text_for_number(&self, value: &Value) -> Option<&str> {
        let is_equality = matches!(self.sign, Sign::Equal | Sign::NotEqual);
        (is_equality && value.is_plain_number() && self.literal.number.is_none()).then_some(&self.literal.text)
    }

    pub(super) fn sign(&self) -> &'static str {
        self.sign.text()
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.name, self.sign.text())?;
        match self.literal.number {
            Some(Number::Integer(number)) if !self.literal.text.starts_with("0x") => number.fmt(f),
            _ => f.write_str(&self.literal.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use etw_etl::decode::{Node, Scalar};

    use super::{Comparison, Literal, Sign, Value};

    fn holds(value: &Value, sign: Sign, literal: &str) -> Option<bool> {
        Comparison::new("x".to_owned(), sign, Literal::new(literal)).unwrap().holds(value)
    }

    #[test]
    fn numbers_compare_as_numbers_and_texts_without_case() {
        let number = Value::from_integer(65_536);
        assert_eq!(holds(&number, Sign::Equal, "0x10000"), Some(true));
        assert_eq!(holds(&number, Sign::GreaterOrEqual, "64KiB"), Some(true));
        assert_eq!(holds(&number, Sign::Less, "9"), Some(false), "not as text");
        assert_eq!(holds(&Value::from_integer(-1), Sign::Less, "1.5"), Some(true));
        assert_eq!(holds(&Value::from_text("Read"), Sign::Equal, "READ"), Some(true));
        assert_eq!(holds(&Value::from_text("Read"), Sign::Greater, "1"), None, "text has no order");
    }

    #[test]
    fn a_text_is_no_value_of_a_number() {
        let wrong = |value: &Value, sign, literal: &str| {
            Comparison::new("x".to_owned(), sign, Literal::new(literal)).unwrap().text_for_number(value).is_some()
        };
        let number = Value::from_integer(4);
        assert!(wrong(&number, Sign::Equal, "abc"));
        assert!(wrong(&number, Sign::NotEqual, "abc"));
        assert!(!wrong(&number, Sign::Equal, "0x4"));
        assert!(!wrong(&number, Sign::Contains, "abc"));
        let status = Value::from_node(&Node::Value(Scalar::Word("0xC00000BB STATUS_NOT_SUPPORTED".into())));
        assert!(!wrong(&status, Sign::Equal, "STATUS_SUCCESS"));
        assert!(!wrong(&Value::from_text("a"), Sign::Equal, "b"));
    }

    #[test]
    fn a_status_is_found_by_its_number_and_by_its_name() {
        let status = Value::from_node(&Node::Value(Scalar::Word("0xC00000BB STATUS_NOT_SUPPORTED".into())));
        for literal in ["0xC00000BB", "0xc00000bb", "STATUS_NOT_SUPPORTED", "0xC00000BB STATUS_NOT_SUPPORTED"] {
            assert_eq!(holds(&status, Sign::Equal, literal), Some(true), "{literal}");
        }
        assert_eq!(holds(&status, Sign::Equal, "STATUS_NOT"), Some(false));
        assert_eq!(holds(&status, Sign::Contains, "not_"), Some(true));
        assert_eq!(holds(&status, Sign::ContainsNot, "not_"), Some(false));
    }
}
