//! A page with the coloured source, without scripts and without other files.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use super::{FileLines, LineCoverage};
use crate::text::percent;

/// The page before the files. Its policy allows nothing but its own style, so that no text of a source file can run.
const HEAD: &str = include_str!("page.html");

/// Returns the page: a table of the files, then each file.
pub(super) fn page(coverage: &LineCoverage) -> String {
    let mut out = HEAD.to_owned();
    let (hit, all) = coverage.total();
    let _ = writeln!(out, "<h1>Coverage: {} ({hit} of {all} lines)</h1>\n<table class=\"files\">", percent(hit, all));
    out.push_str("<tr><th>File<th>Lines<th>Functions<th></tr>\n");
    for (number, (name, file)) in coverage.files.iter().enumerate() {
        let hit = file.hit();
        let all = file.lines.len();
        let functions = file.functions.values().filter(|(_, count)| *count != 0).count();
        let _ = writeln!(
            out,
            "<tr><td><a href=\"#f{number}\">{}</a><td>{} ({hit}/{all})<td>{functions}/{}<td><meter value=\"{hit}\" max=\"{all}\"></meter></tr>",
            escaped(name),
            percent(hit, all),
            file.functions.len(),
        );
    }
    out.push_str("</table>\n");
    for (number, (name, file)) in coverage.files.iter().enumerate() {
        let source = fs::read(name).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let _ = writeln!(out, "<h2 id=\"f{number}\">{}</h2>", escaped(name));
        if source.is_empty() {
            out.push_str("<p>The source file cannot be read here.</p>\n");
        }
        out.push_str(&listing(&source, file));
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// Returns the lines of a file with how many runs reached each. Without the source, only lines with code.
fn listing(source: &str, file: &FileLines) -> String {
    let mut text: BTreeMap<u32, &str> = (1..).zip(source.lines()).collect();
    for line in file.lines.keys() {
        text.entry(*line).or_default();
    }
    let mut out = String::from("<table class=\"source\">\n");
    for (line, text) in text {
        let (class, count) = match file.lines.get(&line) {
            None => ("", String::new()),
            Some(0) => (" class=\"missed\"", "0".to_owned()),
            Some(count) => (" class=\"hit\"", count.to_string()),
        };
        let _ = writeln!(out, "<tr{class}><td>{line}<td>{count}<td><pre>{}</pre></tr>", escaped(text));
    }
    out.push_str("</table>\n");
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::lcov;
    use super::{listing, page};

    #[test]
    fn lines_are_coloured_and_their_text_cannot_be_markup() {
        let coverage = lcov::parse("SF:/no/such/<b>.c\nDA:2,3\nDA:3,0\nend_of_record\n").expect("lcov's format");
        let (name, file) = coverage.files.first_key_value().expect("a file");
        assert_eq!(name, "/no/such/<b>.c");
        let lines = listing("int a;\nif (a < b && \"c\")\n    return;\n", file);
        assert!(lines.contains("<tr><td>1<td><td><pre>int a;</pre></tr>"), "{lines}");
        assert!(
            lines.contains("<tr class=\"hit\"><td>2<td>3<td><pre>if (a &lt; b &amp;&amp; &quot;c&quot;)</pre></tr>"),
            "{lines}"
        );
        assert!(lines.contains("<tr class=\"missed\"><td>3<td>0<td><pre>    return;</pre></tr>"), "{lines}");
        let page = page(&coverage);
        assert!(page.contains("/no/such/&lt;b&gt;.c"), "{page}");
        assert!(!page.contains("<b>"), "{page}");
        assert!(page.contains("50.0 % (1 of 2 lines)"), "{page}");
        assert!(page.contains("cannot be read here"), "{page}");
    }
}
