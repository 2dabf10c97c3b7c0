//! Names of files: a few of each form, and those that the strings of an image suggest.

/// Names of each form: with and without an extension, in a folder, of a program.
const NAMES: [&str; 6] = [r"\a.txt", r"\dir\b.exe", r"\c", r"\Windows\System32\d.dll", r"\e.tar.gz", r"\f.docx"];
/// The maximum number of strings that are used, and of their characters.
const MOST: usize = 48;
const LONGEST: usize = 64;
/// The beginnings of names that are not on a volume.
const OTHERS: [&str; 4] = [r"\device\", r"\registry\", r"\dosdevices\", r"\??\"];

/// Returns names for files.
pub(super) fn names(image: &[u8]) -> Vec<String> {
    let mut names: Vec<String> = NAMES.map(str::to_owned).to_vec();
    for name in strings(image).iter().filter_map(|text| name(text)) {
        if !names.contains(&name) && names.len() < NAMES.len() + MOST {
            names.push(name);
        }
    }
    names
}

/// Returns the name that a string suggests: itself, or one with this extension.
fn name(text: &str) -> Option<String> {
    let text = text.trim_matches('*');
    let is_other = OTHERS.iter().any(|other| text.to_ascii_lowercase().starts_with(other));
    let is_name = |c: char| c.is_ascii_alphanumeric() || r"\._-$~ :".contains(c);
    if is_other || text.len() < 2 || !text.chars().all(is_name) {
        return None;
    }
    match text.as_bytes() {
        [b'\\', ..] => Some(text.to_owned()),
        [b'.', ..] => Some(format!(r"\a{text}")),
        _ => Some(format!(r"\{text}")),
    }
}

/// Returns the strings of an image: those in UTF-16, and of the others those that begin like a path or an extension.
fn strings(image: &[u8]) -> Vec<String> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    let wide = [image, image.get(1..).unwrap_or_default()].into_iter().flat_map(|image| {
        let units = image.as_chunks::<2>().0;
        let runs = units.split(move |[low, high]| *high != 0 || !is_text(low));
        runs.map(|run| run.iter().map(|[low, _]| *low).collect::<Vec<u8>>())
    });
    let narrow = image.split(move |byte| !is_text(byte)).map(<[u8]>::to_vec);
    let narrow = narrow.filter(|run| matches!(run.as_slice(), [b'\\' | b'.', ..]));
    let fits = |run: &Vec<u8>| (3..=LONGEST).contains(&run.len());
    wide.chain(narrow).filter(fits).filter_map(|run| String::from_utf8(run).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::{NAMES, names};

    #[test]
    fn strings_of_an_image_become_names() {
        let wide = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_le_bytes).collect() };
        let image = [
            vec![0xC3, 0],
            wide("secret.key"),
            vec![0; 3],
            wide(".keep"),
            vec![0; 2],
            wide(r"\Device\Other"),
            b"\0.log\0not a name\0\\dir\\x\0".to_vec(),
        ]
        .concat();
        assert_eq!(names(&image)[NAMES.len()..], [r"\secret.key", r"\a.keep", r"\a.log", r"\dir\x"]);
        assert_eq!(names(&[]), NAMES);
    }
}
