//! Parses the steps of clients that use files of the volume or communication ports.

use super::values::{bytes, number};
use nt_host::FileStep;
use nt_host::text::suggestion;

/// The words of the steps.
const WORDS: [&str; 20] = [
    "open",
    "create",
    "folder",
    "read",
    "write",
    "write-hex",
    "query",
    "set",
    "rename",
    "delete",
    "list",
    "close",
    "attach",
    "detach",
    "connect",
    "send",
    "send-hex",
    "reply",
    "reply-hex",
    "disconnect",
];

/// Parses a step: a word, and after a colon its value.
pub(super) fn file_step(text: &str) -> Result<FileStep, String> {
    let (word, rest) = text.split_once(':').map_or((text, None), |(word, rest)| (word, Some(rest)));
    let value =
        |example: &str| rest.ok_or_else(|| format!("`{text}` needs a value: expected for example {word}:{example}"));
    let name = |example: &str| value(example).map(str::to_owned);
    let data = |example: &str| value(example).map(|value| value.as_bytes().to_vec());
    Ok(match word {
        "open" => FileStep::Open { path: name(r"\dir\a.txt")? },
        "create" => FileStep::Create { path: name(r"\dir\a.txt")? },
        "folder" => FileStep::Folder { path: name(r"\dir")? },
        "rename" => FileStep::Rename { path: name(r"\dir\b.txt")? },
        "read" => FileStep::Read { length: rest.map_or(Ok(FileStep::LENGTH), length)? },
        "write" => FileStep::Write { data: data("text")? },
        "write-hex" => FileStep::Write { data: bytes(value("00ff")?)? },
        "query" => {
            let (class, output) = split(value("5/24")?, '/');
            FileStep::Query { class: length(class)?, length: output.map_or(Ok(FileStep::LENGTH), length)? }
        }
        "set" => {
            let (class, data) = split(value("20:0300000000000000")?, ':');
            FileStep::Set { class: length(class)?, data: bytes(data.unwrap_or_default())? }
        }
        "list" => FileStep::List { pattern: rest.unwrap_or("*").to_owned() },
        "connect" => FileStep::Connect { name: name(r"\PortName")? },
        "send" => FileStep::Send { data: rest.unwrap_or_default().as_bytes().to_vec(), output: FileStep::LENGTH },
        "send-hex" => {
            let (data, output) = split(value("00ff/16")?, '/');
            FileStep::Send { data: bytes(data)?, output: output.map_or(Ok(FileStep::LENGTH), length)? }
        }
        "reply" => FileStep::Reply { data: data("text")? },
        "reply-hex" => FileStep::Reply { data: bytes(value("00ff")?)? },
        "delete" | "close" | "attach" | "detach" | "disconnect" if rest.is_some() => {
            return Err(format!("`{word}` takes no value: expected {word}"));
        }
        "delete" => FileStep::Delete {},
        "close" => FileStep::Close {},
        "attach" => FileStep::Attach {},
        "detach" => FileStep::Detach {},
        "disconnect" => FileStep::Disconnect {},
        _ => {
            let words = WORDS.join(", ");
            return Err(format!("`{word}` is not a step: expected {words}{}", suggestion(word, &WORDS)));
        }
    })
}

fn split(text: &str, at: char) -> (&str, Option<&str>) {
    text.split_once(at).map_or((text, None), |(first, second)| (first, Some(second)))
}

fn length(text: &str) -> Result<u32, String> {
    let number = number(text).ok().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("`{text}` is not a number of 32 bits: expected for example 64"))
}

#[cfg(test)]
mod tests {
    use super::{WORDS, file_step};
    use nt_host::FileStep;

    #[test]
    fn steps_are_words_with_values() {
        assert_eq!(file_step(r"open:\a:b"), Ok(FileStep::Open { path: r"\a:b".into() }));
        assert_eq!(file_step("read"), Ok(FileStep::Read { length: 4096 }));
        assert_eq!(file_step("list"), Ok(FileStep::List { pattern: "*".into() }));
        assert_eq!(file_step("send"), Ok(FileStep::Send { data: Vec::new(), output: 4096 }));
        for wrong in ["open", "delete:x", "read:x", "copy:x", "write", "set", "query:x", "send-hex:0"] {
            let message = file_step(wrong).expect_err(wrong);
            assert!(message.contains("expected"), "{message}");
        }
    }

    #[test]
    fn a_step_comes_back_from_its_text() {
        let path = || r"\dir\a b:c".to_owned();
        let (text, binary) = (b"plain text".to_vec(), vec![0, 0xFF]);
        let steps = [
            FileStep::Open { path: path() },
            FileStep::Create { path: path() },
            FileStep::Folder { path: path() },
            FileStep::Read { length: 7 },
            FileStep::Write { data: text.clone() },
            FileStep::Write { data: binary.clone() },
            FileStep::Query { class: 5, length: 24 },
            FileStep::Set { class: 20, data: binary.clone() },
            FileStep::Rename { path: path() },
            FileStep::Delete {},
            FileStep::List { pattern: "*.txt".into() },
            FileStep::Close {},
            FileStep::Attach {},
            FileStep::Detach {},
            FileStep::Connect { name: r"\Port".into() },
            FileStep::Send { data: text.clone(), output: 4096 },
            FileStep::Send { data: text.clone(), output: 4 },
            FileStep::Send { data: binary.clone(), output: 4096 },
            FileStep::Reply { data: text },
            FileStep::Reply { data: binary },
            FileStep::Disconnect {},
        ];
        let mut words: Vec<String> = Vec::new();
        for step in steps {
            let text = step.text();
            words.extend(text.split(':').next().map(str::to_owned));
            assert_eq!(file_step(&text), Ok(step));
        }
        assert!(WORDS.iter().all(|word| words.iter().any(|known| known == word)), "{words:?}");
    }
}
