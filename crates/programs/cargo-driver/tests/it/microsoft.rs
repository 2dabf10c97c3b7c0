//! Microsoft's own framework, for tests that run if it is there.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::PathBuf;

/// Returns Microsoft's file, or says that the test is skipped.
pub(crate) fn original() -> Option<PathBuf> {
    let is_framework = |path: &PathBuf| path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("Wdf01000.sys"));
    let file = match std::env::var_os("WDK_ETW_FRAMEWORK") {
        Some(folder) => fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).find(is_framework),
        None => nt_host::Frameworks::in_cache().and_then(|frameworks| frameworks.find("1.9")),
    };
    if file.is_none() {
        eprintln!(
            "skipped: WDK_ETW_FRAMEWORK does not name a folder with Microsoft's Wdf01000.sys of version 1.9, and the cache \
             does not have it"
        );
    }
    file
}
