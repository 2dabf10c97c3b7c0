//! Annotations of GitHub: errors that are shown at a line of a change. GitHub reads them from the output of a workflow's steps
//! (GitHub Docs, "Workflow commands for GitHub Actions").

use std::env;
use std::path::{Path, PathBuf};

/// Whether this program runs in a workflow of GitHub.
#[must_use]
pub fn is_annotating() -> bool {
    env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true")
}

/// Prints an error as an annotation to standard error, if this program runs in a workflow of GitHub. `place` is a file and a line.
pub fn annotate(place: Option<(&Path, u32)>, message: &str) {
    if is_annotating() {
        let root = env::var_os("GITHUB_WORKSPACE").map(PathBuf::from).unwrap_or_default();
        eprintln!("{}", annotation(place, message, &root));
    }
}

/// The line that GitHub reads. Paths are relative to `root`, the folder of the repository.
fn annotation(place: Option<(&Path, u32)>, message: &str, root: &Path) -> String {
    // The first is the escape character itself.
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let place = place.map(|(file, line)| {
        let file = file.strip_prefix(root).unwrap_or(file).to_string_lossy();
        format!(" file={},line={line}", escape(&file).replace(':', "%3A").replace(',', "%2C"))
    });
    format!("::error{}::{}", place.unwrap_or_default(), escape(message))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::annotation;

    #[test]
    fn an_annotation_is_one_line_and_has_a_path_of_the_repository() {
        let shown =
            |path: &str, message: &str| annotation(Some((Path::new(path), 7)), message, Path::new("/repository"));
        assert_eq!(shown("/repository/src/lib.rs", "a\nb 5%"), "::error file=src/lib.rs,line=7::a%0Ab 5%25");
        assert_eq!(shown("/else/a,b:c.rs", "\u{1b}\r"), "::error file=/else/a%2Cb%3Ac.rs,line=7::\u{1b}%0D");
        assert_eq!(annotation(None, "::error::x", Path::new("")), "::error::::error::x");
    }
}
