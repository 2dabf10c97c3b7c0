//! Expressions of `--where`: comparisons of names with values, joined by `and`, `or` and `not`.

use super::mistake::Mistake;
use super::value::{Comparison, Literal, Sign};

/// Maximum depth of parentheses and `not`.
pub(super) const MAX_DEPTH: usize = 64;

/// An expression that an event fulfils or not.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Not(Box<Expression>),
    Compare(Comparison),
}

/// A piece of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Open,
    Close,
    Sign(Sign),
    Word(String),
    /// A word in quotes. It is never `and`, `or` or `not`.
    Quoted(String),
}

impl Expression {
    /// Parses the text of `--where`.
    pub(crate) fn parse(text: &str) -> Result<Self, Mistake> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
        let expression = parser.any()?;
        match parser.peek() {
            None => Ok(expression),
            Some(Token::Close) => Err(Mistake::NotOpened),
            Some(token) => Err(Mistake::NoJoint(shown(token))),
        }
    }

    /// Calls `each` for all comparisons, in their order.
    pub(crate) fn visit<'a>(&'a self, each: &mut impl FnMut(&'a Comparison)) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.visit(each)),
            Self::Not(inner) => inner.visit(each),
            Self::Compare(comparison) => each(comparison),
        }
    }

    /// Returns whether the expression holds if `holds` says so for its comparisons. All comparisons are passed to `holds`.
    pub(crate) fn holds(&self, holds: &mut impl FnMut(&Comparison) -> bool) -> bool {
        match self {
            // No part is left out, even if the result is known before.
            Self::All(parts) => parts.iter().filter(|part| !part.holds(holds)).count() == 0,
            Self::Any(parts) => parts.iter().filter(|part| part.holds(holds)).count() > 0,
            Self::Not(inner) => !inner.holds(holds),
            Self::Compare(comparison) => holds(comparison),
        }
    }
}

/// Whether a text starts with a sign for `and` or `or`.
fn is_joint(text: &str) -> bool {
    text.starts_with("&&") || text.starts_with("||")
}

/// The length of the word at the start of a text. A value may contain signs, and may be anything that a field has: only blanks,
/// parentheses and joints end it.
fn word_end(text: &str, is_value: bool) -> usize {
    let ends = |place: usize, character: char| {
        let rest = text.get(place..).unwrap_or_default();
        let is_sign = !is_value && place > 0 && Sign::split(rest).is_some();
        character.is_whitespace() || matches!(character, '(' | ')') || is_joint(rest) || is_sign
    };
    let end = text.char_indices().find(|(place, character)| ends(*place, *character));
    end.map_or(text.len(), |(place, _)| place)
}

/// Splits the text into tokens.
fn tokens(text: &str) -> Result<Vec<Token>, Mistake> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '&' | '|' if is_joint(rest) => (Token::Word(rest.get(..2).unwrap_or_default().to_owned()), 2),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '"' | '\'' => {
                let inner = rest.get(1..).unwrap_or_default();
                let end = inner.find(first).ok_or_else(|| Mistake::NotQuoted(inner.to_owned()))?;
                (Token::Quoted(inner.get(..end).unwrap_or_default().to_owned()), end + 2)
            }
            _ => Sign::split(rest).map_or_else(
                || {
                    let end = word_end(rest, matches!(tokens.last(), Some(Token::Sign(_))));
                    (Token::Word(rest.get(..end).unwrap_or(rest).to_owned()), end)
                },
                |(sign, length)| (Token::Sign(sign), length),
            ),
        };
        tokens.push(token);
        rest = rest.get(length..).unwrap_or_default().trim_start();
    }
    Ok(tokens)
}

fn shown(token: &Token) -> String {
    match token {
        Token::Open => "(".to_owned(),
        Token::Close => ")".to_owned(),
        Token::Sign(sign) => sign.text().to_owned(),
        Token::Word(word) | Token::Quoted(word) => word.clone(),
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// Takes the next word if it is this one, or this sign for it.
    fn takes(&mut self, word: &str) -> bool {
        let is_word = matches!(self.peek(), Some(Token::Word(next)) if next.eq_ignore_ascii_case(word));
        self.at += usize::from(is_word);
        is_word
    }

    fn any(&mut self) -> Result<Expression, Mistake> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.takes("or") || self.takes("||") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::Any(parts) })
    }

    fn all(&mut self) -> Result<Expression, Mistake> {
        let mut parts = vec![self.one()?];
        while self.takes("and") || self.takes("&&") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expression::All(parts) })
    }

    fn one(&mut self) -> Result<Expression, Mistake> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Mistake::TooDeep);
        }
        let is_not = self.takes("not");
        let inner = if is_not {
            Expression::Not(Box::new(self.one()?))
        } else if self.peek() == Some(&Token::Open) {
            self.next();
            let inner = self.any()?;
            match self.next() {
                Some(Token::Close) => inner,
                Some(token) => return Err(Mistake::NoClose(shown(&token))),
                None => return Err(Mistake::NotClosed),
            }
        } else {
            self.comparison()?
        };
        self.depth -= 1;
        Ok(inner)
    }

    fn comparison(&mut self) -> Result<Expression, Mistake> {
        let name = match self.next() {
            Some(Token::Word(name) | Token::Quoted(name)) => name,
            Some(token) => return Err(Mistake::NoName(shown(&token))),
            None => return Err(Mistake::Empty),
        };
        let sign = match self.next() {
            Some(Token::Sign(sign)) => sign,
            Some(token) => return Err(Mistake::NoOperator(name, shown(&token))),
            None => return Err(Mistake::OnlyName(name)),
        };
        let text = match self.next() {
            Some(Token::Quoted(text)) => text,
            Some(Token::Word(first)) => self.words(first),
            Some(token) => {
                return Err(Mistake::NoValue(name, sign, shown(&token)));
            }
            None => String::new(),
        };
        let literal = Literal::for_name(&name, sign, &text)?;
        Comparison::new(name, sign, literal).map(Expression::Compare)
    }

    /// Joins the words of a text without quotation marks: the words before the next `and`, `or` or parenthesis. A number is one
    /// word.
    fn words(&mut self, first: String) -> String {
        let mut text = first;
        while !Literal::new(&text).is_number() {
            let Some(Token::Word(word)) = self.peek() else { break };
            let is_joint = ["and", "or", "&&", "||"].iter().any(|joint| word.eq_ignore_ascii_case(joint));
            // A word before an operator is the name of the next comparison.
            if is_joint || matches!(self.tokens.get(self.at + 1), Some(Token::Sign(_))) {
                break;
            }
            text = format!("{text} {word}");
            self.at += 1;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Expression;

    /// Shows the structure of an expression.
    fn shape(expression: &Expression) -> String {
        let list = |parts: &[Expression]| parts.iter().map(shape).collect::<Vec<_>>().join(" ");
        match expression {
            Expression::All(parts) => format!("(and {})", list(parts)),
            Expression::Any(parts) => format!("(or {})", list(parts)),
            Expression::Not(inner) => format!("(not {})", shape(inner)),
            Expression::Compare(comparison) => comparison.to_string(),
        }
    }

    #[test]
    fn not_binds_before_and_and_and_binds_before_or() {
        for (text, expected) in [
            ("Length>=512", "Length>=512"),
            ("event = Read", "event=Read"),
            ("a!=b=c", "a!=b=c"),
            ("File~.sys", "File~.sys"),
            ("a=1 or b=2 and not c=3", "(or a=1 (and b=2 (not c=3)))"),
            (
                "pid = 4 and (TransferSize > 64KiB or not file ~ \"page file\")",
                "(and pid=4 (or TransferSize>65536 (not file~page file)))",
            ),
            (
                "Status=\"0xC00000BB STATUS_NOT_SUPPORTED\" and pid=4",
                "(and Status=0xC00000BB STATUS_NOT_SUPPORTED pid=4)",
            ),
            ("\"My Field\" = 'and'", "My Field=and"),
            ("level <= warning", "level<=3"),
            ("level = info", "level=4"),
            ("level = informational", "level=4"),
            ("level ~ warn", "level~warn"),
            ("field.level = bogus", "field.level=bogus"),
            ("opcode = Start or opcode=receive", "(or opcode=1 opcode=240)"),
            ("a=b&&c=1||d=2", "(or (and a=b c=1) d=2)"),
            ("text=", "text="),
            ("File = My long name and pid=4", "(and File=My long name pid=4)"),
        ] {
            assert_eq!(Expression::parse(text).map(|parsed| shape(&parsed)).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_say_what_was_expected() {
        for (text, message) in [
            ("nothing", "'nothing' has no operator: expected NAME=VALUE, or !=, <, <=, >, >= or ~"),
            ("=1", "expected a name, found '='"),
            ("", "expected a name, such as in pid=4"),
            ("(a=1", "a ( has no )"),
            ("a=1)", "there is a ) without its ("),
            ("a=1 adn b=2", "expected 'and', 'or' or the end, found 'adn'; did you mean 'and'?"),
            (
                "level = bogus",
                "'bogus' is not a level: expected critical, error, warning, informational, verbose, all or a number up to 255",
            ),
            ("a > large", "'large' is not a number: > compares numbers, = and ~ compare text"),
            ("a = \"b", "the quotation mark before b has no end"),
        ] {
            assert_eq!(Expression::parse(text).unwrap_err().to_string(), message, "{text}");
        }
        assert!(Expression::parse(&"(".repeat(100_000)).is_err());
    }
}
