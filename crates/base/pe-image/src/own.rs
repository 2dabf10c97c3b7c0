//! Decides by path which source files are the driver's own.
//!
//! No list of names can tell them apart from files of `core`, of the WDK or of third-party crates. In a Rust program, the names
//! of the functions of the driver's crate start with the crate's name, which is also the name of the PDB. A C program has
//! `DriverEntry`. The files of these functions are in the `src` folder of a package, or in another source folder; all files in
//! that folder are the driver's own.

use crate::pdb::Table;

/// Folders with the driver's own sources.
#[derive(Clone, Debug, Default)]
pub(crate) struct OwnSources {
    dirs: Vec<String>,
}

impl OwnSources {
    /// Finds the folders. `pdb` is the path of the PDB as the linker wrote it.
    pub(crate) fn find(table: &Table, pdb: Option<&str>) -> Self {
        let file = pdb.and_then(|path| path.rsplit(['/', '\\']).next()).unwrap_or_default();
        let prefix = format!("{}::", file.strip_suffix(".pdb").unwrap_or(file).replace('-', "_"));
        let mut own = Self::from_table(table, |name| name.starts_with(&prefix));
        if own.dirs.is_empty() {
            own = Self::from_table(table, |name| name == "DriverEntry");
        }
        own
    }

    fn from_table(table: &Table, is_own: impl Fn(&str) -> bool) -> Self {
        let mut dirs = Vec::new();
        for (name, source) in table.functions() {
            let Some((file, _)) = source.filter(|_| is_own(name)) else { continue };
            let Some(dir) = dir(file) else { continue };
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        Self { dirs }
    }

    pub(crate) fn contains(&self, file: &str) -> bool {
        let file = normalized(file);
        self.dirs.iter().any(|dir| file.starts_with(dir.as_str()))
    }
}

/// Normalises a path to one kind of separator without `.` and `..`: compilers record paths as they were included.
fn normalized(file: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in file.split(['/', '\\']) {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns the source folder of a file, with a separator at the end: the last folder of its path that is called `src`, or the
/// file's own folder.
fn dir(file: &str) -> Option<String> {
    let file = normalized(file);
    let end = file.rfind("/src/").map(|at| at + "/src/".len()).or_else(|| file.rfind('/').map(|at| at + 1))?;
    file.get(..end).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::dir;

    #[test]
    fn a_package_is_known_by_its_source_folder() {
        assert_eq!(dir("/home/u/src/driver/src/ring/mod.rs").as_deref(), Some("/home/u/src/driver/src/"));
        assert_eq!(dir("C:\\code\\driver\\entry.c").as_deref(), Some("C:/code/driver/"));
        assert_eq!(dir("entry.c"), None);
        assert_eq!(dir("/a/c/../layer/./b.h").as_deref(), Some("/a/layer/"));
    }
}
