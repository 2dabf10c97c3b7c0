//! Finds bit fields in the functions that read them.

use super::tokens::{Token, Tokens};
use super::types::kind;
use crate::model::Type;

/// A bit field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    pub(crate) unit: String,
    pub(crate) name: String,
    pub(crate) kind: Type,
    pub(crate) start: u32,
    pub(crate) width: u32,
}

/// Reads functions such as `pub fn NAME(&self) -> KIND { unsafe { …(self._bitfield_1.get(3usize, 5u8) …) } }`.
pub(super) fn bits(tokens: &mut Tokens<'_>) -> Vec<Bits> {
    let mut found = Vec::new();
    loop {
        match tokens.peek() {
            None | Some(Token::Mark('}')) => return found,
            Some(Token::Mark('#')) => {
                tokens.next();
                tokens.mark('[');
                tokens.skip_block();
                continue;
            }
            _ => {}
        }
        tokens.keyword("pub");
        if tokens.keyword("fn")
            && let Some(name) = tokens.word()
            && tokens.mark('(')
            && tokens.mark('&')
            && tokens.keyword("self")
            && tokens.mark(')')
            && tokens.take(Token::Arrow)
            && let Some(kind) = kind(tokens)
            && tokens.mark('{')
        {
            let mut body = tokens.clone();
            tokens.skip_block();
            let range = getter(&mut body);
            found.extend(range.map(|(unit, start, width)| Bits { unit, name: name.to_owned(), kind, start, width }));
        } else {
            tokens.skip_item();
        }
    }
}

/// Finds `_bitfield_1.get(3usize, 5u8)`.
fn getter(tokens: &mut Tokens<'_>) -> Option<(String, u32, u32)> {
    let unit = tokens.find_map(|token| match token {
        Token::Word(word) if word.starts_with("_bitfield_") => Some(word.to_owned()),
        _ => None,
    })?;
    if !(tokens.mark('.') && tokens.keyword("get") && tokens.mark('(')) {
        return None;
    }
    let start = tokens.word()?.strip_suffix("usize")?.parse().ok()?;
    tokens.mark(',');
    let width = tokens.word()?.strip_suffix("u8")?.parse().ok()?;
    Some((unit, start, width))
}
