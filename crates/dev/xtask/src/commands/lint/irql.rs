//! A lint of this repository: every public function of the crates that a driver calls documents the IRQL at which it may be
//! called.

use std::fs;
use std::path::{Path, PathBuf};

use crate::context::Context;
use crate::steps::Outcome;
use driver_build::Error;

/// The folders that are checked.
const SOURCES: [&str; 2] = ["crates/driver/wdk-etw/src", "crates/driver/wdk-kmdf/src"];
/// Files that are not checked. Their `pub` items are sealed or only for the expansions of macros, so users never call
/// them.
const INTERNAL: [&str; 9] = [
    "private.rs",
    "backend/mod.rs",
    "backend/kernel.rs",
    "backend/user.rs",
    "event/data.rs",
    "event/native_string.rs",
    "event/packed.rs",
    "event/text.rs",
    "event/value.rs",
];

/// Fails with the file and line of each function without an `# IRQL` section.
pub(super) fn check(context: &Context) -> Result<Outcome, Error> {
    let mut missing = Vec::new();
    for sources in SOURCES {
        let root = context.path(sources);
        for file in rust_files(&root)? {
            let name = file.strip_prefix(&root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            if !INTERNAL.contains(&name.as_str()) {
                let text = fs::read_to_string(&file).map_err(|error| failed(&file, &error))?;
                missing.extend(undocumented(&text).map(|line| format!("{sources}/{name}:{line}")));
            }
        }
    }
    if missing.is_empty() {
        return Ok(Outcome::Passed);
    }
    Err(Error::Failed(format!("public functions without an `# IRQL` section:\n  {}", missing.join("\n  "))))
}

fn failed(file: &Path, error: &std::io::Error) -> Error {
    Error::Failed(format!("cannot read {}: {error}", file.display()))
}

/// Returns all Rust files below a folder.
pub(in crate::commands) fn rust_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(|error| failed(dir, &error))? {
        let path = entry.map_err(|error| failed(dir, &error))?.path();
        if path.is_dir() {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the line numbers of public functions without an `# IRQL` section, up to the first `#[cfg(test)]`.
fn undocumented(text: &str) -> impl Iterator<Item = usize> + '_ {
    let mut says = false;
    let mut hidden = false;
    let production = text.lines().take_while(|line| line.trim() != "#[cfg(test)]");
    production.enumerate().filter_map(move |(index, line)| {
        let line = line.trim();
        if line.starts_with("///") {
            says |= line == "/// # IRQL";
            return None;
        }
        if line.starts_with("#[") {
            hidden |= line == "#[doc(hidden)]";
            return None;
        }
        let missing = is_public_function(line) && !says && !hidden;
        (says, hidden) = (false, false);
        missing.then_some(index + 1)
    })
}

fn is_public_function(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pub ") else { return false };
    let rest = rest.strip_prefix("const ").unwrap_or(rest);
    let rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    rest.starts_with("fn ")
}

#[cfg(test)]
mod tests {
    use super::undocumented;

    #[test]
    fn a_function_without_irql_is_found_and_others_are_not() {
        let text = "/// Does it.\n///\n/// # IRQL\n///\n/// Any.\n#[must_use]\npub const fn good() {}\n\
                    /// Does it.\npub unsafe fn bad() {}\n\
                    #[doc(hidden)]\npub fn hidden() {}\npub(crate) fn internal() {}\n\
                    #[cfg(test)]\nmod tests {\npub fn test() {}\n}\n";
        assert_eq!(undocumented(text).collect::<Vec<_>>(), [9]);
    }
}
