//! Recognises simple expressions: a string literal, a name, a call of a name.
//!
//! This module looks through invisible groups, which `macro_rules!` variables leave. It never reports an error.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, ExprLit, Ident, Lit, LitStr};

use super::CallArgs;

/// Returns `expr` without the invisible groups around it.
pub(crate) fn ungrouped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Group(group) => ungrouped(&group.expr),
        _ => expr,
    }
}

/// Returns the string literal if `expr` is one.
pub(crate) fn string(expr: &Expr) -> Option<&LitStr> {
    match ungrouped(expr) {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text),
        _ => None,
    }
}

/// Returns the name and the arguments if `expr` is `name(arguments…)`.
pub(crate) fn call(expr: &Expr) -> Option<(&Ident, &CallArgs)> {
    match ungrouped(expr) {
        Expr::Call(call) => match ungrouped(&call.func) {
            Expr::Path(path) => path.path.get_ident().map(|name| (name, &call.args)),
            _ => None,
        },
        _ => None,
    }
}

/// The form of an expression that should name an ETW value (a level, an opcode, …).
pub(crate) enum Words {
    /// A single name, such as `Warning`.
    Name(Ident),
    /// A single integer literal, such as `5`, with its value if it fits.
    Integer(Option<u64>),
    /// An expression that begins with a digit, such as `4 | 1`.
    Number,
    /// Any other expression, such as `Level::Warning` or `MY_LEVEL`.
    Expression,
}

impl Words {
    /// Classifies `expr`.
    pub(crate) fn from_expr(expr: &Expr) -> Self {
        match ungrouped(expr) {
            Expr::Path(path) => path.path.get_ident().cloned().map_or(Self::Expression, Self::Name),
            Expr::Lit(ExprLit { lit: Lit::Int(value), .. }) => Self::Integer(value.base10_parse().ok()),
            other if begins_with_digit(other.to_token_stream()) => Self::Number,
            _ => Self::Expression,
        }
    }
}

/// Returns whether the first token is a number.
fn begins_with_digit(tokens: TokenStream) -> bool {
    match tokens.into_iter().next() {
        Some(TokenTree::Literal(literal)) => literal.to_string().starts_with(|c: char| c.is_ascii_digit()),
        Some(TokenTree::Group(group)) if group.delimiter() == proc_macro2::Delimiter::None => {
            begins_with_digit(group.stream())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

    use super::Words;

    /// Classifies `source`. `$` stands for a variable of `macro_rules!` with the value 4.
    fn kind(source: &str) -> &'static str {
        let variable = |tree| match tree {
            TokenTree::Punct(punct) if punct.as_char() == '$' => {
                Group::new(Delimiter::None, "4".parse().unwrap()).into()
            }
            other => other,
        };
        let tokens: TokenStream = source.parse::<TokenStream>().unwrap().into_iter().map(variable).collect();
        match Words::from_expr(&syn::parse2(tokens).unwrap()) {
            Words::Name(_) => "name",
            Words::Integer(Some(_)) => "integer",
            Words::Integer(None) => "large integer",
            Words::Number => "number",
            Words::Expression => "expression",
        }
    }

    #[test]
    fn an_expression_that_begins_with_a_digit_is_a_number() {
        for (source, expected) in [
            ("Warning", "name"),
            ("Level::Warning", "expression"),
            ("<Level as Named>::WARNING", "expression"),
            ("<Level>::WARNING", "expression"),
            ("5", "integer"),
            ("$", "integer"),
            ("0x1_0000_0000_0000_0000", "large integer"),
            ("4 | 1", "number"),
            ("$ | 1", "number"),
            ("(4 | 1)", "expression"),
            ("\"4\"", "expression"),
            ("LEVEL | 1", "expression"),
        ] {
            assert_eq!(kind(source), expected, "{source}");
        }
    }
}
