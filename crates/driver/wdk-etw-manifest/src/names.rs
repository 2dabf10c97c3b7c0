//! Names of a manifest as names in Rust.

/// Words that are no names in Rust, and those that generated functions use themselves.
const TAKEN: [&str; 54] = [
    "abstract", "activity", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do",
    "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
    "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "static", "struct", "super",
    "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where", "while",
    "yield", "core",
];

/// The words of a name: parts between other characters, and where a small letter is followed by a large one.
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

/// Never empty, and never starts with a digit.
fn valid(name: String) -> String {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) { format!("_{name}") } else { name }
}

/// For functions, parameters and modules.
pub(crate) fn snake(name: &str) -> String {
    let name = valid(words(name).join("_"));
    if TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}

/// For constants.
pub(crate) fn screaming(name: &str) -> String {
    valid(words(name).join("_").to_ascii_uppercase())
}

/// For types.
pub(crate) fn camel(name: &str) -> String {
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
    fn names_are_taken_apart_at_their_words() {
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
