//! Parses the parts of a Markdown page that tests check: code blocks, headings, links, inline code, and `src` of
//! images.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A fenced block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The text after the opening fence: the language, and options.
    pub info: String,
    /// The lines between the fences.
    pub text: String,
    /// The line number of the first of these lines.
    pub line: usize,
}

impl Block {
    /// The language.
    #[must_use]
    pub fn language(&self) -> &str {
        self.info.split([' ', ',']).next().unwrap_or_default()
    }

    /// Returns the value of `key=` after the language.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&str> {
        self.info.split(' ').find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }
}

/// A parsed page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The code blocks, in order.
    pub blocks: Vec<Block>,
    /// The targets of links and images, with their line numbers.
    pub links: Vec<(usize, String)>,
    /// Inline code, with its line number.
    pub code: Vec<(usize, String)>,
    /// The anchors of the headings.
    pub anchors: Vec<String>,
}

impl Page {
    /// Parses a page.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut page = Self::default();
        let mut seen: HashMap<String, usize> = HashMap::new();
        let mut heading = None::<String>;
        let mut is_code = false;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            let line = text[..range.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    is_code = true;
                    page.blocks.push(Block { info: info.to_string(), text: String::new(), line: line + 1 });
                }
                Event::End(TagEnd::CodeBlock) => is_code = false,
                Event::Text(part) if is_code => {
                    if let Some(block) = page.blocks.last_mut() {
                        block.text.push_str(&part);
                    }
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let slug = slug(&heading.take().unwrap_or_default());
                    let times = seen.entry(slug.clone()).and_modify(|times| *times += 1).or_insert(0);
                    page.anchors.push(if *times == 0 { slug } else { format!("{slug}-{times}") });
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line, dest_url.to_string()));
                }
                Event::Html(part) | Event::InlineHtml(part) => {
                    let all = |start: &'static str| part.split(start).skip(1).filter_map(|rest| rest.split('"').next());
                    let links = ["src=\"", "srcset=\"", "href=\""].into_iter().flat_map(all);
                    page.links.extend(links.map(|target| (line, target.to_owned())));
                    page.anchors.extend(all("id=\"").map(str::to_owned));
                }
                Event::Text(part) | Event::Code(part) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&part);
                    }
                    if text[range].starts_with('`') {
                        page.code.push((line, part.to_string()));
                    }
                }
                _ => {}
            }
        }
        page
    }
}

/// Returns the anchor that GitHub makes from a heading.
#[must_use]
pub fn slug(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|each| each.is_alphanumeric() || matches!(each, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|each| if each == ' ' { '-' } else { each }).collect()
}

/// Returns the folder of the repository.
///
/// # Panics
///
/// If the folder of this crate is not in a repository.
#[must_use]
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("the repository")
}

/// Returns every Markdown page of the repository, sorted. Build folders and hidden folders are skipped.
///
/// # Errors
///
/// If a folder cannot be read.
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
                    <img src=\"i.png\">\n\n[name]\n\n[name]: target\n## Same\n## Same\n";
        let page = Page::parse(text);
        assert_eq!(page.anchors, ["one-two-three", "same", "same-1"]);
        let links: Vec<&str> = page.links.iter().map(|(_, link)| link.as_str()).collect();
        assert_eq!(links, ["b.md#c", "p.png", "i.png", "target"]);
        let block = &page.blocks[0];
        assert_eq!(block.language(), "sh");
        assert_eq!(block.value("x"), Some("1"));
        assert_eq!(block.value("z"), None);
        assert_eq!(block.line, 4);
        assert_eq!(block.text, "cargo\n# no heading\n");
        assert_eq!(page.code[1].1, "[no](link)");
    }

    #[test]
    fn anchors_are_those_of_github() {
        assert_eq!(slug(" SetTraits is STATUS_NOT_SUPPORTED"), "settraits-is-status_not_supported");
        assert_eq!(slug("1. Two folders"), "1-two-folders");
    }
}
