//! The schemas of `--manifest` and `--tmf`.

use std::sync::Arc;

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
