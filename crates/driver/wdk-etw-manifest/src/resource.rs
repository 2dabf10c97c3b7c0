//! Writes the resources of a manifest as a `.res` file.

use etw_manifest::manifest::{Language, Manifest};
use etw_manifest::wevt;

use crate::Error;

/// `RT_MESSAGETABLE`.
const MESSAGE_TABLE: u16 = 11;
/// `MEMORY_MOVEABLE | MEMORY_PURE`, the flags that resource compilers write.
const MEMORY_FLAGS: u16 = 0x30;
const ENGLISH: u16 = 0x409;

/// Language identifiers (`LANGID`) by the names that manifests use.
const CULTURES: [(&str, u16); 40] = [
    ("ar-SA", 0x401),
    ("bg-BG", 0x402),
    ("ca-ES", 0x403),
    ("cs-CZ", 0x405),
    ("da-DK", 0x406),
    ("de-AT", 0xC07),
    ("de-CH", 0x807),
    ("de-DE", 0x407),
    ("el-GR", 0x408),
    ("en-AU", 0xC09),
    ("en-CA", 0x1009),
    ("en-GB", 0x809),
    ("en-IE", 0x1809),
    ("en-US", 0x409),
    ("es-ES", 0xC0A),
    ("es-MX", 0x80A),
    ("et-EE", 0x425),
    ("fi-FI", 0x40B),
    ("fr-CA", 0xC0C),
    ("fr-FR", 0x40C),
    ("he-IL", 0x40D),
    ("hr-HR", 0x41A),
    ("hu-HU", 0x40E),
    ("it-IT", 0x410),
    ("ja-JP", 0x411),
    ("ko-KR", 0x412),
    ("lt-LT", 0x427),
    ("lv-LV", 0x426),
    ("nb-NO", 0x414),
    ("nl-NL", 0x413),
    ("pl-PL", 0x415),
    ("pt-BR", 0x416),
    ("pt-PT", 0x816),
    ("ro-RO", 0x418),
    ("ru-RU", 0x419),
    ("sk-SK", 0x41B),
    ("sv-SE", 0x41D),
    ("tr-TR", 0x41F),
    ("zh-CN", 0x804),
    ("zh-TW", 0x404),
];

/// The type of a resource.
enum Kind {
    Number(u16),
    Name(&'static str),
}

/// Returns the `.res` file: `WEVT_TEMPLATE`, and a message table for each language.
pub(crate) fn file(manifest: &Manifest) -> Result<Vec<u8>, Error> {
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
        entry(&mut file, &Kind::Number(MESSAGE_TABLE), (1, MEMORY_FLAGS, ENGLISH), &table(None));
    }
    for language in &manifest.languages {
        let number = language_number(&language.culture)?;
        entry(&mut file, &Kind::Number(MESSAGE_TABLE), (1, MEMORY_FLAGS, number), &table(Some(language)));
    }
    Ok(file)
}

fn language_number(culture: &str) -> Result<u16, Error> {
    let known = CULTURES.iter().find(|(name, _)| name.eq_ignore_ascii_case(culture));
    known.map(|(_, number)| *number).ok_or_else(|| Error::UnknownCulture(culture.to_owned()))
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
