//! The files of a run: the trace that the session writes, and its exports.
//!
//! The files get their names only after all of them are complete, so a run that fails leaves the files of the run before.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use command_line::shown;
use etw_etl::{About, Exporter, Format, NewFile};

use crate::run::Outcome;
use crate::trace::Trace;

/// The paths of the files.
pub(crate) struct Files {
    /// The file that the session writes. [`write`](Self::write) renames it to [`etl`](Self::etl).
    pub(crate) draft: PathBuf,
    pub(crate) etl: PathBuf,
    pub(crate) json: PathBuf,
    pub(crate) html: PathBuf,
}

impl Files {
    /// Makes the folder and checks that it can be written to, before the driver is run.
    pub(crate) fn prepare(dir: &Path) -> Result<Self, String> {
        let cannot = |error| format!("cannot write to {}: {error}", shown(dir));
        fs::create_dir_all(dir).map_err(cannot)?;
        // The driver's process has another current folder, so the session gets the whole path.
        let etl = fs::canonicalize(dir).map_err(cannot)?.join("demo.etl");
        let draft = etl.with_file_name(format!("demo.etl.{}.partial", std::process::id()));
        // A test only: the file is removed again when it is dropped.
        NewFile::create(&etl).map_err(|error| error.to_string())?;
        if etl.to_str().is_none() {
            let name = shown(&etl);
            return Err(format!("cannot write to `{name}`: the name of a session's file must be valid UTF-8"));
        }
        Ok(Self { draft, etl, json: dir.join("demo.json"), html: dir.join("demo.html") })
    }

    /// Writes the exports and gives all files their names.
    pub(crate) fn write(&self, trace: &Trace, outcome: &Outcome) -> Result<(), String> {
        let title = format!("WdkEtw.DriverSample on {}, run by nt-host", outcome.os.name());
        let about = About { title, ..trace.about.clone() };
        let write = || {
            let json = export(NewFile::create(&self.json)?, Format::JsonLines, trace, About::default(), outcome)?;
            let html = export(NewFile::create(&self.html)?, Format::Html, trace, about, outcome)?;
            json.finish()?;
            html.finish()?;
            let named =
                |error: io::Error| io::Error::new(error.kind(), format!("cannot write {}: {error}", shown(&self.etl)));
            fs::rename(&self.draft, &self.etl).map_err(named)
        };
        write().map_err(|error: io::Error| error.to_string())
    }
}

/// Removes the session's file of a run that failed.
impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.draft);
    }
}

/// Writes the trace to `out` in a format.
pub(crate) fn export<W: Write>(
    out: W,
    format: Format,
    trace: &Trace,
    about: About,
    outcome: &Outcome,
) -> io::Result<W> {
    let mut exporter = Exporter::new(out, format)?.with_decoder(outcome.host.decoder());
    exporter.about(about);
    trace.events.iter().try_for_each(|event| exporter.event(event))?;
    exporter.finish()
}
