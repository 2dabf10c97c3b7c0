//! The LLVM in the cache, which `setup` installs for users without root: where it is, and how programs find it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The folder of the cache that has it.
pub(crate) const DIR: &str = "llvm";
/// The folder of its programs.
pub(crate) const PROGRAMS: &str = "bin";
/// The folder of libclang, in the wheel of that name.
const LIBRARY: &str = "clang/native";
/// The variable that bindgen reads.
pub(crate) const LIBCLANG: &str = "LIBCLANG_PATH";

/// The variables with which programs find this LLVM; none if there is none. A library that the user chose stays.
pub(crate) fn environment(cache: &Path) -> Vec<(&'static str, OsString)> {
    let Some(dir) = installed(cache) else {
        return Vec::new();
    };
    let library = env::var_os(LIBCLANG).unwrap_or_else(|| dir.join(LIBRARY).into());
    vec![("PATH", search_path(cache)), (LIBCLANG, library)]
}

/// `PATH`, with the folder of this LLVM in front if there is one.
pub(crate) fn search_path(cache: &Path) -> OsString {
    let path = env::var_os("PATH").unwrap_or_default();
    installed(cache).map_or_else(|| path.clone(), |dir| with_dir(&dir.join(PROGRAMS), &path))
}

/// A search path with another folder in front.
pub(crate) fn with_dir(dir: &Path, path: &OsStr) -> OsString {
    let dirs = [dir.to_path_buf()].into_iter().chain(env::split_paths(path));
    env::join_paths(dirs).unwrap_or_else(|_| path.to_owned())
}

/// The folder of this LLVM, if it is installed.
fn installed(cache: &Path) -> Option<PathBuf> {
    let dir = std::path::absolute(cache.join(DIR)).ok()?;
    dir.join(PROGRAMS).is_dir().then_some(dir)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{environment, search_path};

    #[test]
    fn the_llvm_of_the_cache_comes_first() {
        let cache = std::env::temp_dir().join(format!("driver-build-llvm-{}", std::process::id()));
        assert_eq!(environment(&cache), [], "nothing is installed");
        fs::create_dir_all(cache.join("llvm/bin")).unwrap();
        let path = search_path(&cache);
        assert_eq!(std::env::split_paths(&path).next(), Some(cache.join("llvm/bin")));
        let variables = environment(&cache);
        fs::remove_dir_all(&cache).unwrap();
        assert_eq!(variables.first(), Some(&("PATH", path)));
        let library = variables.iter().find(|(name, _)| *name == "LIBCLANG_PATH").map(|(_, dir)| Path::new(dir));
        assert!(
            library.is_some_and(|dir| dir.ends_with("clang/native") || std::env::var_os("LIBCLANG_PATH").is_some())
        );
    }
}
