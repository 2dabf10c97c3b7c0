//! Markdown, as far as this repository uses it: fenced code, headings, links, code in lines, and `src` of pictures.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A fenced block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// What stands behind the fence: the language, and more.
    pub info: String,
    /// The lines between the fences.
    pub text: String,
    /// The number of the first of them.
    pub line: usize,
}

impl Block {
    /// The language.
    #[must_use]
    pub fn language(&self) -> &str {
        self.info.split([' ', ',']).next().unwrap_or_default()
    }

    /// The value of `key=` behind the language.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.info.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

/// A page, taken apart.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The blocks of code, in their order.
    pub blocks: Vec<Block>,
    /// Where links and pictures lead, with their lines.
    pub links: Vec<(usize, String)>,
    /// Code within lines, with its line.
    pub code: Vec<(usize, String)>,
    /// The anchors of the headings.
    pub anchors: Vec<String>,
}

impl Page {
    /// Takes a page apart.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut open: Option<(String, Block)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let trimmed = line.trim_start();
            match &mut open {
                Some((fence, _)) if trimmed.trim_end() == fence.as_str() => {
                    page.blocks.extend(open.take().map(|(_, block)| block));
                }
                Some((_, block)) => block.text.extend([line, "\n"]),
                None if trimmed.starts_with("```") => {
                    let info = trimmed.trim_start_matches('`');
                    let fence = trimmed[..trimmed.len() - info.len()].to_owned();
                    open = Some((fence, Block { info: info.trim().into(), text: String::new(), line: number + 1 }));
                }
                None => page.line(number, line, &mut seen),
            }
        }
        page.blocks.extend(open.map(|(_, block)| block));
        page
    }

    fn line(&mut self, number: usize, line: &str, seen: &mut HashMap<String, usize>) {
        let mut prose = String::new();
        for (index, part) in line.split('`').enumerate() {
            if index % 2 == 0 {
                prose.push_str(part);
            } else {
                self.code.push((number, part.to_owned()));
                prose.push('`');
            }
        }
        if line.starts_with('#') {
            let slug = slug(line.trim_start_matches('#'));
            let times = seen.entry(slug.clone()).and_modify(|times| *times += 1).or_insert(0);
            self.anchors.push(if *times == 0 { slug } else { format!("{slug}-{times}") });
        }
        for (start, end) in [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"'), ("href=\"", '"')] {
            let targets = prose.split(start).skip(1).filter_map(|rest| rest.split_once(end));
            self.links.extend(targets.map(|(target, _)| (number, target.trim().to_owned())));
        }
        // A definition: `[name]: target`.
        if let Some((_, target)) = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            self.links.push((number, target.trim().to_owned()));
        }
    }
}

/// The anchor that GitHub makes of a heading.
#[must_use]
pub fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|each| each.is_alphanumeric() || matches!(each, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|each| if each == ' ' { '-' } else { each }).collect()
}

/// The folder of the repository.
///
/// # Panics
///
/// When there is none around this crate.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("the repository")
}

/// Every page of the repository, sorted; what is built or hidden is left out.
///
/// # Errors
///
/// When a folder cannot be read.
pub fn pages() -> io::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    let mut folders = vec![repository()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if path.is_dir() && !path.is_symlink() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::{Page, slug};

    #[test]
    fn a_page_is_taken_apart() {
        let text = "# One `two`: three?\n[a](b.md#c) and `[no](link)` ![p](p.png)\n```sh x=1 y\ncargo\n# no heading\n```\n\
                    <img src=\"i.png\">\n[name]: target\n## Same\n## Same\n";
        let page = Page::parse(text);
        assert_eq!(page.anchors, ["one-two-three", "same", "same-1"]);
        let links: Vec<&str> = page.links.iter().map(|(_, link)| link.as_str()).collect();
        assert_eq!(links, ["b.md#c", "p.png", "i.png", "target"]);
        let block = &page.blocks[0];
        assert_eq!((block.language(), block.value("x"), block.value("z"), block.line), ("sh", Some("1"), None, 4));
        assert_eq!(block.text, "cargo\n# no heading\n");
        assert_eq!(page.code[1].1, "[no](link)");
    }

    #[test]
    fn anchors_are_those_of_github() {
        assert_eq!(slug(" SetTraits is STATUS_NOT_SUPPORTED"), "settraits-is-status_not_supported");
        assert_eq!(slug("1. Two folders"), "1-two-folders");
    }
}
