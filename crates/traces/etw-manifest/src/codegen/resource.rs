//! Writes the resources of a manifest as a `.res` file.

use crate::manifest::{Language, Manifest};
use crate::wevt;
use windows_constants::image::RT_MESSAGETABLE;

use super::Error;

/// `MEMORY_MOVEABLE | MEMORY_PURE`, the flags that resource compilers write.
const MEMORY_FLAGS: u16 = 0x30;
const ENGLISH: u16 = 0x409;

/// Language identifiers (`LANGID`) by the names that manifests use, as `NAME=HEX` words. Lines with `#` are comments.
const CULTURES: &str = include_str!("cultures.txt");

/// The type of a resource.
enum Kind {
    Number(u16),
    Name(&'static str),
}

/// Returns the `.res` file: `WEVT_TEMPLATE`, and a message table for each language.
pub(super) fn file(manifest: &Manifest) -> Result<Vec<u8>, Error> {
    let (templates, texts) = wevt::write(manifest);
    let mut file = Vec::new();
    // Every `.res` file starts with an empty resource of type 0, which identifies the format.
    entry(&mut file, &Kind::Number(0), (0, 0, 0), &[]);
    entry(&mut file, &Kind::Name("WEVT_TEMPLATE"), (1, MEMORY_FLAGS, ENGLISH), &templates);
    let table = |language: Option<&Language>| {
        let text = |text: &wevt::Text| {
            let translated = language.and_then(|language| language.strings.get(&text.message.id));
            (text.id, translated.unwrap_or(&text.message.text).clone())
        };
        let texts: Vec<(u32, String)> = texts.iter().map(text).collect();
        wevt::message_table(&texts.iter().map(|(id, text)| (*id, text.as_str())).collect::<Vec<_>>())
    };
    if manifest.languages.is_empty() {
        entry(&mut file, &Kind::Number(RT_MESSAGETABLE), (1, MEMORY_FLAGS, ENGLISH), &table(None));
    }
    for language in &manifest.languages {
        let number = language_number(&language.culture)?;
        entry(&mut file, &Kind::Number(RT_MESSAGETABLE), (1, MEMORY_FLAGS, number), &table(Some(language)));
    }
    Ok(file)
}

fn language_number(culture: &str) -> Result<u16, Error> {
    let lines = CULTURES.lines().filter(|line| !line.starts_with('#'));
    let mut known = lines.flat_map(str::split_whitespace).filter_map(|word| word.split_once('='));
    let number = known.find(|(name, _)| name.eq_ignore_ascii_case(culture.trim()));
    let number = number.and_then(|(_, number)| u16::from_str_radix(number, 16).ok());
    number.ok_or_else(|| Error::UnknownCulture(culture.to_owned()))
}

/// Appends a header and a resource. Both are padded to a multiple of four bytes.
fn entry(file: &mut Vec<u8>, kind: &Kind, (name, flags, language): (u16, u16, u16), data: &[u8]) {
    let mut header = Vec::new();
    match kind {
        Kind::Number(number) => header.extend([0xFFFF_u16, *number].into_iter().flat_map(u16::to_le_bytes)),
        Kind::Name(text) => header.extend(text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes)),
    }
    header.extend([0xFFFF_u16, name].into_iter().flat_map(u16::to_le_bytes));
    header.resize(header.len().next_multiple_of(4), 0);
    // Data version, flags, language; version and characteristics of the resource.
    header.extend(0_u32.to_le_bytes());
    header.extend([flags, language].into_iter().flat_map(u16::to_le_bytes));
    header.extend([0; 8]);
    let size = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX).to_le_bytes();
    file.extend(size(data.len()));
    file.extend(size(8 + header.len()));
    file.extend(header);
    file.extend(data);
    file.resize(file.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{CULTURES, language_number};

    #[test]
    fn cultures_of_every_kind_have_their_language_number() {
        for (culture, number) in [
            ("en-US", 0x409),
            ("th-TH", 0x41E),
            ("vi-VN", 0x42A),
            ("zh-HK", 0xC04),
            ("hi-IN", 0x439),
            ("uk-UA", 0x422),
            ("de", 0x07),
            ("zh-Hans", 0x04),
            ("sr-Cyrl-RS", 0x281A),
            ("ZH-tw", 0x404),
        ] {
            assert_eq!(language_number(culture).unwrap(), number, "{culture}");
        }
        assert!(language_number("").is_err() && language_number("0409").is_err());
    }

    #[test]
    fn every_word_of_the_table_is_a_name_and_a_number_and_appears_once() {
        let words = CULTURES.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace);
        let (mut names, mut numbers) = (HashSet::new(), HashSet::new());
        for word in words {
            let (name, number) = word.split_once('=').unwrap();
            assert!(names.insert(name) && numbers.insert(language_number(name).unwrap()), "{word}");
            assert_eq!(format!("{:04X}", language_number(name).unwrap()), number);
        }
        assert_eq!(names.len(), 454);
    }
}
