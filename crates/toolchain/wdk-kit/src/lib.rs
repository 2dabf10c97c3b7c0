//! A driver kit for hosts without Windows: headers and import libraries, laid out in the folders of a WDK.
//!
//! Most declarations come from Microsoft's metadata (`src/metadata`) and bindings (`src/published`), as values of one model
//! (`src/model`), which is written once; `kit` has what both lack. The kit is made once and used by every driver. It is never used
//! on Windows: drivers are built with the WDK there.

mod error;
mod files;
mod layout;
mod libraries;
mod metadata;
mod model;
mod published;
mod source;
mod tools;
mod wdf;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub use error::Error;
pub use layout::VERSION;
pub use wdf::MINORS as KMDF_MINORS;

use metadata::Corrections;

/// The number of drafts that this process has made. It makes the names of their folders unique.
static DRAFTS: AtomicU32 = AtomicU32::new(0);

/// Makes the kit in `dir`, unless it already exists and is up to date. Returns the root of the kit.
///
/// # Errors
///
/// Fails if a tool is missing, the metadata cannot be downloaded, or a file cannot be written.
pub fn make(dir: &Path) -> Result<PathBuf, Error> {
    make_with(dir, None)
}

/// As [`make`], with LLVM's programs on another search path than `PATH`.
///
/// # Errors
///
/// As [`make`].
pub fn make_with(dir: &Path, path: Option<&OsStr>) -> Result<PathBuf, Error> {
    let dir = &std::path::absolute(dir).map_err(|error| Error::io(dir, &error))?;
    let root = dir.join(files::fingerprint());
    if root.join("complete").exists() {
        return Ok(root);
    }
    // The kit is made in another folder and then renamed, so that there is never an incomplete kit.
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = dir.join(format!("draft-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&draft);
    let result = fill(&draft, path).and_then(|()| {
        if root.join("complete").exists() {
            // Another build was faster.
            return Ok(());
        }
        let _ = fs::remove_dir_all(&root);
        fs::rename(&draft, &root)
            .or_else(|error| if root.join("complete").exists() { Ok(()) } else { Err(error) })
            .map_err(|error| Error::io(&root, &error))
    });
    let _ = fs::remove_dir_all(&draft);
    result.map(|()| root)
}

fn fill(kit: &Path, path: Option<&OsStr>) -> Result<(), Error> {
    let tools = tools::Tools::find(path).map_err(Error::MissingPrograms)?;
    let sources = source::find(&kit.join("source"))?;
    let mut table = metadata::Table::parse(&files::below("kit/metadata").collect::<Vec<_>>())?;
    let written: Vec<&str> = files::below("kit/include").map(|(_, text)| text).collect();
    let published = published::Published::read(&sources.bindings)?;
    table.tags.extend(published.enumeration_tags());
    published.fields(&mut table);
    let records = published.records(&table);
    let corrections = Corrections { constants: &published.constants, records: &records };
    let mut generated = metadata::generate(&sources.metadata, &table, &written, &corrections)?;
    published.complete(&mut generated, &table, &written);
    layout::write_headers(kit, &generated)?;
    let framework = wdf::Framework::read(&files::below("kit/wdf").collect::<Vec<_>>())?;
    for minor in wdf::MINORS {
        let headers = framework.headers(minor)?;
        let dir = kit.join(layout::framework_headers(minor));
        layout::write_header(&dir.join("wdf.h"), &headers.wdf)?;
        layout::write_header(&dir.join("wdfusb.h"), &headers.wdfusb)?;
    }
    libraries::build(kit, &generated, &wdf::MINORS, &tools)?;
    layout::write(&kit.join("complete"), "")
}
