//! `cargo xtask evidence`: shows what happened on Windows.
//!
//! The crate `driver-exercise` reads the files and writes the pages. This module keeps the files in the repository.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::command::{Command, Flag};
use crate::context::Context;
use command_line::{Inputs, Outputs};
use driver_build::Error;

pub(super) const COMMAND: Command = Command {
    name: "evidence",
    summary: "Writes docs/evidence.md from runs on Windows",
    details: "\
Copies each evidence.json into docs/evidence, and writes docs/evidence.md and
the row of the README's table from all files there. A file comes from the
workflow `Windows driver` or from `cargo driver deploy`, as
docs/your-driver-on-windows.md explains. Files of the same machine replace each
other. Without a file, the pages are written from the files that are there.
",
    flags: &[Flag { name: "FILE...", summary: "files named evidence.json" }],
    only_lists: false,
    run,
};

const DIR: &str = "docs/evidence";

fn run(context: &Context) -> Result<(), Error> {
    let here = env::current_dir().unwrap_or_default();
    let given: Vec<PathBuf> = context.words().iter().map(|word| here.join(word)).collect();
    let dir = Outputs::new(Inputs::new().files(&given)).dir(&context.path(DIR).into());
    for from in &given {
        dir.create()?;
        dir.file(&name(from)?)?.copy(from)?;
    }
    let mut files: Vec<PathBuf> = match fs::read_dir(dir.path()) {
        Ok(entries) => entries.filter_map(|entry| Some(entry.ok()?.path())).collect(),
        Err(_) => Vec::new(),
    };
    files.sort();
    let page =
        ["run", "--quiet", "--locked", "--package", "driver-exercise", "--", "page", "--out", "docs/evidence.md"];
    context.cargo().args(page).args(["--readme", "README.md"]).args(files.iter().map(OsString::from)).run_ours()
}

/// The name of a file in the folder: that of the folder it comes from, for example `evidence-windows-2025.json`.
fn name(file: &Path) -> Result<String, Error> {
    let parent = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let parent = parent.filter(|_| file.is_file()).ok_or_else(|| {
        Error::Usage(format!("{} is not there: name the evidence.json of a run on Windows", file.display()))
    })?;
    Ok(format!("{parent}.json"))
}

#[cfg(test)]
mod tests {
    use super::name;
    use std::fs;

    #[test]
    fn a_file_gets_the_name_of_its_folder() {
        let dir = std::env::temp_dir().join(format!("evidence-{}", std::process::id())).join("evidence-windows-2025");
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("evidence.json");
        assert!(name(&file).is_err_and(|error| error.to_string().contains("name the evidence.json")));
        fs::write(&file, "{}").unwrap();
        assert_eq!(name(&file).unwrap(), "evidence-windows-2025.json");
        fs::remove_dir_all(dir.parent().unwrap()).unwrap();
    }
}
