//! `cargo driver clean`.
//!
//! Only folders that this program makes are removed. Nothing is removed while cargo works in the cache.

use std::path::Path;

use command_line::OwnDir;
use driver_build::setup::note;
use driver_build::{Error, Host, target_dir};

use crate::arguments::{Clean, here, manifest};
use crate::cache::{COMPILED, lock, shown, used};

/// What commands write to a driver's target directory. The folder `signing` is not among them: a machine may trust its certificate.
const OUTPUT: [&str; 3] = ["driver", "package", "deploy"];
/// The other folders of the cache.
const OTHERS: [&str; 7] = ["kit", "stand-in", "tools", "wdk", "exports", "driver-client", "llvm"];
/// Removes what the command line asks for.
pub(crate) fn clean(host: &Host, line: &Clean) -> Result<(), Error> {
    if line.cache {
        let removed = remove(host.cache(), COMPILED.into_iter().chain(OTHERS))?;
        note(&format!("removed {} from {}", shown(removed), host.cache().display()));
        return Ok(());
    }
    let target_dir = match &line.target_dir {
        Some(dir) => here(dir),
        None => target_dir(host, &manifest(line.manifest_path.as_deref())?)?,
    };
    let removed = remove(&target_dir, OUTPUT)?;
    note(&format!("removed {} from {}", shown(removed), target_dir.display()));
    Ok(())
}

/// Removes these folders of `dir`; returns how many bytes they had.
fn remove<'a>(dir: &Path, names: impl IntoIterator<Item = &'a str>) -> Result<u64, Error> {
    let mut removed = 0;
    for path in names.into_iter().map(|name| dir.join(name)).filter(|path| path.is_dir()) {
        let Some(_locks) = lock(&path) else {
            return Err(Error::Failed(format!("cargo works in {}: try again when it has ended", path.display())));
        };
        removed += used(&path);
        OwnDir::new(path).remove()?;
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::path::PathBuf;

    use super::{COMPILED, lock, remove, used};

    fn cache(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("cargo-driver-clean-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        for path in ["build/release", "build/x/release", "other"] {
            fs::create_dir_all(dir.join(path)).unwrap();
            fs::write(dir.join(path).join("file"), [0; 100]).unwrap();
        }
        dir
    }

    #[test]
    fn only_our_folders_are_removed() {
        let cache = cache("ours");
        assert_eq!(used(&cache), 300);
        assert_eq!(remove(&cache, COMPILED), Ok(200));
        assert!(!cache.join("build").exists());
        assert!(cache.join("other/file").is_file());
        assert_eq!(remove(&cache, COMPILED), Ok(0), "there is nothing left");
        fs::remove_dir_all(cache).unwrap();
    }

    #[test]
    #[cfg_attr(windows, ignore = "Wine 8 refuses the lock of a new file")]
    fn a_folder_in_which_cargo_works_stays() {
        let cache = cache("in use");
        for profile in ["build/release", "build/x/release"] {
            let file = File::create(cache.join(profile).join(".cargo-lock")).unwrap();
            file.lock().unwrap();
            assert!(lock(&cache.join("build")).is_none(), "{profile}");
            assert!(remove(&cache, COMPILED).unwrap_err().to_string().contains("cargo works in"));
            file.unlock().unwrap();
        }
        assert!(lock(&cache.join("build")).is_some());
        fs::remove_dir_all(cache).unwrap();
    }
}
