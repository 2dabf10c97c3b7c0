//! Commands outside of a package: they say what to do, and read no other folder.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::{printed, program};

/// The commands that need a driver.
const COMMANDS: [&str; 14] = [
    "init", "build", "check", "test", "run", "matrix", "fuzz", "list", "trace", "inspect", "package", "deploy",
    "editor", "clean",
];

/// A folder that shows whether its entries have been listed since it was made.
struct Trap(PathBuf);

impl Trap {
    /// Linux changes the access time of a folder that is listed, if it is older than the last change of the folder.
    fn set(path: &Path) -> Self {
        fs::create_dir_all(path).unwrap();
        fs::write(path.join("Cargo.toml"), "").unwrap();
        let old = FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        File::open(path).unwrap().set_times(old).unwrap();
        Self(path.to_owned())
    }

    fn was_listed(&self) -> bool {
        fs::metadata(&self.0).unwrap().accessed().unwrap() > SystemTime::UNIX_EPOCH + Duration::from_secs(1)
    }
}

#[test]
fn nothing_outside_of_a_package_is_searched() {
    // Outside of this repository, which is a workspace.
    let root = std::env::temp_dir().join(format!("cargo-driver-outside-{}", std::process::id()));
    let control = Trap::set(&root.join("control"));
    assert!(fs::read_dir(&control.0).unwrap().count() > 0);
    if !control.was_listed() || Path::new("/Cargo.toml").exists() {
        println!("skipped: this file system keeps no access times, or its root has a package");
        return;
    }
    let here = root.join("here");
    let traps = ["here/below", "here/below/deep", "beside"].map(|name| Trap::set(&root.join(name)));
    // A search that starts at the root of the file system would also get to `/proc`.
    for dir in [here.as_path(), Path::new("/")] {
        for command in COMMANDS {
            let mut line = program();
            line.arg(command).args((command == "deploy").then_some("vm")).current_dir(dir);
            let output = line.output().unwrap();
            let text = printed(&output);
            assert_eq!(output.status.code(), Some(2), "{command}: {text}");
            for part in ["no Cargo.toml in ", "--manifest-path", "cargo driver new NAME"] {
                assert!(text.contains(part), "{command}: {text}");
            }
            for trap in &traps {
                assert!(!trap.was_listed(), "{command} in {} listed {}", dir.display(), trap.0.display());
            }
        }
    }
    fs::remove_dir_all(root).unwrap();
}
