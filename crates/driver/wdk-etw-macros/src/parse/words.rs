//! Small readings of an expression: a string literal, a bare name, a call of a bare name.
//!
//! Owns how invisible groups (left by a `macro_rules!` variable) are looked through. It never reports an error.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprLit, Ident, Lit, LitStr};

use super::CallArgs;

/// `expr` without the invisible groups around it.
pub(crate) fn plain(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => plain(&group.expr),
        _ => expr,
    }
}

/// The string literal that `expr` is.
pub(crate) fn string(expr: &Expr) -> Option<&LitStr> {
    match plain(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// The name and the arguments, if `expr` is `name(arguments…)`.
pub(crate) fn call(expr: &Expr) -> Option<(&Ident, &CallArgs)> {
    match plain(expr) {
        Expr::Call(call) => match plain(&call.func) {
            Expr::Path(path) => path.path.get_ident().map(|name| (name, &call.args)),
            _ => None,
        },
        _ => None,
    }
}

/// How an expression that should name an ETW value (a level, an opcode, …) begins.
pub(crate) enum Words {
    /// One bare name, such as `Warning`.
    Name(Ident),
    /// An integer literal that stands alone, such as `5`; its value if it fits.
    Integer(Option<u64>),
    /// Begins with a digit, such as `4 | 1`.
    Number,
    /// Any other expression, such as `Level::Warning` or `MY_LEVEL`.
    Expression,
}

impl Words {
    /// Classifies `expr`.
    pub(crate) fn of(expr: &Expr) -> Self {
        match plain(expr) {
            Expr::Path(path) if path.qself.is_none() && path.path.get_ident().is_some() => {
                path.path.get_ident().cloned().map_or(Self::Expression, Self::Name)
            }
            Expr::Lit(ExprLit { lit: Lit::Int(value), .. }) => Self::Integer(value.base10_parse().ok()),
            other if begins_with_digit(other.to_token_stream()) => Self::Number,
            _ => Self::Expression,
        }
    }
}

/// Whether the first token is a number.
fn begins_with_digit(tokens: TokenStream) -> bool {
    match tokens.into_iter().next() {
        Some(TokenTree::Literal(literal)) => literal.to_string().starts_with(|c: char| c.is_ascii_digit()),
        Some(TokenTree::Group(group)) if group.delimiter() == proc_macro2::Delimiter::None => {
            begins_with_digit(group.stream())
        }
        _ => false,
    }
}
