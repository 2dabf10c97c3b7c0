//! Compiles all programs in `tests/ui` with one call of the cargo that runs the tests.
//!
//! The programs are the binaries of one package, which is generated in this test's folder. Those in `names` are packages
//! of their own, which do not know `wdk-etw` by this name. Cargo's JSON messages contain the errors of each program, and
//! the paths of the programs that have no errors.

use std::fmt::{self, Write as _};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// A program in `tests/ui`.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// Path of the executable, if the program compiled.
    pub(crate) program: Option<PathBuf>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// An error of the compiler.
#[derive(Debug)]
pub(crate) struct Diagnostic {
    /// Line and column in the program.
    pub(crate) place: (u64, u64),
    /// The compiler's error code. Errors that the macros emit have none.
    pub(crate) code: Option<String>,
    pub(crate) message: String,
    /// The message, the labels in the source, notes and help.
    pub(crate) text: String,
}

/// Prints the error as a line of a list.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.place;
        let code = self.code.as_ref().map(|code| format!("{code} ")).unwrap_or_default();
        write!(f, "{line}:{column} {code}{}", self.message)
    }
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder with the programs.
pub(crate) fn ui() -> PathBuf {
    package().join("tests/ui")
}

/// Returns every program. The first call compiles them.
pub(crate) fn cases() -> &'static [Case] {
    static CASES: OnceLock<Vec<Case>> = OnceLock::new();
    CASES.get_or_init(compile)
}

fn compile() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("macros");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("Cargo.toml"), manifest()).expect("the manifest");
    for (name, dependencies) in NAMES {
        let package = folder.join(name);
        fs::create_dir_all(&package).expect("a folder");
        fs::write(package.join("Cargo.toml"), manifest_of_names(name, dependencies)).expect("a manifest");
    }
    let script = "fn main() { println!(\"cargo::rustc-env=WDK_ETW_NTDDI_VERSION=0x0A000000\"); }";
    fs::write(folder.join("renamed/build.rs"), script).expect("a build script");
    let root = package().ancestors().nth(3).expect("the repository");
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    let output = Command::new(env!("CARGO"))
        .current_dir(&folder)
        .args([
            "build",
            "--offline",
            "--workspace",
            "--bins",
            "--keep-going",
            "--message-format=json",
            "--target-dir",
            "target",
        ])
        // RUSTFLAGS for the host's tests must not change the warnings of the programs.
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo");
    let mut cases: Vec<Case> = Vec::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        read(&serde_json::from_str(line).unwrap_or_default(), &mut cases);
    }
    assert!(!cases.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    cases
}

/// The packages of the programs in `names`, each with the dependency through which it has `wdk-etw`. `company` is the
/// library that another one uses. The build script of `renamed` sets the version of Windows that its providers are for.
const NAMES: [(&str, &str); 3] = [
    ("company", "tracing = { package = \"wdk-etw\", path = WDK_ETW }"),
    ("renamed", "etw = { package = \"wdk-etw\", path = WDK_ETW }"),
    ("through_company", "company = { path = \"../company\" }"),
];

fn quoted(path: &Path) -> String {
    format!("{:?}", path.to_string_lossy())
}

fn symbols() -> PathBuf {
    package().ancestors().nth(2).expect("the crates").join("traces/etw-symbols")
}

/// Returns the `Cargo.toml` of a package in [`NAMES`].
fn manifest_of_names(name: &str, dependencies: &str) -> String {
    let target = if name == "company" { "[lib]".to_owned() } else { format!("[[bin]]\nname = {name:?}") };
    let source = ui().join("names").join(name).with_extension("rs");
    let dependencies = dependencies.replace("WDK_ETW", &quoted(package()));
    format!(
        "[package]\nname = {name:?}\nversion = \"0.0.0\"\nedition = \"2024\"\n{target}\npath = {}\n\
         [dependencies]\netw-symbols.path = {}\n{dependencies}\n",
        quoted(&source),
        quoted(&symbols())
    )
}

/// Returns the `Cargo.toml` of a package with one binary per source file.
fn manifest() -> String {
    let members = NAMES.map(|(name, _)| name);
    let mut text = format!(
        "[workspace]\nmembers = {members:?}\n[package]\nname = \"ui\"\nversion = \"0.0.0\"\nedition = \"2024\"\nautobins = false\n\
         [profile.dev]\ndebug = false\n[dependencies]\nwdk-etw.path = {}\netw-symbols.path = {}\n",
        quoted(package()),
        quoted(&symbols())
    );
    for folder in ["pass", "fail"] {
        for name in crate::names(folder) {
            let path = ui().join(folder).join(&name).with_extension("rs");
            let _ = writeln!(text, "[[bin]]\nname = {name:?}\npath = {}", quoted(&path));
        }
    }
    text
}

/// Reads one of cargo's messages.
fn read(message: &Value, cases: &mut Vec<Case>) {
    let Some(name) = message["target"]["name"].as_str().filter(|_| message["target"]["kind"][0] == "bin") else {
        return;
    };
    if !cases.iter().any(|case| case.name == name) {
        cases.push(Case { name: name.into(), program: None, diagnostics: Vec::new() });
    }
    let Some(case) = cases.iter_mut().find(|case| case.name == name) else { return };
    if let Some(program) = message["executable"].as_str() {
        case.program = Some(program.into());
    }
    let source = Path::new(message["target"]["src_path"].as_str().unwrap_or_default());
    case.diagnostics.extend(diagnostic(&message["message"], source));
}

/// Returns an error that has a location. Summaries have none.
fn diagnostic(message: &Value, source: &Path) -> Option<Diagnostic> {
    let primary = array(&message["spans"]).find(|span| span["is_primary"] == true);
    let span = primary.filter(|_| message["level"] == "error")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let labels = array(&message["spans"]).map(|span| text(&span["label"]));
    let children = array(&message["children"]).map(|child| text(&child["message"]));
    let all: Vec<String> = [text(&message["message"])].into_iter().chain(labels).chain(children).collect();
    Some(Diagnostic {
        // An error in another file gets line 0, which no list contains.
        place: place(span, source).unwrap_or_default(),
        code: message["code"]["code"].as_str().map(Into::into),
        message: text(&message["message"]),
        text: all.join("\n"),
    })
}

/// Returns line and column in the source file. For an error inside a macro of another crate, that is where the
/// macro was expanded.
fn place(mut span: &Value, source: &Path) -> Option<(u64, u64)> {
    while Path::new(span["file_name"].as_str()?).file_name() != source.file_name() {
        span = &span["expansion"]["span"];
    }
    Some((span["line_start"].as_u64()?, span["column_start"].as_u64()?))
}

fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}
