//! The limit for the cache.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use crate::options::driver;
use crate::{printed, program};

/// Lets a command look at a cache, and returns what it prints. The driver has a mistake that is found after that.
fn look(place: &Path, cache: &Path, limit: &str) -> String {
    // The size is checked once a day.
    let yesterday = SystemTime::now() - Duration::from_hours(25);
    let _ = File::open(cache.join("size.checked")).and_then(|file| file.set_modified(yesterday));
    look_again(place, cache, limit)
}

/// As [`look`], on the same day.
fn look_again(place: &Path, cache: &Path, limit: &str) -> String {
    let mut command = program();
    command.arg("build").current_dir(place).env("CARGO_DRIVER_CACHE", cache).env("CARGO_DRIVER_CACHE_LIMIT", limit);
    let output = command.output().unwrap();
    assert!(printed(&output).contains("the key `no-such`"), "{}", printed(&output));
    printed(&output)
}

/// Creates a folder whose cache holds compiled crates: each has half a MiB in two files and was last used so many hours ago.
fn cache(name: &str, crates: &[(&str, u64)]) -> (PathBuf, PathBuf) {
    let place = driver(name, "[package.metadata.driver]\nno-such = 1\n");
    let cache = place.join("cache");
    for (path, hours) in crates {
        let (profile, name) = path.rsplit_once('/').unwrap();
        for file in [format!("{profile}/.fingerprint/{name}/lib"), format!("{profile}/deps/lib{name}.rlib")] {
            let file = cache.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, vec![0; 0x4_0000]).unwrap();
            use_at(&file, *hours);
        }
    }
    fs::create_dir_all(cache.join("kit")).unwrap();
    fs::write(cache.join("kit/file"), vec![0; 0x20_0000]).unwrap();
    (place, cache)
}

fn use_at(file: &Path, hours: u64) {
    let time = SystemTime::now() - Duration::from_hours(hours);
    let times = FileTimes::new().set_accessed(time).set_modified(time - Duration::from_hours(1));
    File::options().append(true).open(file).unwrap().set_times(times).unwrap();
}

const CRATES: [(&str, u64); 3] = [
    ("build/x86_64-pc-windows-msvc/release/wdk-0123456789abcdef", 20),
    ("build/release/quote-0123456789abcde0", 40),
    ("host-tests/debug/clap-0123456789abcde1", 30),
];

/// Which of [`CRATES`] the cache has, each with all of its files.
fn left(cache: &Path) -> [bool; 3] {
    CRATES.map(|(path, _)| {
        let (profile, name) = path.rsplit_once('/').unwrap();
        let profile = cache.join(profile);
        let files = [profile.join(".fingerprint").join(name), profile.join(format!("deps/lib{name}.rlib"))];
        assert_eq!(files[0].exists(), files[1].exists(), "{path}");
        files[0].exists()
    })
}

#[test]
fn the_least_recently_used_crates_are_removed_until_the_rest_fits() {
    let (place, cache) = cache("cache-oldest", &CRATES);
    assert!(!look(&place, &cache, "1536KiB").contains("removed"));
    assert_eq!(left(&cache), [true; 3], "the limit itself is allowed, and the kit does not count");

    assert!(!look_again(&place, &cache, "1MiB").contains("removed"), "the size was checked today");
    let text = look(&place, &cache, "1MiB");
    assert!(text.contains("had more than 1MiB (CARGO_DRIVER_CACHE_LIMIT): removed 1 MiB of crates"), "{text}");
    assert_eq!(left(&cache), [true, false, true]);

    look(&place, &cache, "1048575B");
    assert_eq!(left(&cache), [true, false, false]);
    look(&place, &cache, "0");
    assert_eq!(left(&cache), [false; 3]);
    assert!(cache.join("kit/file").is_file());
}

#[test]
fn crates_of_a_build_that_runs_stay() {
    let (place, cache) = cache("cache-in-use", &CRATES);
    for lock in ["build/release/.cargo-lock", "build/lock"] {
        let file = File::create(cache.join(lock)).unwrap();
        file.lock().unwrap();
        look(&place, &cache, "1MiB");
        assert_eq!(left(&cache), [true, true, false], "{lock}: the oldest is in use");
        assert!(!look(&place, &cache, "0").contains("removed"), "{lock}");
    }
    look(&place, &cache, "512KiB");
    assert_eq!(left(&cache), [true, false, false]);
}

#[test]
fn cargo_compiles_again_what_was_removed() {
    let (place, cache) = cache("cache-cargo", &[]);
    let package = |name: &str, more: &str| {
        let dir = place.join("packages").join(name);
        fs::create_dir_all(dir.join("src")).unwrap();
        let head = format!("[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n");
        fs::write(dir.join("Cargo.toml"), format!("{head}{more}")).unwrap();
        fs::write(dir.join("build.rs"), "fn main() {}\n").unwrap();
        fs::write(dir.join("src/lib.rs"), "").unwrap();
        dir
    };
    package("old-one", "");
    package("new-one", "");
    let user = package(
        "user",
        "[workspace]\n[dependencies]\nold-one.path = \"../old-one\"\nnew-one.path = \"../new-one\"\n[lib]\ncrate-type = [\"cdylib\"]\n",
    );
    let build = || {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "-v", "--offline", "--target-dir"]).arg(cache.join("build")).current_dir(&user);
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", printed(&output));
        printed(&output)
    };
    build();
    let text = build();
    assert!(["old-one", "new-one", "user"].iter().all(|name| text.contains(&format!("Fresh {name} "))), "{text}");

    // The files of one of the crates were not used for two days.
    let mut sizes = [0, 0];
    visit(&cache.join("build"), &mut |file| {
        let is_old = file.to_str().unwrap().contains("old");
        sizes[usize::from(is_old)] += fs::metadata(file).unwrap().len();
        if is_old {
            use_at(file, 48);
        }
    });
    assert!(sizes[1] > 0);
    let text = look(&place, &cache, &format!("{}B", sizes[0]));
    assert!(text.contains("removed"), "{text}");
    visit(&cache.join("build"), &mut |file| {
        assert!(!file.to_str().unwrap().contains("old"), "{}", file.display());
    });
    let text = build();
    assert!(text.contains("Compiling old-one "), "{text}");
    assert!(text.contains("Fresh new-one "), "{text}");
    look(&place, &cache, "0");
    let text = build();
    assert!(["old-one", "new-one", "user"].iter().all(|name| text.contains(&format!("Compiling {name} "))), "{text}");
}

/// Calls a function with each file below a folder.
fn visit(dir: &Path, each: &mut dyn FnMut(&Path)) {
    for path in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() { visit(&path, each) } else { each(&path) }
    }
}
