//! Additional files of a package: the scripts, and `etwctl.exe`.

use std::fs;
use std::path::Path;

use super::{name_of, read};
use crate::inf::Arch;
use crate::pe::Image;
use crate::problem::Problem;

/// Name and bytes.
pub(super) type File = (String, Vec<u8>);

/// The program's name in a package.
pub(super) const ETWCTL: &str = "etwctl.exe";

macro_rules! scripts {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../deploy/", $name)))),*]
    };
}

/// The scripts of this repository, for packages without their own.
const SCRIPTS: [(&str, &str); 13] = scripts![
    "boot-trace.ps1",
    "boot.ps1",
    "collect.ps1",
    "common.ps1",
    "device.ps1",
    "install.ps1",
    "machine.ps1",
    "record.ps1",
    "remove.ps1",
    "restart.ps1",
    "send.ps1",
    "uninstall.ps1",
    "verifier.ps1",
];

/// Returns the built-in scripts.
pub(super) fn built_in_scripts() -> Vec<File> {
    SCRIPTS.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
}

/// Returns the PowerShell scripts in a folder.
pub(super) fn scripts_in(dir: &Path) -> Result<Vec<File>, Problem> {
    let unreadable = |error: std::io::Error| Problem::access(dir, "package-file", &error);
    let mut scripts = Vec::new();
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ps1")) {
            scripts.push((name_of(&path)?.to_owned(), read(&path)?));
        }
    }
    Ok(scripts)
}

/// Reads the program that records and decodes, if it can run on this architecture.
pub(super) fn etwctl(path: &Path, arch: Arch) -> Result<Vec<u8>, Problem> {
    let bytes = read(path)?;
    let image = Image::parse(&bytes).map_err(|error| Problem::error(path, error.field(), error.reason()))?;
    let machine = image.header.machine;
    // Windows on ARM64 can run programs for x64, but not the reverse.
    match Arch::from_machine(machine.0) {
        Some(own) if own == arch || own == Arch::X64 => Ok(bytes),
        _ => {
            let text = format!("it is for {machine}, the package is for {}", arch.name());
            Err(Problem::error(path, "machine", text))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{SCRIPTS, scripts_in};

    #[test]
    fn every_script_of_the_folder_is_built_in() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
        let mut names: Vec<String> = scripts_in(&dir).unwrap().into_iter().map(|(name, _)| name).collect();
        names.sort();
        assert_eq!(names, SCRIPTS.map(|(name, _)| name));
    }
}
