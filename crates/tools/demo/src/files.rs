//! The files of a run: the trace that the session writes, and the exports of it.
//!
//! All of them take their places when all are complete, so that a run that fails leaves those of the run before.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use etw_etl::{About, Exporter, Format, NewFile};

use crate::run::Outcome;
use crate::trace::Trace;

/// Where the files are.
pub(crate) struct Files {
    /// Where the session writes; [`etl`](Self::etl) in the end.
    pub(crate) draft: PathBuf,
    pub(crate) etl: PathBuf,
    pub(crate) json: PathBuf,
    pub(crate) html: PathBuf,
}

impl Files {
    /// Makes the folder, and finds out whether it can be written to before anything is run.
    pub(crate) fn prepare(folder: &Path) -> Result<Self, String> {
        let cannot = |error| format!("cannot write to {}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(cannot)?;
        // A driver's process has a folder of its own, so the session is told the whole path.
        let etl = fs::canonicalize(folder).map_err(cannot)?.join("demo.etl");
        let draft = etl.with_file_name(format!(".demo.{}.etl", std::process::id()));
        // Taken back at once.
        NewFile::create(&etl).map_err(|error| error.to_string())?;
        if etl.to_str().is_none() {
            let name = etl.as_os_str().as_encoded_bytes().escape_ascii();
            return Err(format!("cannot write to `{name}`: the name of a session's file must be valid UTF-8"));
        }
        Ok(Self { draft, etl, json: folder.join("demo.json"), html: folder.join("demo.html") })
    }

    /// Writes the exports, and puts all files in their places.
    pub(crate) fn write(&self, trace: &Trace, outcome: &Outcome) -> Result<(), String> {
        let title = format!("WdkEtw.DriverSample on {}, run by nt-host", outcome.os.name());
        let about = About { title, ..trace.about.clone() };
        let write = || {
            let json = export(NewFile::create(&self.json)?, Format::JsonLines, trace, About::default(), outcome)?;
            let html = export(NewFile::create(&self.html)?, Format::Html, trace, about, outcome)?;
            fs::rename(&self.draft, &self.etl)?;
            json.finish()?;
            html.finish()
        };
        write().map_err(|error: io::Error| error.to_string())
    }
}

/// The session's file of a run that failed.
impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.draft);
    }
}

/// Writes the trace in a format.
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
