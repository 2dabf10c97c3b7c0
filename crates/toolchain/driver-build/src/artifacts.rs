//! Reads cargo's messages about what it built. No path inside `target` is guessed, because its layout changes between versions
//! of cargo.

use std::path::PathBuf;

use serde_json::Value;

/// The flag for a format that the user chose with `--message-format`. Cargo always writes JSON to standard output. With the formats
/// for people, its diagnostics are not part of the JSON and go to standard error.
pub(crate) fn message_flag(format: Option<&str>) -> String {
    let format = match format {
        None | Some("human") => "json-render-diagnostics",
        Some("short") => "json-render-diagnostics,json-diagnostic-short",
        Some(other) => other,
    };
    format!("--message-format={format}")
}

/// Whether the user chose a format for programs.
pub(crate) fn is_json(format: Option<&str>) -> bool {
    format.is_some_and(|format| format.starts_with("json"))
}

/// The diagnostics in cargo's JSON, as text for people.
pub(crate) fn rendered(output: &str) -> String {
    let messages = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.filter_map(|message| message.pointer("/message/rendered")?.as_str().map(str::to_owned)).collect()
}

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
    /// Reads cargo's standard output, which has one JSON object per line. Build scripts cannot write there; lines of other programs
    /// that cargo runs are ignored.
    pub(crate) fn parse(output: &str) -> Self {
        let mut artifacts = Self::default();
        for message in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            match message.get("reason").and_then(Value::as_str) {
                Some("compiler-artifact") => artifacts.targets.extend(target(&message)),
                Some("build-script-executed") => artifacts.scripts.extend(script(&message)),
                _ => {}
            }
        }
        artifacts
    }

    /// Returns the folder that the build script of a package writes to.
    pub(crate) fn out_dir(&self, package: &str) -> Option<PathBuf> {
        self.scripts.iter().find(|script| script.package == package).map(|script| script.out_dir.clone())
    }
}

impl Target {
    /// Returns the file with this extension.
    pub(crate) fn file(&self, extension: &str) -> Option<&PathBuf> {
        self.files.iter().find(|file| file.extension().is_some_and(|own| own == extension))
    }
}

fn target(message: &Value) -> Option<Target> {
    let files = message.get("filenames")?.as_array()?.iter();
    Some(Target {
        package: text(message, "package_id")?,
        manifest: text(message, "manifest_path")?.into(),
        files: files.filter_map(|file| file.as_str().map(PathBuf::from)).collect(),
    })
}

fn script(message: &Value) -> Option<Script> {
    Some(Script { package: text(message, "package_id")?, out_dir: text(message, "out_dir")?.into() })
}

fn text(message: &Value, key: &str) -> Option<String> {
    message.get(key)?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{Artifacts, is_json, message_flag, rendered};

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
        assert_eq!(target.file("dll").unwrap().to_str(), Some("/t/echo.dll"));
        assert_eq!(target.file("pdb").unwrap().to_str(), Some(r"C:\t\echo.pdb"));
        assert_eq!(target.file("map"), None);
        assert_eq!(artifacts.out_dir(&target.package).unwrap().to_str(), Some("/t/new/out"));
        assert_eq!(artifacts.out_dir("another"), None);
    }

    #[test]
    fn formats_for_people_keep_the_json_that_names_the_artifacts() {
        assert_eq!(message_flag(None), "--message-format=json-render-diagnostics");
        assert_eq!(message_flag(Some("short")), "--message-format=json-render-diagnostics,json-diagnostic-short");
        assert_eq!(message_flag(Some("json")), "--message-format=json");
        assert!(is_json(Some("json-diagnostic-short")));
        assert!(!is_json(Some("short")));
        assert!(!is_json(None));
        let line = r#"{"reason":"compiler-message","message":{"rendered":"error: one\n","spans":[]}}"#;
        assert_eq!(rendered(&format!("{OUTPUT}\n{line}\n{line}\n")), "error: one\nerror: one\n");
    }

    #[test]
    fn incomplete_messages_are_left_out() {
        for line in
            [r#"{"reason":"compiler-artifact","filenames":["#, r#"{"reason":"compiler-artifact","filenames":[]}"#]
        {
            assert_eq!(Artifacts::parse(line), Artifacts::default());
        }
    }
}
