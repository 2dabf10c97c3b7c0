//! The limit for the cache.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::options::driver;
use crate::{printed, program};

/// Lets a command look at a cache that may have 1 MiB, and returns what it prints. The driver has a mistake that is found after that.
fn look(place: &Path, cache: &Path) -> String {
    let mut command = program();
    command.arg("build").current_dir(place).env("CARGO_DRIVER_CACHE", cache).env("CARGO_DRIVER_CACHE_LIMIT", "1MiB");
    let output = command.output().unwrap();
    assert!(printed(&output).contains("the key `no-such`"), "{}", printed(&output));
    printed(&output)
}

/// Puts files of this size into a cache.
fn fill(cache: &Path, size: usize) {
    for dir in ["build/release", "host-tests/debug", "kit"] {
        fs::create_dir_all(cache.join(dir)).unwrap();
        fs::write(cache.join(dir).join("file"), vec![0; size]).unwrap();
    }
}

#[test]
fn compiled_crates_are_removed_beyond_the_limit_once_a_day() {
    let place = driver("cache-limit", "[package.metadata.driver]\nno-such = 1\n");
    let cache = place.join("cache");
    let has_crates = || ["build", "host-tests"].map(|name| cache.join(name).is_dir());
    fill(&cache, 0x8_0000);
    assert!(!look(&place, &cache).contains("removed"));
    assert_eq!(has_crates(), [true, true], "the limit itself is allowed, and the kit does not count");

    // The cache grows on the same day.
    fill(&cache, 0x8_0001);
    assert!(!look(&place, &cache).contains("removed"));
    assert_eq!(has_crates(), [true, true]);

    let yesterday = SystemTime::now() - Duration::from_hours(25);
    let age = || File::open(cache.join("size.checked")).unwrap().set_modified(yesterday).unwrap();
    age();
    // Cargo works in it.
    let lock = File::create(cache.join("build/release/.cargo-lock")).unwrap();
    lock.lock().unwrap();
    assert!(!look(&place, &cache).contains("removed"));
    assert_eq!(has_crates(), [true, true]);
    drop(lock);

    age();
    let text = look(&place, &cache);
    assert!(text.contains("had more than 1MiB (CARGO_DRIVER_CACHE_LIMIT): removed 2 MiB of compiled crates"), "{text}");
    assert_eq!(has_crates(), [false, false]);
    assert!(cache.join("kit/file").is_file());
}
