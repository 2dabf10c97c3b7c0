//! Reads cargo's messages about what it built. No path inside `target` is guessed, because its layout changes between versions
//! of cargo.
//!
//! Cargo writes one compact JSON object per line. A quotation mark inside a string is always escaped, so a search for a quoted
//! key finds only the key. This crate has no dependencies, so it has no JSON parser.

use std::path::PathBuf;

/// The flag that makes cargo write JSON to standard output and its messages for people to standard error.
pub(crate) const JSON: &str = "--message-format=json-render-diagnostics";

/// What one run of cargo built, or found up to date.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Artifacts {
    /// The compiled targets.
    pub(crate) targets: Vec<Target>,
    /// The build scripts that ran.
    pub(crate) scripts: Vec<Script>,
}

/// A compiled target of a package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Cargo's id of the package.
    pub(crate) package: String,
    /// The package's manifest.
    pub(crate) manifest: PathBuf,
    /// `bin`, `cdylib`, `lib` …
    pub(crate) kinds: Vec<String>,
    /// The files that cargo wrote for it.
    pub(crate) files: Vec<PathBuf>,
}

/// A build script that has run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// Cargo's id of the package.
    pub(crate) package: String,
    /// The folder that it wrote to, its `OUT_DIR`.
    pub(crate) out_dir: PathBuf,
}

impl Artifacts {
    /// Reads cargo's standard output. Other lines are ignored.
    #[must_use]
    pub(crate) fn parse(output: &str) -> Self {
        let mut artifacts = Self::default();
        for line in output.lines() {
            match string(line, "reason").as_deref() {
                Some("compiler-artifact") => artifacts.targets.extend(target(line)),
                Some("build-script-executed") => artifacts.scripts.extend(script(line)),
                _ => {}
            }
        }
        artifacts
    }

    /// Returns the folder that the build script of a package writes to.
    #[must_use]
    pub(crate) fn out_dir(&self, package: &str) -> Option<PathBuf> {
        self.scripts.iter().find(|script| script.package == package).map(|script| script.out_dir.clone())
    }
}

impl Target {
    /// Returns the file with this extension.
    #[must_use]
    pub(crate) fn file(&self, extension: &str) -> Option<&PathBuf> {
        self.files.iter().find(|file| file.extension().is_some_and(|own| own == extension))
    }
}

fn target(line: &str) -> Option<Target> {
    Some(Target {
        package: string(line, "package_id")?,
        manifest: string(line, "manifest_path")?.into(),
        kinds: strings(line, "kind")?,
        files: strings(line, "filenames")?.into_iter().map(PathBuf::from).collect(),
    })
}

fn script(line: &str) -> Option<Script> {
    Some(Script { package: string(line, "package_id")?, out_dir: string(line, "out_dir")?.into() })
}

fn string(line: &str, key: &str) -> Option<String> {
    literal(after(line, key)?).map(|(text, _)| text)
}

fn strings(line: &str, key: &str) -> Option<Vec<String>> {
    let mut rest = after(line, key)?.strip_prefix('[')?;
    let mut found = Vec::new();
    while !rest.starts_with(']') {
        let (text, behind) = literal(rest)?;
        found.push(text);
        rest = behind.strip_prefix(',').unwrap_or(behind);
    }
    Some(found)
}

fn after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(&format!("\"{key}\":")).map(|(_, value)| value)
}

/// Parses the JSON string that the text starts with; returns its value and the rest of the text.
fn literal(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text.strip_prefix('"')?.chars();
    loop {
        match rest.next()? {
            '"' => return Some((value, rest.as_str())),
            '\\' => value.push(match rest.next()? {
                'b' => '\x08',
                'f' => '\x0c',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'u' => {
                    let digits = rest.as_str().get(..4)?;
                    rest = rest.as_str()[4..].chars();
                    char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
                }
                plain => plain,
            }),
            plain => value.push(plain),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Artifacts, literal};

    const OUTPUT: &str = concat!(
        r#"{"reason":"build-script-executed","package_id":"path+file:///d#echo@0.1.0","linked_libs":[],"out_dir":"/t/new/out"}"#,
        "\na line of something else\n",
        r#"{"reason":"compiler-artifact","package_id":"path+file:///d#echo@0.1.0","manifest_path":"/d/Cargo.toml","target":"#,
        r#"{"kind":["cdylib"],"crate_types":["cdylib"],"name":"a \"filenames\":["},"filenames":["/t/echo.dll","C:\\t\\echo.pdb"],"executable":null,"fresh":true}"#,
        "\n",
        r#"{"reason":"build-finished","success":true}"#
    );

    #[test]
    fn targets_and_scripts_are_found_wherever_cargo_put_them() {
        let artifacts = Artifacts::parse(OUTPUT);
        let [target] = artifacts.targets.as_slice() else { panic!("{artifacts:?}") };
        assert_eq!(target.kinds, ["cdylib"]);
        assert_eq!(target.file("dll").unwrap().to_str(), Some("/t/echo.dll"));
        assert_eq!(target.file("pdb").unwrap().to_str(), Some(r"C:\t\echo.pdb"));
        assert_eq!(target.file("map"), None);
        assert_eq!(artifacts.out_dir(&target.package).unwrap().to_str(), Some("/t/new/out"));
        assert_eq!(artifacts.out_dir("another"), None);
    }

    #[test]
    fn strings_are_unescaped_and_incomplete_ones_rejected() {
        assert_eq!(literal(r#""a\"\\\u00e4\n",1"#), Some((String::from("a\"\\ä\n"), ",1")));
        assert_eq!(literal(r#""open"#), None);
        assert_eq!(literal(r#""\u12"#), None);
        assert_eq!(Artifacts::parse(r#"{"reason":"compiler-artifact","filenames":["#), Artifacts::default());
    }
}
