//! Writes a trace as a page for a browser.

use std::io;
use std::path::{Path, PathBuf};

use command_line::{Output, OwnDir};
use driver_build::Error;
use etw_etl::{About, Exporter, Format, Kind, NewFile, Reader};

/// Writes the page beside the trace, which is in a folder of this program, and returns its path.
pub(crate) fn page(dir: &OwnDir, etl: &Path) -> Result<PathBuf, Error> {
    let name = Path::new(etl.file_name().unwrap_or_default()).with_extension("html");
    let page = dir.file(name);
    let mut reader = Reader::open(etl).map_err(|error| Error::Usage(format!("{}: {error}", etl.display())))?;
    let written = new_file(&page).and_then(|file| {
        let mut exporter = Exporter::new(file, Format::Html)?;
        for event in reader.by_ref().filter(|event| event.kind() != Kind::System) {
            exporter.event(&event)?;
        }
        let title = etl.file_name().unwrap_or_default().to_string_lossy().into_owned();
        exporter.about(About { title, ..About::from(reader.report()) });
        exporter.finish()?.finish()
    });
    written.map_err(|error| Error::Usage(error.to_string()))?;
    Ok(page.as_ref().to_owned())
}

#[expect(clippy::disallowed_methods, reason = "the file is an output")]
fn new_file(output: &Output) -> io::Result<NewFile> {
    NewFile::create(output)
}
