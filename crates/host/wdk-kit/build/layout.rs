//! The folders of a WDK, filled with the kit's headers.

use std::fs;
use std::io;
use std::path::Path;

/// The SDK version whose folders the kit imitates.
pub(crate) const VERSION: &str = "10.0.26100.0";
/// Where the framework's header goes.
pub(crate) const WDF_HEADERS: &str = "Include/wdf/kmdf/1.33";

/// Copies `kit/include` to where a WDK has those headers, and makes the folders that are filled later or stay empty.
pub(crate) fn copy_headers(source: &Path, kit: &Path) -> io::Result<()> {
    let include = source.join("include");
    let versioned = kit.join("Include").join(VERSION);
    copy(&include.join("km"), &versioned.join("km"))?;
    copy(&include.join("shared"), &versioned.join("shared"))?;
    for folder in [versioned.join("km/crt"), versioned.join("km/ufx/1.1"), kit.join(WDF_HEADERS)] {
        fs::create_dir_all(folder)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
