//! Writes a trace as a page for a browser.

use std::path::{Path, PathBuf};

use driver_build::Error;
use etw_etl::{About, Exporter, Format, Kind, NewFile, Reader};

/// Writes the page beside the trace and returns its path.
pub(crate) fn page(etl: &Path) -> Result<PathBuf, Error> {
    let page = etl.with_extension("html");
    let mut reader = Reader::open(etl).map_err(|error| Error::Usage(format!("{}: {error}", etl.display())))?;
    let written = NewFile::create(&page).and_then(|file| {
        let mut exporter = Exporter::new(file, Format::Html)?;
        for event in reader.by_ref().filter(|event| event.kind() != Kind::System) {
            exporter.event(&event)?;
        }
        let title = etl.file_name().unwrap_or_default().to_string_lossy().into_owned();
        exporter.about(About { title, ..About::from(reader.report()) });
        exporter.finish()?.finish()
    });
    written.map_err(|error| Error::Usage(error.to_string()))?;
    Ok(page)
}
