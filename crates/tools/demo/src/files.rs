//! The files of a run: the trace that the session writes, and the exports of it.
//!
//! An export takes its place in one step, so that a run that is interrupted leaves the one before or the whole new one.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use etw_etl::{About, Exporter, Format, NewFile};

use crate::trace::Trace;

/// Where the files are.
pub(crate) struct Files {
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
        // Taken back at once: the session replaces the file when it starts.
        NewFile::create(&etl).map_err(|error| error.to_string())?;
        if etl.to_str().is_none() {
            let name = etl.as_os_str().as_encoded_bytes().escape_ascii();
            return Err(format!("cannot write to `{name}`: the name of a session's file must be valid UTF-8"));
        }
        Ok(Self { etl, json: folder.join("demo.json"), html: folder.join("demo.html") })
    }

    /// Writes the exports.
    pub(crate) fn write(&self, trace: &Trace, os: &str) -> Result<(), String> {
        replace(&self.json, Format::JsonLines, trace, About::default())?;
        let title = format!("WdkEtw.DriverSample on {os}, run by nt-host");
        replace(&self.html, Format::Html, trace, About { title, ..trace.about.clone() })
    }
}

/// Writes the trace in a format.
pub(crate) fn export<W: Write>(out: W, format: Format, trace: &Trace, about: About) -> io::Result<W> {
    let mut exporter = Exporter::new(out, format)?;
    exporter.about(about);
    trace.events.iter().try_for_each(|event| exporter.event(event))?;
    exporter.finish()
}

fn replace(path: &Path, format: Format, trace: &Trace, about: About) -> Result<(), String> {
    let written = NewFile::create(path).and_then(|file| export(file, format, trace, about)?.finish());
    written.map_err(|error| error.to_string())
}
