//! Finds the names that handwritten headers declare. The metadata's declarations of these names are not used.

use std::collections::BTreeSet;

/// Returns the types, routines, enumerators and macros that a C text declares. Understands only the simple C of this kit.
pub(crate) fn names(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut code = String::new();
    for line in without_comments(text).lines() {
        if let Some(directive) = line.trim_start().strip_prefix('#') {
            let words: Vec<&str> = directive.trim_start().splitn(2, char::is_whitespace).collect();
            if let ["define", rest] = words.as_slice() {
                names.extend(first_word(rest));
            }
        } else {
            code.push_str(line);
            code.push('\n');
        }
    }
    for declaration in split(&code, ';') {
        declared(declaration.trim(), &mut names);
    }
    names
}

/// Returns the declarations of structures and unions (`struct _NAME { … }`), each with its name without the underscore.
pub(crate) fn records(text: &str) -> Vec<(String, String)> {
    let plain = without_comments(text);
    let mut records = Vec::new();
    for declaration in split(&plain, ';') {
        let head = declaration.split('{').next().unwrap_or_default();
        if let Some(tag) = head.split_whitespace().last() {
            records.push((tag.trim_start_matches('_').to_owned(), declaration.trim().to_owned()));
        }
    }
    records
}

/// Returns the tags of records that have fields.
pub(crate) fn tags(text: &str) -> BTreeSet<String> {
    let mut tags = BTreeSet::new();
    let plain: String = without_comments(text)
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .collect::<Vec<_>>()
        .join("\n");
    for declaration in split(&plain, ';') {
        if let Some((head, _)) = declaration.split_once('{') {
            tags.extend(head.split_whitespace().last().map(str::to_owned));
        }
    }
    tags
}

fn declared(declaration: &str, names: &mut BTreeSet<String>) {
    if let Some(identifier) = declaration.strip_prefix("DEFINE_GUID(") {
        names.extend(first_word(identifier));
        return;
    }
    let body = declaration.find('{').zip(declaration.rfind('}'));
    let head = body.map_or(declaration, |(open, _)| &declaration[..open]);
    if let Some((open, close)) = body
        && head.split_whitespace().any(|word| word == "enum")
    {
        names.extend(split(&declaration[open + 1..close], ',').into_iter().filter_map(first_word));
    }
    if let Some(tag) = head.split_whitespace().last().filter(|_| body.is_some()) {
        names.insert(tag.to_owned());
    }
    let tail = body.map_or(declaration, |(_, close)| &declaration[close + 1..]);
    if body.is_none() || declaration.starts_with("typedef") {
        let is_typedef = declaration.starts_with("typedef");
        for (at, part) in split(tail, ',').into_iter().enumerate() {
            if is_typedef || at == 0 {
                names.extend(declarator(part));
            }
        }
    }
}

/// Returns the name in `type name`, `*name`, `type name(…)`, `type (*name)(…)` or `name[…]`.
fn declarator(part: &str) -> Option<String> {
    let part = part.trim().split('[').next().unwrap_or_default();
    let text = match part.split_once('(') {
        Some((before, rest)) => match rest.split_once(')') {
            Some((inner, _)) if inner.contains('*') && !inner.contains(',') && is_pointer(before, inner) => inner,
            _ => before,
        },
        None => part,
    };
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').rfind(|word| !word.is_empty()).map(str::to_owned)
}

/// Whether this is a pointer to a function, `VOID (NTAPI *NAME)`: only a calling convention may precede the star.
fn is_pointer(before: &str, inner: &str) -> bool {
    let named = inner.trim().trim_start_matches("NTAPI").trim_start_matches("__cdecl").trim();
    !before.trim().is_empty() && named.starts_with('*')
}

fn first_word(text: &str) -> Option<String> {
    let word: String = text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    (!word.is_empty()).then_some(word)
}

/// Splits at marks outside of brackets.
fn split(text: &str, mark: char) -> Vec<&str> {
    let mut depth = 0_u32;
    let mut start = 0;
    let mut parts = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            _ if c == mark && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

fn without_comments(text: &str) -> String {
    let mut parts = text.split("/*");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push(' ');
        plain.push_str(part.split_once("*/").map_or("", |(_, after)| after));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::names;

    #[test]
    fn every_kind_of_declaration_is_read() {
        let found = names(
            "/* a; b */\n#define MACRO(x) x\ntypedef struct _S { int a; union { int b; }; } S, *PS;\n\
             typedef enum _E { One, Two = 2 } E;\ntypedef VOID NTAPI F(int x, int y);\ntypedef F *PF;\n\
             typedef VOID (NTAPI *PG)(int x);\nNTKERNELAPI PVOID NTAPI Routine(PVOID *X);\nextern int Variable;\n\
             typedef unsigned long A, *PA;\n#if 1\ntypedef struct _O *PO, *PRO;\n#endif\n",
        );
        for name in
            ["MACRO", "_S", "S", "PS", "One", "Two", "E", "F", "PF", "PG", "Routine", "Variable", "A", "PA", "PRO"]
        {
            assert!(found.contains(name), "{name}: {found:?}");
        }
        assert!(!found.contains("a"), "{found:?}");
        assert!(!found.contains("X"), "{found:?}");
    }
}
