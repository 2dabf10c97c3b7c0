//! Which source lines of a driver have run, over any number of runs.

mod html;
mod lcov;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use etw_etl::NewFile;
use nt_machine::Coverage;
use pe_image::Symbols;

use crate::text::percent;

/// The source lines of a driver, and how many runs reached each. Only files of the driver's own sources count, not those of
/// libraries.
///
/// ```no_run
/// use nt_host::{Builder, LineCoverage, NtHost};
///
/// let builder: Builder = NtHost::builder().driver("my_driver.sys").measure_coverage();
/// let host = builder.start()?;
/// host.unload()?.assert_clean();
/// let mut all: LineCoverage = host.line_coverage();
/// all.merge(&LineCoverage::read("earlier.info").expect("a file in lcov's format"));
/// let (reached, lines) = all.total();
/// println!("{all}\n{reached} of {lines} lines; without debug information: {}", all.is_empty());
/// all.write("coverage.html").expect("a page for the browser");
/// host.write_coverage()?;
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCoverage {
    files: BTreeMap<String, FileLines>,
}

/// The lines and functions of a source file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FileLines {
    /// By line number: how many runs reached it.
    lines: BTreeMap<u32, u64>,
    /// By name: the first line, and how many runs reached the function.
    functions: BTreeMap<String, (u32, u64)>,
}

impl FileLines {
    fn hit(&self) -> usize {
        self.lines.values().filter(|count| **count != 0).count()
    }

    fn add_line(&mut self, line: u32, count: u64) {
        *self.lines.entry(line).or_default() += count;
    }

    fn add_function(&mut self, name: &str, line: u32, count: u64) {
        let known = self.functions.entry(name.to_owned()).or_insert((line, 0));
        *known = (known.0.min(line), known.1 + count);
    }

    /// Keeps only whether something was reached.
    fn saturate(&mut self) {
        self.lines.values_mut().for_each(|count| *count = (*count).min(1));
        self.functions.values_mut().for_each(|(_, count)| *count = (*count).min(1));
    }
}

impl LineCoverage {
    /// Finds the lines of the blocks of a run. Each block has one place in the source, because a block ends where a line
    /// does.
    pub(crate) fn new(coverage: &Coverage, symbols: &Symbols) -> Self {
        let mut files: BTreeMap<String, FileLines> = BTreeMap::new();
        for (block, rva) in coverage.blocks().iter().enumerate() {
            let count = coverage.is_hit(block).into();
            // The lines of functions that were inlined there, and of the calls of these functions.
            for frame in symbols.frames(*rva) {
                let Some((file, line)) = frame.source.filter(|(file, line)| *line != 0 && symbols.is_own(file)) else {
                    continue;
                };
                let file = files.entry(file.to_owned()).or_default();
                file.add_line(line, count);
                if let Some(function) = &frame.function {
                    file.add_function(function, line, count);
                }
            }
        }
        files.values_mut().for_each(FileLines::saturate);
        let mut found = Self::default();
        // The same file can have several names in a PDB.
        for (name, file) in files {
            let real = fs::canonicalize(&name).ok().and_then(|path| path.to_str().map(str::to_owned));
            found.add(&real.unwrap_or(name), &file);
        }
        found
    }

    /// Reads a file in lcov's format, such as [`LineCoverage::write`] writes it.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if a line of it is not in this format.
    pub fn read(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let about = |reason: String| io::Error::other(format!("{}: {reason}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| about(error.to_string()))?;
        lcov::parse(&text).map_err(|line| about(format!("line {line} is not in lcov's format")))
    }

    /// Writes a page for the browser if the path ends with `.html`, otherwise a file in lcov's format.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    #[expect(
        clippy::disallowed_methods,
        reason = "the caller chooses the file; the command passes an output that it checked"
    )]
    pub fn write(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let path = path.as_ref();
        let is_page = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("html"));
        let text = if is_page { html::page(self) } else { lcov::print(self) };
        let mut file = NewFile::create(path)?;
        file.write_all(text.as_bytes())?;
        file.finish()
    }

    /// Adds the lines of other runs.
    pub fn merge(&mut self, other: &Self) {
        for (name, file) in &other.files {
            self.add(name, file);
        }
    }

    fn add(&mut self, name: &str, more: &FileLines) {
        let file = self.files.entry(name.to_owned()).or_default();
        more.lines.iter().for_each(|(line, count)| file.add_line(*line, *count));
        more.functions.iter().for_each(|(name, (line, count))| file.add_function(name, *line, *count));
    }

    /// Returns whether there are no lines, because the driver has no debug information.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns how many runs reached each line of a source file that has code, with the number of the line. Empty for an
    /// unknown file.
    pub fn lines(&self, file: &str) -> impl Iterator<Item = (u32, u64)> {
        self.files.get(file).into_iter().flat_map(|file| &file.lines).map(|(line, count)| (*line, *count))
    }

    /// Returns the source files: their paths, how many of their lines were reached, and how many have code.
    pub fn files(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.files.iter().map(|(name, file)| (name.as_str(), file.hit(), file.lines.len()))
    }

    /// Returns how many lines of all files were reached, and how many have code.
    #[must_use]
    pub fn total(&self) -> (usize, usize) {
        self.files().fold((0, 0), |(hit, all), (_, file_hit, file_all)| (hit + file_hit, all + file_all))
    }
}

/// The table of files.
impl fmt::Display for LineCoverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hit, all) = self.total();
        for (name, hit, all) in self.files().chain([("all files", hit, all)]) {
            let name: String = name
                .chars()
                .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
                .collect();
            writeln!(f, "{:>8}  {:>11}  {name}", percent(hit, all), format!("{hit}/{all}"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LineCoverage, lcov};
    use crate::text::percent;

    /// Two files: one was reached, the other was not.
    const TEXT: &str = "TN:\nSF:/a/b.c\nFN:3,f<A, B>\nFNDA:2,f<A, B>\nFNF:1\nFNH:1\nDA:3,2\nDA:4,0\nLF:2\nLH:1\nend_of_record\n\
                        SF:/a/c.c\nFNF:0\nFNH:0\nDA:1,0\nLF:1\nLH:0\nend_of_record\n";

    #[test]
    fn lcov_is_read_as_it_was_written() {
        let read = lcov::parse(TEXT).expect("lcov's format");
        assert_eq!(lcov::print(&read), TEXT);
        assert_eq!(read.files().collect::<Vec<_>>(), [("/a/b.c", 1, 2), ("/a/c.c", 0, 1)]);
        assert_eq!(lcov::parse("SF:/a\nDA:x,1\n"), Err(2));
        assert_eq!(lcov::parse("DA:1,1\n"), Err(1));
    }

    #[test]
    fn runs_are_added() {
        let mut sum = lcov::parse(TEXT).expect("lcov's format");
        sum.merge(&lcov::parse("SF:/a/b.c\nDA:4,1\nDA:9,0\nend_of_record\n").expect("lcov's format"));
        assert_eq!(sum.lines("/a/b.c").collect::<Vec<_>>(), [(3, 2), (4, 1), (9, 0)]);
        assert_eq!(sum.total(), (2, 4));
        let table = sum.to_string();
        assert!(table.contains("  66.6 %          2/3  /a/b.c\n"), "{table}");
        assert!(table.ends_with("  50.0 %          2/4  all files\n"), "{table}");
        assert!(LineCoverage::default().is_empty());
    }

    #[test]
    fn a_hundred_percent_is_all_of_them() {
        assert_eq!([percent(999, 1000), percent(1000, 1000), percent(0, 0)], ["99.9 %", "100.0 %", "0.0 %"]);
    }
}
