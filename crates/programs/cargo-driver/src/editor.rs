//! `cargo driver editor`: settings with which rust-analyzer checks a driver for Windows.
//!
//! rust-analyzer runs `cargo driver check` for its diagnostics and for the output of build scripts, so the settings contain no path and
//! stay valid when this program is updated. They can be committed with the driver.

use std::fs;
use std::path::{Path, PathBuf};

use command_line::{Inputs, Outputs};
use driver_build::Error;
use driver_build::setup::{TARGET, note};
use serde_json::{Map, Value, json};

use crate::arguments::{Editor, EditorName, manifest};

/// Writes the settings of the editors that the command line names.
pub(crate) fn editor(line: &Editor) -> Result<(), Error> {
    let manifest = manifest(line.manifest_path.as_deref())?;
    let dir = manifest.parent().unwrap_or(&manifest);
    let mut editors = line.editors.clone();
    if editors.is_empty() {
        editors.extend(ALL.into_iter().filter(|editor| dir.join(file(*editor)).exists()));
    }
    if editors.is_empty() {
        editors.push(EditorName::Vscode);
    }
    for editor in editors {
        match write(dir, editor)? {
            Written::File(path) => note(&format!("{}: rust-analyzer checks the driver for Windows", path.display())),
            Written::Nothing { path, settings } => {
                note(&format!("{} exists and was not changed; these settings belong into it:", path.display()));
                note(&settings);
            }
        }
    }
    Ok(())
}

const ALL: [EditorName; 4] = [EditorName::Vscode, EditorName::Zed, EditorName::Helix, EditorName::Neovim];

/// What became of an editor's settings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// The file has them.
    File(PathBuf),
    /// The file has other contents, to which they cannot be added.
    Nothing { path: PathBuf, settings: String },
}

/// The file with an editor's settings for one folder.
fn file(editor: EditorName) -> &'static str {
    match editor {
        EditorName::Vscode => ".vscode/settings.json",
        EditorName::Zed => ".zed/settings.json",
        EditorName::Helix => ".helix/languages.toml",
        // Neovim reads it if its option `exrc` is set.
        EditorName::Neovim => ".nvim.lua",
    }
}

/// rust-analyzer's configuration.
fn configuration() -> Value {
    let check = ["cargo", "driver", "check", "--quiet", "--message-format=json"];
    let scripts = ["cargo", "driver", "check", "--no-clippy", "--quiet", "--message-format=json"];
    json!({
        "cargo": { "target": TARGET, "allTargets": false, "buildScripts": { "overrideCommand": scripts } },
        "check": { "overrideCommand": check },
    })
}

/// Writes the settings of one editor to a driver's folder.
pub(crate) fn write(dir: &Path, editor: EditorName) -> Result<Written, Error> {
    let output = Outputs::new(Inputs::new().file(dir.join("Cargo.toml"))).dir(&dir.to_owned().into());
    let output = output.file(file(editor))?;
    let path = output.as_ref().to_owned();
    let old = fs::read_to_string(&path).ok();
    let text = match editor {
        EditorName::Vscode => with(old.as_deref(), flat("rust-analyzer", &configuration())),
        EditorName::Zed => {
            let options = json!({ "rust-analyzer": { "initialization_options": configuration() } });
            with(old.as_deref(), [(String::from("lsp"), options)].into_iter().collect())
        }
        EditorName::Helix => new(old.as_deref(), toml(&configuration())),
        EditorName::Neovim => new(old.as_deref(), lua(&configuration())),
    };
    match text {
        Settings::Whole(text) => {
            let created = path.parent().map_or(Ok(()), fs::create_dir_all);
            created.map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?;
            output.write(text)?;
            Ok(Written::File(path))
        }
        Settings::Separate(settings) => Ok(Written::Nothing { path, settings }),
    }
}

/// The text of an editor's settings.
enum Settings {
    /// The whole file.
    Whole(String),
    /// What the user has to add to the file.
    Separate(String),
}

/// The text of a new file, or of one that has exactly this text already.
fn new(old: Option<&str>, text: String) -> Settings {
    if old.is_none_or(|old| old == text) { Settings::Whole(text) } else { Settings::Separate(text) }
}

/// The settings as JSON, added to those of a file. A file with comments is not JSON and cannot be extended.
fn with(old: Option<&str>, settings: Map<String, Value>) -> Settings {
    let pretty = |settings| format!("{:#}\n", Value::Object(settings));
    match serde_json::from_str(old.filter(|old| !old.trim().is_empty()).unwrap_or("{}")) {
        Ok(Value::Object(mut all)) => {
            merge(&mut all, settings);
            Settings::Whole(pretty(all))
        }
        _ => Settings::Separate(pretty(settings)),
    }
}

/// Adds settings to others; of two values, the new one stays.
fn merge(all: &mut Map<String, Value>, settings: Map<String, Value>) {
    for (key, value) in settings {
        match (all.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, value) => drop(all.insert(key, value)),
        }
    }
}

/// The settings with keys such as `rust-analyzer.cargo.target`, as VS Code has them.
fn flat(name: &str, value: &Value) -> Map<String, Value> {
    let Value::Object(table) = value else { return [(name.to_owned(), value.clone())].into_iter().collect() };
    table.iter().flat_map(|(key, value)| flat(&format!("{name}.{key}"), value)).collect()
}

/// The settings as Helix has them. A list of strings is written alike in TOML and JSON.
fn toml(configuration: &Value) -> String {
    let lines = flat("config", configuration)
        .into_iter()
        .map(|(key, value)| format!("{} = {value}\n", key.trim_start_matches("config.")));
    format!("[language-server.rust-analyzer.config]\n{}", lines.collect::<String>())
}

/// The settings as Neovim 0.11 and later has them.
fn lua(configuration: &Value) -> String {
    fn table(value: &Value) -> String {
        match value {
            Value::Object(members) => {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("{key} = {}", table(value))).collect();
                format!("{{ {} }}", members.join(", "))
            }
            Value::Array(items) => format!("{{ {} }}", items.iter().map(table).collect::<Vec<_>>().join(", ")),
            other => other.to_string(),
        }
    }
    format!(
        "-- Neovim reads this file if its option `exrc` is set.\nvim.lsp.config('rust_analyzer', {{ settings = {{ \
         ['rust-analyzer'] = {} }} }})\n",
        table(configuration)
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use serde_json::{Value, json};

    use super::{ALL, Written, configuration, file, write};
    use crate::arguments::EditorName;

    fn dir(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("cargo-driver-editor-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    #[test]
    fn every_editor_gets_the_same_settings_and_no_path() {
        let dir = dir("all");
        for editor in ALL {
            let written = write(&dir, editor).unwrap();
            assert_eq!(written, Written::File(dir.join(file(editor))));
            assert_eq!(write(&dir, editor).unwrap(), written, "a second time");
            let text = fs::read_to_string(dir.join(file(editor))).unwrap();
            for word in ["x86_64-pc-windows-msvc", "\"driver\"", "overrideCommand", "buildScripts"] {
                assert!(text.contains(word), "{editor:?}: {text}");
            }
            assert!(!text.contains("\"/"), "{editor:?}: {text}");
        }
        let helix = fs::read_to_string(dir.join(file(EditorName::Helix))).unwrap();
        let helix: Value = toml::from_str::<toml::Table>(&helix).map(|table| json!(table)).unwrap();
        assert_eq!(helix["language-server"]["rust-analyzer"]["config"], configuration());
        fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn settings_of_others_stay() {
        let dir = dir("others");
        fs::create_dir_all(dir.join(".vscode")).unwrap();
        fs::create_dir_all(dir.join(".zed")).unwrap();
        fs::write(dir.join(".vscode/settings.json"), r#"{"editor.tabSize": 2, "rust-analyzer.cargo.target": "other"}"#)
            .unwrap();
        fs::write(dir.join(".zed/settings.json"), r#"{"lsp": {"clangd": {}, "rust-analyzer": {"binary": {}}}}"#)
            .unwrap();
        let read = |editor| {
            write(&dir, editor).unwrap();
            serde_json::from_str::<Value>(&fs::read_to_string(dir.join(file(editor))).unwrap()).unwrap()
        };
        let code = read(EditorName::Vscode);
        assert_eq!(&code["editor.tabSize"], &json!(2));
        assert_eq!(&code["rust-analyzer.cargo.target"], &json!("x86_64-pc-windows-msvc"));
        let zed = &read(EditorName::Zed)["lsp"];
        assert!(zed["clangd"].is_object(), "{zed}");
        assert!(zed["rust-analyzer"]["binary"].is_object(), "{zed}");
        assert_eq!(zed["rust-analyzer"]["initialization_options"], configuration());

        let with_comments = "// mine\n{}\n";
        fs::write(dir.join(".vscode/settings.json"), with_comments).unwrap();
        let kept = write(&dir, EditorName::Vscode).unwrap();
        assert!(matches!(kept, Written::Nothing { settings, .. } if settings.contains("rust-analyzer.cargo.target")));
        assert_eq!(fs::read_to_string(dir.join(".vscode/settings.json")).unwrap(), with_comments);
        fs::remove_dir_all(dir).unwrap();
    }
}
