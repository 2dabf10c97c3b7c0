//! Reads the arguments of one item: positional values, names of ETW values, tags.
//!
//! This module has the messages for missing and unexpected arguments. It knows the grammar of arguments, but not the
//! options.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::{Expr, ExprLit, Lit, LitStr};

use super::limits;
use super::names::Vocabulary;
use super::suggest::nearest;
use crate::errors::Errors;
use crate::parse::{Arg, Item, Words, string, ungrouped};

/// A value that can be given by a name, by a number, or by any constant expression.
#[derive(Clone)]
pub(crate) enum Named {
    /// A name or an integer literal, whose value is known here.
    Known(u8),
    /// A constant of `InType` that depends on the target's pointer size.
    Sized(&'static str),
    /// An integer expression.
    Number(Expr),
    /// An expression of the value's own type.
    Value(Expr),
}

/// A tag: a literal, or a constant expression.
#[derive(Clone)]
pub(crate) enum Tag {
    /// An integer literal within the limit.
    Known(u32),
    /// An expression, which is checked when the constant is evaluated.
    Value(Span, Expr),
}

/// The arguments of one item, read from the front.
pub(crate) struct Args {
    owner: String,
    span: Span,
    rest: std::vec::IntoIter<Arg>,
}

impl Args {
    /// Takes all arguments of `item`.
    pub(crate) fn from_item(item: Item) -> Self {
        Self { owner: item.name.to_string(), span: item.name.span(), rest: item.args.into_iter() }
    }

    /// Takes the arguments of a nested option, such as `tag(…)` in a field.
    pub(crate) fn nested(owner: String, span: Span, values: impl IntoIterator<Item = Expr>) -> Self {
        let rest: Vec<Arg> = values.into_iter().map(Arg::Value).collect();
        Self { owner, span, rest: rest.into_iter() }
    }

    /// Returns the span of the item.
    pub(crate) fn span(&self) -> Span {
        self.span
    }

    /// Returns whether all arguments have been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.as_slice().is_empty()
    }

    /// Returns the next argument of any kind.
    pub(crate) fn next(&mut self) -> Option<Arg> {
        self.rest.next()
    }

    /// Returns the next argument as an expression. Reports an error if there is none.
    pub(crate) fn value(&mut self, expected: &str, errors: &mut Errors) -> Option<Expr> {
        match self.rest.next() {
            Some(Arg::Value(value)) => Some(value),
            Some(Arg::Fields(span, _)) => {
                errors.add(span, format!("expected {expected}"));
                None
            }
            None => {
                errors.add(self.span, format!("`{}` needs {expected}", self.owner));
                None
            }
        }
    }

    /// Returns the next argument as a string literal. Reports an error if it contains a NUL.
    pub(crate) fn name(&mut self, expected: &str, errors: &mut Errors) -> Option<LitStr> {
        let value = self.value(expected, errors)?;
        let Some(text) = string(&value).cloned() else {
            errors.add(value.span(), format!("expected {expected}"));
            return None;
        };
        reject_nul(&text, errors);
        Some(text)
    }

    /// Reports an error if arguments are left.
    pub(crate) fn finish(mut self, errors: &mut Errors) {
        if let Some(arg) = self.rest.next() {
            let span = match arg {
                Arg::Value(value) => value.span(),
                Arg::Fields(span, _) => span,
            };
            errors.add(span, format!("unexpected argument of `{}`", self.owner));
        }
    }
}

/// Reports a NUL, which would end the name early.
pub(crate) fn reject_nul(text: &LitStr, errors: &mut Errors) {
    if text.value().contains('\0') {
        errors.add(text.span(), "a name must not contain a NUL character");
    }
}

/// Reads a value of `vocabulary` from `expr`.
pub(crate) fn named(expr: Expr, vocabulary: &Vocabulary, errors: &mut Errors) -> Named {
    match Words::from_expr(&expr) {
        Words::Name(name) => {
            let text = name.to_string();
            if let Some((known, value)) = vocabulary.find(&text) {
                return value.map_or(Named::Sized(known), Named::Known);
            }
            // A plain name may be one of the user's constants. If it is similar to a known name, it is probably a
            // typing error.
            let is_constant = text.len() > 3 && !text.contains(|c: char| c.is_lowercase());
            if !is_constant && let Some(near) = nearest(&text, vocabulary.names.iter().map(|(known, _)| *known)) {
                let type_name = vocabulary.type_name;
                let list = vocabulary.list();
                errors.add(
                    name.span(),
                    format!("unknown {type_name} `{text}`; did you mean `{near}`? The names are {list}"),
                );
                return Named::Known(0);
            }
            Named::Value(expr)
        }
        Words::Integer(value) => {
            let byte = value.and_then(|value| u8::try_from(value).ok());
            if byte.is_none() {
                errors.add(expr.span(), format!("{} has 8 bits: 0 to 255", vocabulary.type_name));
            }
            Named::Known(byte.unwrap_or_default())
        }
        Words::Number => Named::Number(expr),
        Words::Expression => Named::Value(expr),
    }
}

/// Reads a tag from `expr`. `span` is the span of the tag's option.
pub(crate) fn tag(expr: Expr, span: Span, errors: &mut Errors) -> Tag {
    let Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) = ungrouped(&expr) else {
        return Tag::Value(span, expr);
    };
    match literal.base10_parse::<u32>() {
        Ok(value) if value <= limits::TAG => Tag::Known(value),
        _ => {
            errors.add(literal.span(), "a tag has 28 bits: 0 to 0x0FFFFFFF");
            Tag::Known(0)
        }
    }
}
