//! Parses types and signatures of the bindings.

use super::tokens::{Token, Tokens};
use crate::model::{Convention, Parameter, Signature, Type};

/// The name of the type of a function that does not return.
pub(crate) const NEVER: &str = "!";
/// The name of the type of a function without a result.
pub(crate) const UNIT: &str = "()";

/// Reads a type.
pub(super) fn kind(tokens: &mut Tokens<'_>) -> Option<Type> {
    if tokens.mark('*') {
        let is_constant = !tokens.keyword("mut");
        if is_constant {
            tokens.keyword("const");
        }
        return Some(Type::Pointer { to: Box::new(kind(tokens)?), is_constant });
    }
    if tokens.mark('[') {
        let of = Box::new(kind(tokens)?);
        let count = tokens.mark(';').then(|| tokens.word()).flatten()?.strip_suffix("usize")?.parse().ok()?;
        tokens.mark(']');
        return Some(Type::Array { of, count: Some(count) });
    }
    if tokens.mark('!') {
        return Some(Type::name(NEVER));
    }
    if tokens.mark('(') {
        tokens.mark(')');
        return Some(Type::name(UNIT));
    }
    if tokens.keyword("unsafe") {
        // `extern "C" fn(…)`
        tokens.keyword("extern");
        tokens.next();
        tokens.keyword("fn");
        return Some(Type::Function(Box::new(signature(tokens)?)));
    }
    let mut path = String::new();
    if tokens.take(Token::Path) {
        path.push_str("::");
    }
    path.push_str(tokens.word()?);
    while tokens.take(Token::Path) {
        path.push_str("::");
        path.push_str(tokens.word()?);
    }
    if !tokens.mark('<') {
        return Some(Type::Name(path));
    }
    let inner = kind(tokens)?;
    // The parameters of other types are not of interest.
    while tokens.peek().is_some() && !tokens.mark('>') {
        tokens.next();
    }
    Some(match path.as_str() {
        "::core::option::Option" => inner.pointer_to(),
        "__IncompleteArrayField" => Type::Array { of: Box::new(inner), count: None },
        _ => Type::Name(path),
    })
}

/// Reads `(NAME: TYPE, …) -> TYPE`. The names are left out.
pub(super) fn signature(tokens: &mut Tokens<'_>) -> Option<Signature> {
    let mut parameters = Vec::new();
    let mut is_open = false;
    if !tokens.mark('(') {
        return None;
    }
    while !tokens.mark(')') {
        if tokens.mark('.') {
            is_open = true;
            continue;
        }
        let mut named = tokens.clone();
        if named.word().is_some() && named.mark(':') {
            *tokens = named;
        }
        parameters.push(Parameter { name: String::new(), kind: kind(tokens)? });
        tokens.mark(',');
    }
    let result = if tokens.take(Token::Arrow) { kind(tokens)? } else { Type::name(UNIT) };
    Some(Signature { result, convention: Convention::Unwritten, parameters, is_open })
}
