//! What a driver adds to the kit: headers with declarations, and module definition files with routines to link with.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

use crate::arch::Arch;
use crate::driver_settings::DriverSettings;
use crate::files::FileError;
use crate::host::Host;
use crate::prepare_error::PrepareError;
use crate::workspace::{Group, Workspace};

/// Import libraries, by the module definition file that each is made from.
pub(crate) type Libraries = BTreeMap<PathBuf, PathBuf>;

/// Makes the import libraries of a workspace's drivers with `llvm-dlltool`, as those of the kit. They are named by their contents.
pub(crate) fn libraries(host: &Host, workspace: &Workspace, arch: Arch) -> Result<Libraries, PrepareError> {
    let mut libraries = Libraries::new();
    for definition in drivers(workspace).flat_map(|settings| &settings.exports) {
        let text = fs::read(definition).map_err(|error| FileError::new(definition, &error))?;
        let stem = definition.file_stem().unwrap_or_default().to_string_lossy();
        let dir = host.cache().join("exports").join(arch.name());
        let library = dir.join(format!("{stem}-{:016x}.lib", digest(&[&text])));
        if !library.is_file() {
            fs::create_dir_all(&dir).map_err(|error| FileError::new(&dir, &error))?;
            let machine = if arch == Arch::X64 { "i386:x86-64" } else { "arm64" };
            let tool = host.tool("llvm-dlltool").args(["-m", machine, "-d"]).args([definition]).args(["-l"]);
            tool.args([&library])
                .capture()
                .map_err(|error| PrepareError::Exports { definition: definition.clone(), reason: error.to_string() })?;
        }
        libraries.insert(definition.clone(), library);
    }
    if let Some(missing) = drivers(workspace).flat_map(|settings| &settings.headers).find(|path| !path.is_file()) {
        return Err(PrepareError::File(FileError { path: missing.clone(), reason: "there is no such header".into() }));
    }
    Ok(libraries)
}

/// The headers of a group's drivers.
pub(crate) fn headers(group: &Group) -> impl Iterator<Item = &PathBuf> {
    group.drivers.iter().flat_map(|driver| &driver.settings.headers)
}

/// A name for the contents of a group's headers, empty without any: bindings of different headers are different.
pub(crate) fn name(group: &Group) -> String {
    let texts: Vec<Vec<u8>> = headers(group).filter_map(|path| fs::read(path).ok()).collect();
    let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
    if texts.is_empty() { String::new() } else { format!(" {:016x}", digest(&texts)) }
}

/// The libraries of a group's drivers.
pub(crate) fn of_group<'a>(libraries: &'a Libraries, group: &'a Group) -> impl Iterator<Item = &'a Path> {
    let definitions = group.drivers.iter().flat_map(|driver| &driver.settings.exports);
    definitions.filter_map(|definition| libraries.get(definition).map(PathBuf::as_path))
}

fn drivers(workspace: &Workspace) -> impl Iterator<Item = &DriverSettings> {
    workspace.groups.iter().flat_map(|group| &group.drivers).map(|driver| &driver.settings)
}

fn digest(texts: &[&[u8]]) -> u64 {
    let mut hasher = DefaultHasher::new();
    texts.hash(&mut hasher);
    hasher.finish()
}
