//! `cargo driver new`.

use std::fs;

use command_line::Deferred;
use driver_build::new::{Kind, NewDriver, Source};
use driver_build::setup::note;
use driver_build::{Error, Host};

use crate::arguments::{EditorName, New};
use crate::editor;
use crate::install_source;

/// Makes a new driver.
pub(crate) fn new(host: &Host, line: &New) -> Result<(), Error> {
    let source = match &line.wdk_etw {
        Some(clone) => Source::Path(fs::canonicalize(clone).map_err(|error| {
            let text = "name a clone of the wdk-etw repository with --wdk-etw";
            Error::Usage(format!("{}: {error}; {text}", clone.display()))
        })?),
        None => install_source::find(host).ok_or_else(|| {
            Error::Usage(String::from(
                "it is not known what `cargo driver` was installed from: name a clone of the wdk-etw repository with --wdk-etw FOLDER",
            ))
        })?,
    };
    let kind = match line {
        New { wdm: true, .. } => Kind::Wdm,
        New { minifilter: true, .. } => Kind::Minifilter,
        New { wfp: true, .. } => Kind::Wfp,
        _ => Kind::Kmdf,
    };
    let made = NewDriver { locks: install_source::repository(), ..NewDriver::at(&line.folder, kind, source) };
    // The files are small. An interrupt waits for them, so that none is missing.
    let interrupts = Deferred::begin();
    made.write()?;
    editor::write(&made.dir, EditorName::Vscode)?;
    drop(interrupts);
    note(&format!("made a new driver in {}. Next, in that folder: cargo driver test", made.dir.display()));
    if let Source::Path(clone) = &made.source {
        note(&format!(
            "the driver depends on {} by path and has no workflow for GitHub, because other machines do not have this folder",
            clone.display()
        ));
    }
    Ok(())
}
