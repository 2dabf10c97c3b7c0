//! A trace as a page for a browser.

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use driver_build::Error;
use etw_etl::{About, Exporter, Format, Kind, Reader};

/// Writes the page beside the trace and returns its path.
pub(crate) fn page(etl: &Path) -> Result<PathBuf, Error> {
    let page = etl.with_extension("html");
    let failed = |error: String| Error::Failed(format!("{}: {error}", page.display()));
    let mut reader = Reader::open(etl).map_err(|error| Error::Failed(format!("{}: {error}", etl.display())))?;
    let folder = page.parent().unwrap_or(Path::new("."));
    // The page takes its place only when it is complete.
    let mut builder = tempfile::Builder::new();
    // As a file that is created in the usual way; a temporary file is for its owner only.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder).map_err(|error| failed(error.to_string()))?;
    let written = Exporter::new(BufWriter::new(file), Format::Html).and_then(|mut exporter| {
        for event in reader.by_ref().filter(|event| event.kind() != Kind::System) {
            exporter.event(&event)?;
        }
        let title = etl.file_name().unwrap_or_default().to_string_lossy().into_owned();
        exporter.about(About { title, ..About::from(reader.report()) });
        exporter.finish()?.into_inner().map_err(std::io::IntoInnerError::into_error)
    });
    written.map_err(|error| failed(error.to_string()))?.persist(&page).map_err(|error| failed(error.to_string()))?;
    Ok(page)
}
