//! The results of tests, from the lines that `cargo test` and cargo-nextest print, and as XML in the format of `JUnit`.
//!
//! On stable compilers the programs of tests have no output for other programs, so their lines are read. A program that ends
//! before it has reported all of its tests is an error.

use std::fmt::Write as _;

/// The results of a run.
#[derive(Debug, Default)]
pub(crate) struct Results {
    suites: Vec<Suite>,
    /// The program whose lines are being read.
    current: Suite,
    /// The test whose output is being read.
    output_of: Option<String>,
}

/// One program of tests.
#[derive(Debug, Default)]
struct Suite {
    name: String,
    /// How many tests the program announced.
    announced: usize,
    cases: Vec<Case>,
}

#[derive(Debug)]
struct Case {
    name: String,
    outcome: Outcome,
    output: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    Ignored,
    /// The program ended early.
    Error,
}

/// A test that failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    /// What to show.
    pub(crate) message: String,
    /// The file and the line that the message of a panic names.
    pub(crate) place: Option<(String, u32)>,
}

impl Results {
    /// Takes the next line.
    pub(crate) fn line(&mut self, line: &str) {
        let line = &without_colours(line);
        let trimmed = line.trim_start();
        if let Some(rest) = trimmed.strip_prefix("Running ").or_else(|| trimmed.strip_prefix("Doc-tests ")) {
            // `Running tests/it/main.rs (target/debug/deps/it-0123)`
            let name = rest.rsplit_once(" (").map_or(rest, |(name, _)| name);
            self.begin(name.trim_start_matches("unittests "));
        } else if let Some(count) = line.strip_prefix("running ").and_then(|rest| rest.split(' ').next()?.parse().ok())
        {
            self.current.announced = count;
        } else if let Some((name, word)) = line.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            let outcome = match word.split([',', ' ', '<']).next() {
                Some("ok") => Outcome::Passed,
                Some("FAILED") => Outcome::Failed,
                Some("ignored") => Outcome::Ignored,
                _ => return,
            };
            self.add(name, outcome);
        } else if let Some((name, outcome)) = parse_nextest(trimmed) {
            let (suite, name) = name.split_once(' ').unwrap_or(("", name));
            self.take_nextest(suite, name, outcome);
        } else if let Some(name) = line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----")) {
            self.output_of = Some(name.to_owned());
        } else if line == "failures:" || line.starts_with("test result: ") || line.starts_with("────") {
            self.output_of = None;
        } else if let Some(name) = self.output_of.clone()
            && let Some(case) = self.current.cases.iter_mut().find(|case| case.name == name)
        {
            case.output.push_str(line);
            case.output.push('\n');
        }
    }

    /// Ends the results. A run that failed without a test that failed has an error.
    pub(crate) fn end(&mut self, is_success: bool) {
        self.begin("");
        for suite in &mut self.suites {
            if suite.cases.len() < suite.announced {
                let reported = suite.cases.len();
                let output = format!("the program of the tests ended after {reported} of {} tests\n", suite.announced);
                suite.cases.push(Case { name: suite.name.clone(), outcome: Outcome::Error, output });
            }
        }
        let is_failure = |case: &Case| matches!(case.outcome, Outcome::Failed | Outcome::Error);
        if !is_success && !self.suites.iter().flat_map(|suite| &suite.cases).any(is_failure) {
            self.begin("build");
            self.add("build", Outcome::Error);
            self.begin("");
        }
    }

    /// The tests that failed.
    pub(crate) fn failures(&self) -> impl Iterator<Item = Failure> {
        let cases = self.suites.iter().flat_map(|suite| &suite.cases);
        cases.filter(|case| matches!(case.outcome, Outcome::Failed | Outcome::Error)).map(|case| {
            let message = format!("the test {} failed\n{}", case.name, case.output);
            Failure { message: message.trim_end().to_owned(), place: place(&case.output) }
        })
    }

    /// The results as XML in the format of `JUnit`, as continuous integration services read it.
    pub(crate) fn to_xml(&self) -> String {
        let mut xml =
            String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"cargo driver test\">\n");
        for suite in &self.suites {
            let count = |outcome| suite.cases.iter().filter(|case| case.outcome == outcome).count();
            // Writing to a string cannot fail.
            let _ = writeln!(
                xml,
                "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">",
                escaped(&suite.name),
                suite.cases.len(),
                count(Outcome::Failed),
                count(Outcome::Error),
                count(Outcome::Ignored)
            );
            for case in &suite.cases {
                let _ = write!(
                    xml,
                    "    <testcase classname=\"{}\" name=\"{}\"",
                    escaped(&suite.name),
                    escaped(&case.name)
                );
                let element = match case.outcome {
                    Outcome::Passed => None,
                    Outcome::Failed => Some("failure"),
                    Outcome::Error => Some("error"),
                    Outcome::Ignored => Some("skipped"),
                };
                match element {
                    Some(name) => {
                        let _ = writeln!(xml, "><{name}>{}</{name}></testcase>", escaped(&case.output));
                    }
                    None => xml.push_str("/>\n"),
                }
            }
            xml.push_str("  </testsuite>\n");
        }
        xml + "</testsuites>\n"
    }

    /// Begins with the lines of another program.
    fn begin(&mut self, name: &str) {
        self.output_of = None;
        let ended = std::mem::replace(&mut self.current, Suite { name: name.to_owned(), ..Suite::default() });
        if ended.announced > 0 || !ended.cases.is_empty() {
            self.suites.push(ended);
        }
    }

    /// Takes a result of cargo-nextest. The last attempt of a test counts, and the line of a failed test comes again at the end.
    fn take_nextest(&mut self, suite: &str, name: &str, outcome: Outcome) {
        if self.current.name != suite {
            self.begin(suite);
        }
        let suites = self.suites.iter_mut().chain([&mut self.current]).filter(|one| one.name == suite);
        let known = suites.flat_map(|suite| &mut suite.cases).find(|case| case.name == name);
        if let Some(case) = known {
            case.outcome = outcome;
            self.output_of = None;
            return;
        }
        self.current.announced += 1;
        self.add(name, outcome);
        // The lines that follow are what the test printed.
        self.output_of = (outcome == Outcome::Failed).then(|| name.to_owned());
    }

    fn add(&mut self, name: &str, outcome: Outcome) {
        self.current.cases.push(Case { name: name.to_owned(), outcome, output: String::new() });
    }
}

/// A result of cargo-nextest: `PASS [   0.004s] (1/2) my-tests::driver name`.
fn parse_nextest(line: &str) -> Option<(&str, Outcome)> {
    let (word, rest) = line.split_once(" [")?;
    // With the number of the attempt: `TRY 2 PASS`.
    let word = word.strip_prefix("TRY ").and_then(|rest| rest.split_once(' ')).map_or(word, |(_, word)| word);
    let outcome = match word {
        "PASS" => Outcome::Passed,
        "FAIL" | "SIGSEGV" | "SIGABRT" | "TIMEOUT" | "ABORT" => Outcome::Failed,
        _ => return None,
    };
    let name = rest.split_once("] ")?.1.trim_start();
    // The number of the test, which newer releases print.
    Some((
        name.strip_prefix('(').and_then(|rest| rest.split_once(") ")).map_or(name, |(_, name)| name.trim_start()),
        outcome,
    ))
}

/// The file and the line in the message of a panic: `thread 'x' panicked at tests/driver.rs:12:5:`.
fn place(output: &str) -> Option<(String, u32)> {
    let (_, rest) = output.split_once("panicked at ")?;
    let mut parts = rest.lines().next()?.trim_end_matches(':').rsplitn(3, ':');
    let (_, line, file) = (parts.next()?, parts.next()?, parts.next()?);
    Some((file.to_owned(), line.parse().ok()?))
}

/// The text for XML, without the characters that XML does not have.
fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
    text.replace(|c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || matches!(c, '\u{fffe}' | '\u{ffff}'), "?")
}

/// The line without the escape sequences of colours.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[cfg(test)]
mod tests {
    use super::Results;

    const LIBTEST: &str = "\
   Compiling x v0.1.0
     Running tests/driver.rs (target/debug/deps/driver-0a1b)

running 3 tests
test adds ... ok
test slow ... ignored, takes long
test refuses ... FAILED

failures:

---- refuses stdout ----

thread 'refuses' (7) panicked at tests/driver.rs:12:5:
left < right & \"more\"
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace


failures:
    refuses

test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

error: test failed, to rerun pass `--test driver`
";

    fn results(text: &str, is_success: bool) -> Results {
        let mut results = Results::default();
        text.lines().for_each(|line| results.line(line));
        results.end(is_success);
        results
    }

    /// The values of the attributes of each suite, and the names of its cases with the names of the elements in them.
    fn read(xml: &str) -> Vec<(String, String)> {
        let document = roxmltree::Document::parse(xml).unwrap();
        let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
        let case = |node: roxmltree::Node<'_, '_>| {
            let inside = node.first_element_child().map_or("passed", |child| child.tag_name().name()).to_owned();
            (node.attribute("name").unwrap().to_owned(), inside)
        };
        cases.map(case).collect()
    }

    #[test]
    fn the_lines_of_cargo_test_become_cases() {
        let results = results(LIBTEST, false);
        let xml = results.to_xml();
        let expected = [("adds", "passed"), ("slow", "skipped"), ("refuses", "failure")];
        assert_eq!(read(&xml), expected.map(|(name, what)| (name.to_owned(), what.to_owned())));
        assert!(xml.contains("tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""), "{xml}");
        assert!(xml.contains("left &lt; right &amp; &quot;more&quot;"), "{xml}");
        let failures: Vec<_> = results.failures().collect();
        assert_eq!(failures[0].place, Some(("tests/driver.rs".to_owned(), 12)));
    }

    #[test]
    fn a_program_that_ends_early_is_an_error() {
        let cut = LIBTEST.split_once("test slow").unwrap().0;
        assert_eq!(read(&results(cut, false).to_xml())[1].1, "error");
        assert_eq!(read(&results("error: could not compile `x`\n", false).to_xml())[0].1, "error");
        assert_eq!(read(&results("", true).to_xml()), []);
    }

    #[test]
    fn the_lines_of_nextest_become_cases() {
        let text = "    Starting 3 tests across 2 binaries\n        PASS [   0.004s] (1/3) my-tests::driver adds\n  \
                    TRY 1 FAIL [   0.005s] (2/3) my-tests::driver flaky\n  TRY 2 PASS [   0.005s] (2/3) my-tests::driver flaky\n        \
                    FAIL [   0.006s] my-tests::other refuses\n     Summary [   0.010s] 3 tests run\n        \
                    FAIL [   0.006s] my-tests::other refuses\n";
        let text = text.replace("     Summary", "    panicked at tests/other.rs:7:1:\n────────────\n     Summary");
        let expected = [("adds", "passed"), ("flaky", "passed"), ("refuses", "failure")];
        assert_eq!(results(&text, false).failures().next().unwrap().place, Some(("tests/other.rs".to_owned(), 7)));
        assert_eq!(
            read(&results(&text, false).to_xml()),
            expected.map(|(name, what)| (name.to_owned(), what.to_owned()))
        );
    }
}
