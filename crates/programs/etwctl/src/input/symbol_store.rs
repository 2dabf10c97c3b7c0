//! Symbol stores: folders in the layout of Microsoft's tools, `NAME.pdb/ID/NAME.pdb`, where the id is the GUID of the PDB and its
//! age in hexadecimal. A store with a file `index2.txt` has one more level, the first two letters of the name.
//!
//! Nothing is downloaded, and a store is not searched: only the folders on the way to a PDB are read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs};

use etw_types::Guid;

use crate::failure::Failure;

/// The symbol path of Microsoft's tools.
const VARIABLE: &str = "_NT_SYMBOL_PATH";

/// Symbol stores, in the order in which they are asked.
#[derive(Debug, Default)]
pub(crate) struct SymbolStores(Vec<Store>);

#[derive(Debug)]
struct Store {
    dir: PathBuf,
    /// The names in the folder in lower case; file names of Windows have no case.
    names: OnceLock<HashMap<String, PathBuf>>,
}

impl SymbolStores {
    /// The stores of `--symbols`, or, without it, the local parts of `_NT_SYMBOL_PATH` that exist.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut dirs = Vec::new();
        for path in paths {
            if path.is_dir() {
                dirs.push(path.clone());
                continue;
            }
            let parts = local_parts(&path.to_string_lossy());
            let missing = parts.iter().find(|dir| !dir.is_dir()).or_else(|| parts.is_empty().then_some(path));
            if let Some(missing) = missing {
                let missing = missing.display();
                return Err(Failure::Usage(format!(
                    "--symbols: there is no folder {missing}; symbols are not downloaded"
                )));
            }
            dirs.extend(parts);
        }
        if paths.is_empty() {
            let path = env::var(VARIABLE).unwrap_or_default();
            dirs.extend(local_parts(&path).into_iter().filter(|dir| dir.is_dir()));
        }
        Ok(Self(dirs.into_iter().map(|dir| Store { dir, names: OnceLock::new() }).collect()))
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The PDBs with this name and GUID, of any age.
    pub(crate) fn find(&self, name: &str, id: Guid) -> Vec<PathBuf> {
        let name = name.rsplit(['\\', '/']).next().unwrap_or(name).to_lowercase();
        let id = id.to_string().replace('-', "").to_lowercase();
        self.0.iter().flat_map(|store| store.find(&name, &id)).collect()
    }
}

impl Store {
    fn find(&self, name: &str, id: &str) -> Vec<PathBuf> {
        let names = self.names.get_or_init(|| entries(&self.dir));
        let first: String = name.chars().take(2).collect();
        let dir = if names.contains_key("index2.txt") {
            names.get(&first).and_then(|group| entries(group).remove(name))
        } else {
            names.get(name).cloned()
        };
        // A folder without the layout of a store has the file itself.
        let Some(dir) = dir.filter(|dir| dir.is_dir()) else {
            return names.get(name).cloned().into_iter().collect();
        };
        let is_age = |age: &str| !age.is_empty() && age.bytes().all(|byte| byte.is_ascii_hexdigit());
        let ages = entries(&dir).into_iter().filter(|(entry, _)| entry.strip_prefix(id).is_some_and(is_age));
        let mut found: Vec<PathBuf> = ages.filter_map(|(_, dir)| entries(&dir).remove(name)).collect();
        found.sort();
        found
    }
}

/// The names in a folder in lower case, and their paths.
fn entries(dir: &Path) -> HashMap<String, PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| (entry.file_name().to_string_lossy().to_lowercase(), entry.path())).collect()
}

/// The folders of a symbol path: `DIR;srv*DIR*https://…;cache*DIR`.
pub(crate) fn local_parts(path: &str) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for element in path.split(';') {
        let mut parts: Vec<&str> = element.split('*').map(str::trim).collect();
        let is =
            |word: &str| element.trim_start().get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
        if is("symsrv*") {
            // The name of a DLL follows.
            parts.drain(..2.min(parts.len()));
        } else if is("srv*") || is("cache*") {
            parts.remove(0);
        }
        dirs.extend(parts.into_iter().filter(|part| !part.is_empty() && !part.contains("://")).map(PathBuf::from));
    }
    dirs
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use etw_types::Guid;

    use super::{SymbolStores, local_parts};

    #[test]
    fn a_symbol_path_has_local_parts() {
        let path = "/a;srv*/b*https://msdl.microsoft.com/download/symbols; SRV*/c**/d ;cache*;symsrv*symsrv.dll*/e*http://x;;cache*/f";
        assert_eq!(local_parts(path), ["/a", "/b", "/c", "/d", "/e", "/f"].map(PathBuf::from));
        assert!(local_parts("srv*https://msdl.microsoft.com/download/symbols").is_empty());
    }

    #[test]
    fn pdbs_are_found_by_name_and_id_in_both_layouts() {
        let dir = tempfile::tempdir().unwrap();
        let id = Guid::parse("0123abcd-0000-0000-0000-00000000000f").unwrap();
        let one = "Driver.pdb/0123ABCD00000000000000000000000F1/driver.PDB";
        let two = "dr/driver.pdb/0123abcd00000000000000000000000fa/driver.pdb";
        let store = |name: &str, files: &[&str]| {
            for file in files {
                let path = dir.path().join(name).join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            SymbolStores::open(&[dir.path().join(name)]).unwrap()
        };
        let single = store("single", &[one, "Driver.pdb/0123ABCD00000000000000000000000E1/driver.pdb", "flat.pdb"]);
        assert_eq!(single.find("c:\\build\\DRIVER.pdb", id), [dir.path().join("single").join(one)]);
        assert_eq!(single.find("flat.pdb", id), [dir.path().join("single/flat.pdb")]);
        assert!(single.find("driver.pdb", Guid::from_u128(1)).is_empty());
        assert!(single.find("other.pdb", id).is_empty());
        let double = store("double", &[two, "index2.txt"]);
        assert_eq!(double.find("driver.pdb", id), [dir.path().join("double").join(two)]);
        assert!(SymbolStores::open(&[dir.path().join("none")]).is_err());
        assert!(SymbolStores::open(&[PathBuf::from("srv*https://msdl.microsoft.com/download/symbols")]).is_err());
    }
}
