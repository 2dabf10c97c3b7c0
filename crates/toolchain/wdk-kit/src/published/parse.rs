//! Parses the bindings: the items that bindgen generates, and no other Rust.

use std::collections::BTreeMap;

use super::bits::{Bits, bits};
use super::tokens::{Token, Tokens};
use super::types::{kind, signature};
use crate::model::{Keyword, Signature, Type};

/// A declaration of a type. Types have the names of Rust: `resolve` finds those of C.
pub(crate) enum Item {
    /// Another name of a type.
    Alias {
        name: String,
        target: Type,
    },
    /// An enumeration: its tag, the type of its values, its members.
    Enumeration {
        name: String,
        is_unsigned: bool,
        members: Vec<(String, String)>,
    },
    Record(Record),
}

/// A structure or a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) name: String,
    pub(crate) keyword: Keyword,
    pub(crate) packing: Option<u32>,
    pub(crate) alignment: Option<u32>,
    /// Names and types; a unit of bit fields is `_bitfield_N`.
    pub(crate) fields: Vec<(String, Type)>,
    pub(crate) bits: Vec<Bits>,
}

/// What the bindings declare.
#[derive(Default)]
pub(crate) struct Bindings {
    pub(crate) items: Vec<Item>,
    /// Macros that are numbers, in the syntax of C. Texts are left out: the bindings have lost whether their characters are wide.
    pub(crate) constants: BTreeMap<String, String>,
    pub(crate) routines: BTreeMap<String, Signature>,
}

impl Bindings {
    /// Adds the declarations of one file.
    pub(crate) fn read(&mut self, text: &str) {
        let mut tokens = Tokens::new(text);
        let mut representation = Representation::default();
        while let Some(token) = tokens.peek() {
            match token {
                Token::Mark('#') => representation.read(&mut tokens),
                Token::Word("pub") => {
                    tokens.next();
                    let representation = std::mem::take(&mut representation);
                    self.public(&mut tokens, &representation);
                }
                Token::Word("impl") => {
                    tokens.next();
                    self.bit_fields(&mut tokens);
                }
                Token::Word("extern") => {
                    tokens.next();
                    tokens.next();
                    self.external(&mut tokens);
                }
                _ => tokens.skip_item(),
            }
        }
    }

    fn public(&mut self, tokens: &mut Tokens<'_>, representation: &Representation) {
        match tokens.word() {
            Some("struct") => self.record(tokens, Keyword::Struct, representation),
            Some("union") => self.record(tokens, Keyword::Union, representation),
            Some("type") => {
                if let Some(name) = tokens.word()
                    && tokens.mark('=')
                    && let Some(target) = kind(tokens)
                {
                    self.items.push(Item::Alias { name: name.to_owned(), target });
                }
                tokens.skip_item();
            }
            Some("mod") => self.enumeration(tokens),
            Some("use") => self.renamed(tokens),
            Some("const") => self.constant(tokens),
            _ => tokens.skip_item(),
        }
    }

    fn record(&mut self, tokens: &mut Tokens<'_>, keyword: Keyword, representation: &Representation) {
        let Some(name) = tokens.word() else { return tokens.skip_item() };
        if !tokens.mark('{') {
            // A type with parameters is a part of bindgen.
            return tokens.skip_item();
        }
        let mut fields = Vec::new();
        while tokens.peek().is_some() && !tokens.mark('}') {
            tokens.keyword("pub");
            if let Some(name) = tokens.word()
                && tokens.mark(':')
                && let Some(kind) = kind(tokens)
            {
                fields.push((name.to_owned(), kind));
                tokens.mark(',');
            } else {
                // An attribute, or what bindgen does not write.
                tokens.next();
            }
        }
        let Representation { packing, alignment } = *representation;
        self.items.push(Item::Record(Record {
            name: name.to_owned(),
            keyword,
            packing,
            alignment,
            fields,
            bits: Vec::new(),
        }));
    }

    /// `mod TAG { pub type Type = …; pub const MEMBER: Type = 1; … }`
    fn enumeration(&mut self, tokens: &mut Tokens<'_>) {
        let Some(name) = tokens.word() else { return tokens.skip_item() };
        let mut is_unsigned = true;
        let mut members = Vec::new();
        tokens.mark('{');
        while tokens.peek().is_some() && !tokens.mark('}') {
            tokens.keyword("pub");
            match tokens.word() {
                Some("type") => {
                    tokens.word();
                    tokens.mark('=');
                    is_unsigned = kind(tokens) != Some(Type::name("::core::ffi::c_int"));
                }
                Some("const") => {
                    let member = tokens.word().unwrap_or_default().to_owned();
                    tokens.mark(':');
                    tokens.word();
                    tokens.mark('=');
                    members.extend(number(tokens).map(|value| (member, value)));
                }
                _ => {}
            }
            tokens.skip_item();
        }
        self.items.push(Item::Enumeration { name: name.to_owned(), is_unsigned, members });
    }

    /// `use self::TAG::Type as NAME;`
    fn renamed(&mut self, tokens: &mut Tokens<'_>) {
        if tokens.keyword("self")
            && tokens.take(Token::Path)
            && let Some(tag) = tokens.word()
            && tokens.take(Token::Path)
            && tokens.keyword("Type")
            && tokens.keyword("as")
            && let Some(name) = tokens.word()
        {
            let target = Type::Name(format!("{tag}::Type"));
            self.items.push(Item::Alias { name: name.to_owned(), target });
        }
        tokens.skip_item();
    }

    /// `const NAME: TYPE = VALUE;`, if the type is a number.
    fn constant(&mut self, tokens: &mut Tokens<'_>) {
        let name = tokens.word().unwrap_or_default().to_owned();
        tokens.mark(':');
        let kind = tokens.word();
        tokens.mark('=');
        let value = match kind {
            Some("u32" | "i32") => number(tokens),
            Some("u64") => number(tokens).map(|value| value + "ULL"),
            Some("i64") => number(tokens).map(|value| value + "LL"),
            Some("u8") => number(tokens).map(|value| value.trim_end_matches("u8").to_owned()),
            _ => None,
        };
        if let Some(value) = value {
            let value = if value.starts_with('-') { format!("({value})") } else { value };
            self.constants.insert(name, value);
        }
        tokens.skip_item();
    }

    /// `impl TAG { … }`: bit fields, from the functions that read them.
    fn bit_fields(&mut self, tokens: &mut Tokens<'_>) {
        let name = tokens.word();
        if !tokens.mark('{') {
            return tokens.skip_item();
        }
        let mut body = tokens.clone();
        tokens.skip_block();
        let records = self.items.iter_mut().rev().filter_map(|item| match item {
            Item::Record(record) => Some(record),
            _ => None,
        });
        if let Some(record) = records.into_iter().find(|record| Some(record.name.as_str()) == name) {
            record.bits = bits(&mut body);
        }
    }

    /// The functions of an `extern` block.
    fn external(&mut self, tokens: &mut Tokens<'_>) {
        tokens.mark('{');
        while tokens.peek().is_some() && !tokens.mark('}') {
            if tokens.peek() == Some(Token::Mark('#')) {
                Representation::default().read(tokens);
                continue;
            }
            tokens.keyword("pub");
            if tokens.keyword("fn")
                && let Some(name) = tokens.word()
                && let Some(signature) = signature(tokens)
            {
                self.routines.insert(name.to_owned(), signature);
            }
            tokens.skip_item();
        }
    }
}

/// The attribute `repr` of the next record.
#[derive(Default)]
struct Representation {
    packing: Option<u32>,
    alignment: Option<u32>,
}

impl Representation {
    /// Reads an attribute of any name.
    fn read(&mut self, tokens: &mut Tokens<'_>) {
        tokens.next();
        if !tokens.mark('[') {
            return;
        }
        let mut attribute = tokens.clone();
        tokens.skip_block();
        if !(attribute.keyword("repr") && attribute.mark('(')) {
            return;
        }
        while !attribute.mark(')') {
            let size = |attribute: &mut Tokens<'_>| {
                let size = attribute.mark('(').then(|| attribute.word()).flatten().and_then(|word| word.parse().ok());
                if size.is_some() {
                    attribute.mark(')');
                }
                size
            };
            match attribute.word() {
                Some("packed") => self.packing = Some(size(&mut attribute).unwrap_or(1)),
                Some("align") => self.alignment = size(&mut attribute),
                Some(_) => {}
                None if attribute.mark(',') => {}
                None => return,
            }
        }
    }
}

/// Reads a number with its sign, as it is written.
fn number(tokens: &mut Tokens<'_>) -> Option<String> {
    let sign = if tokens.mark('-') { "-" } else { "" };
    Some(format!("{sign}{}", tokens.word()?))
}
