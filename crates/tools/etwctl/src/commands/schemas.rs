//! The schemas of `--manifest` and `--tmf`.

use std::fs::File;
use std::sync::Arc;

use etw_etl::{Decoder, Reader};
use etw_manifest::wpp::Messages;
use etw_manifest::{Layers, Schema, SchemaFiles};

use crate::cli;
use crate::context::Failure;

/// Files in folders that are named when they could not be read.
const MOST_SKIPPED: usize = 5;

/// The files and folders that a command line names.
pub(super) fn files(line: &cli::SchemaFiles) -> Result<Option<Arc<dyn Schema>>, Failure> {
    let (mut files, mut messages) = (SchemaFiles::default(), Messages::default());
    for path in &line.manifests {
        files.add(path).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    for path in &line.tmf {
        messages.add(path).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    for skipped in files.skipped().iter().take(MOST_SKIPPED) {
        eprintln!("note: skipped {skipped}");
    }
    if let Some(more @ 1..) = files.skipped().len().checked_sub(MOST_SKIPPED) {
        eprintln!("note: skipped {more} more files");
    }
    let is_any = !files.is_empty() || !messages.is_empty();
    let mut layers = Layers::new();
    layers.push(Arc::new(files));
    layers.push(Arc::new(messages));
    Ok(is_any.then(|| Arc::new(layers) as Arc<dyn Schema>))
}

/// Decodes by the trace itself, then the files, then the kernel's classes. Says what of the trace's own schemas is lost.
pub(super) fn decoder(reader: &Reader<File>, files: Option<&Arc<dyn Schema>>) -> Decoder {
    let schemas = reader.schemas();
    if schemas.dropped() > 0 {
        eprintln!(
            "note: the trace describes more events than fit into memory; {} descriptions are left out",
            schemas.dropped()
        );
    }
    if schemas.malformed() > 0 {
        eprintln!("note: {} descriptions of events in the trace could not be read", schemas.malformed());
    }
    Decoder::of(reader, files.cloned())
}
