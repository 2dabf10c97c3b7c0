//! Splits the bindings, which are Rust, into tokens.

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name, a keyword or a number.
    Word(&'a str),
    /// The contents of a string literal, with its escape sequences.
    Text(&'a str),
    Mark(char),
    /// `->`
    Arrow,
    /// `::`
    Path,
}

/// The tokens of a text, taken from the front. Comments are left out.
#[derive(Clone)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
    next: Option<Token<'a>>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut tokens = Self { rest: text, next: None };
        tokens.advance();
        tokens
    }

    /// The next token, which stays.
    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.next
    }

    /// Takes a token if it is next.
    pub(super) fn take(&mut self, token: Token<'_>) -> bool {
        let is_next = self.next == Some(token);
        if is_next {
            self.advance();
        }
        is_next
    }

    pub(super) fn mark(&mut self, mark: char) -> bool {
        self.take(Token::Mark(mark))
    }

    pub(super) fn keyword(&mut self, word: &str) -> bool {
        self.take(Token::Word(word))
    }

    /// Takes a word, without the prefix of a raw identifier.
    pub(super) fn word(&mut self) -> Option<&'a str> {
        let Some(Token::Word(word)) = self.next else { return None };
        self.advance();
        if word == "r" && self.mark('#') { self.word() } else { Some(word) }
    }

    /// Takes tokens up to the bracket that closes the one that was taken last, and that bracket.
    pub(super) fn skip_block(&mut self) {
        let mut depth = 1_u32;
        while depth > 0
            && let Some(token) = self.next()
        {
            match token {
                Token::Mark('{' | '(' | '[') => depth += 1,
                Token::Mark('}' | ')' | ']') => depth -= 1,
                _ => {}
            }
        }
    }

    /// Takes the rest of an item: up to a semicolon, or a block in braces.
    pub(super) fn skip_item(&mut self) {
        while let Some(token) = self.next() {
            match token {
                Token::Mark(';') => return,
                Token::Mark('{') => return self.skip_block(),
                Token::Mark('(' | '[') => self.skip_block(),
                _ => {}
            }
        }
    }

    fn advance(&mut self) {
        self.rest = without_space(self.rest);
        let mut chars = self.rest.chars();
        let Some(first) = chars.next() else {
            self.next = None;
            return;
        };
        let (token, length) = match (first, chars.next()) {
            ('-', Some('>')) => (Token::Arrow, 2),
            (':', Some(':')) => (Token::Path, 2),
            ('"', _) => {
                let text = chars_of_literal(&self.rest[1..]);
                (Token::Text(text), (text.len() + 2).min(self.rest.len()))
            }
            (first, _) if is_word(first) => {
                let end = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
                (Token::Word(&self.rest[..end]), end)
            }
            (other, _) => (Token::Mark(other), other.len_utf8()),
        };
        self.next = Some(token);
        self.rest = &self.rest[length..];
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.next;
        self.advance();
        token
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The text up to the quotation mark that ends a literal.
fn chars_of_literal(text: &str) -> &str {
    let mut is_escaped = false;
    let end = text.find(|c| {
        let is_end = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    &text[..end.unwrap_or(text.len())]
}

fn without_space(text: &str) -> &str {
    let mut text = text.trim_start();
    loop {
        let rest = if let Some(comment) = text.strip_prefix("/*") {
            comment.split_once("*/").map_or("", |(_, rest)| rest)
        } else if let Some(comment) = text.strip_prefix("//") {
            comment.split_once('\n').map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
        text = rest.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::{Token, Tokens};

    #[test]
    fn comments_literals_and_marks_of_two_characters_are_distinguished() {
        let tokens: Vec<Token<'_>> = Tokens::new("/* a */ pub fn x(b: ::T) -> b\"\\\"q\\0\"; // end\n-1").collect();
        let word = Token::Word;
        let mark = Token::Mark;
        assert_eq!(
            tokens,
            [
                word("pub"),
                word("fn"),
                word("x"),
                mark('('),
                word("b"),
                mark(':'),
                Token::Path,
                word("T"),
                mark(')'),
                Token::Arrow,
                word("b"),
                Token::Text("\\\"q\\0"),
                mark(';'),
                mark('-'),
                word("1"),
            ]
        );
    }

    #[test]
    fn items_are_skipped_as_a_whole() {
        let mut tokens = Tokens::new("fn a(x: [u8; 2]) { if b { c; } } static D: T = [1; 2]; e");
        tokens.skip_item();
        assert!(tokens.keyword("static"));
        tokens.skip_item();
        assert_eq!(tokens.word(), Some("e"));
        assert_eq!(tokens.peek(), None);
        Tokens::new("{ ( \"").skip_item();
    }
}
