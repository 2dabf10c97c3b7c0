//! Converts names in a manifest to Rust names.

/// Rust keywords, and names that generated functions use themselves.
const TAKEN: [&str; 54] = [
    "abstract", "activity", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while",
    "yield", "core",
];

/// Splits a name into words, at characters that are neither letters nor digits and before an upper-case letter that
/// starts a word.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let characters: Vec<char> = name.chars().collect();
    let mut starts = true;
    for (place, &character) in characters.iter().enumerate() {
        if !character.is_ascii_alphanumeric() {
            starts = true;
            continue;
        }
        let before = place.checked_sub(1).and_then(|place| characters.get(place));
        let after = characters.get(place + 1);
        let begins = character.is_ascii_uppercase()
            && (before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit())
                || before.is_some_and(char::is_ascii_uppercase) && after.is_some_and(char::is_ascii_lowercase));
        if starts || begins {
            words.push(String::new());
        }
        starts = false;
        if let Some(word) = words.last_mut() {
            word.push(character.to_ascii_lowercase());
        }
    }
    words
}

/// Makes sure that a name is not empty and does not start with a digit.
fn valid(name: String) -> String {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// Returns a name for a function, parameter or module.
pub(super) fn snake(name: &str) -> String {
    let name = valid(words(name).join("_"));
    if TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// Returns a name for a constant.
pub(super) fn screaming(name: &str) -> String {
    valid(words(name).join("_").to_ascii_uppercase())
}

/// Returns a name for a type.
pub(super) fn camel(name: &str) -> String {
    let word = |word: &String| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_ascii_uppercase() + rest
    };
    let name = valid(words(name).iter().map(word).collect());
    if name == "Self" { "Self_".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::{camel, screaming, snake};

    #[test]
    fn names_are_split_into_words() {
        for (name, expected) in [
            ("DeviceFailed", "device_failed"),
            ("DEVICE_FAILED", "device_failed"),
            ("IOCTLReceived", "ioctl_received"),
            ("My-Driver/Admin", "my_driver_admin"),
            ("type", "type_"),
            ("2nd", "_2nd"),
            ("Int32Value", "int32_value"),
            ("größe", "gr_e"),
            ("", "_"),
        ] {
            assert_eq!(snake(name), expected, "{name}");
        }
        assert_eq!((screaming("ReadKeyword"), camel("transfer_mode")), ("READ_KEYWORD".into(), "TransferMode".into()));
    }
}
