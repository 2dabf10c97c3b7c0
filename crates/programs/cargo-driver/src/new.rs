//! `cargo driver new`, and `cargo driver init` for a driver that exists.

use std::path::Path;

use command_line::Deferred;
use driver_build::new::{Kind, NewDriver, Source};
use driver_build::setup::note;
use driver_build::{Error, Host};
use driver_exercise::Plan;

use crate::arguments::{EditorName, Init, New, TESTS, manifest};
use crate::editor;
use crate::install_source;

/// Makes a new driver.
pub(crate) fn new(host: &Host, line: &New) -> Result<(), Error> {
    let source = source(host, line.wdk_etw.as_deref())?;
    let kind = match line {
        New { wdm: true, .. } => Kind::Wdm,
        New { minifilter: true, .. } => Kind::Minifilter,
        New { wfp: true, .. } => Kind::Wfp,
        _ => Kind::Kmdf,
    };
    let made = NewDriver { locks: install_source::repository(), ..NewDriver::at(&line.dir, kind, source) };
    // The files are small. An interrupt waits for them, so that none is missing.
    let interrupts = Deferred::begin();
    made.write()?;
    editor::write(&made.dir, EditorName::Vscode)?;
    drop(interrupts);
    note(&format!("created a new driver in {}. Next, in that folder: cargo driver test", made.dir.display()));
    if let Source::Path(clone) = &made.source {
        note(&format!(
            "the driver depends on {} by path and has no workflow for GitHub, because other machines do not have this folder",
            clone.display()
        ));
    }
    Ok(())
}

/// Adds tests and editor settings to an existing driver. Keeps existing files.
pub(crate) fn init(host: &Host, line: &Init) -> Result<(), Error> {
    let manifest = manifest(line.editor.manifest_path.as_deref())?;
    let (name, _) = Plan::from_manifest(&manifest).map_err(Error::Usage)?;
    let dir = manifest.parent().unwrap_or(&manifest);
    if dir.join(TESTS).exists() {
        note(&format!("{} exists and was not changed", dir.join(TESTS).display()));
    } else {
        let source = source(host, line.wdk_etw.as_deref())?;
        let locks = install_source::repository();
        NewDriver { name, locks, ..NewDriver::at(dir, Kind::Existing, source) }.write()?;
        note(&format!("{}: tests, which `cargo driver test` runs", dir.join(TESTS).display()));
    }
    editor::editor(&line.editor)
}

/// What the driver or its tests depend on.
fn source(host: &Host, clone: Option<&Path>) -> Result<Source, Error> {
    match clone {
        Some(clone) => dunce::canonicalize(clone).map(Source::Path).map_err(|error| {
            let text = "name a clone of the wdk-etw repository with --wdk-etw";
            Error::Usage(format!("{}: {error}; {text}", clone.display()))
        }),
        None => install_source::find(host).ok_or_else(|| {
            Error::Usage(String::from(
                "it is not known what `cargo driver` was installed from: name a clone of the wdk-etw repository with --wdk-etw FOLDER",
            ))
        }),
    }
}
