//! Reads the schemas of `--manifest`, `--tmf` and `--pdb`, and finds the symbols of `--symbols`.

use std::path::PathBuf;
use std::sync::Arc;

use command_line::{Inputs, note};
use etw_manifest::SchemaFiles;
use etw_manifest::wpp::Messages;

use super::schema::MAX_NOTES;
use crate::cli;
use crate::failure::Failure;
use crate::input::{Pdbs, Schemas, Store, SymbolStores};

/// The maximum number of unreadable files in folders that are named one by one.
const MAX_SKIPPED: usize = 5;

/// The files that [`files`] reads.
pub(super) fn inputs(line: &cli::SchemaFiles) -> Inputs {
    let kinds: [(&[PathBuf], &[&str]); 3] = [
        (&line.manifests, &["man", "xml", "manifest", "sys", "dll", "exe", "mui"]),
        (&line.tmf, &["tmf"]),
        (&line.pdbs, &["pdb"]),
    ];
    kinds.into_iter().fold(Inputs::new(), |all, (paths, extensions)| {
        paths.iter().fold(all, |all, path| all.file_or_folder(path, extensions))
    })
}

/// Reads the files and folders that the command line names.
pub(super) fn files(line: &cli::SchemaFiles) -> Result<Schemas, Failure> {
    let mut files = SchemaFiles::default();
    let mut messages = Messages::default();
    for path in &line.manifests {
        files.add(path).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    for path in &line.tmf {
        messages.add(path).map_err(|error| Failure::Usage(error.to_string()))?;
    }
    for skipped in files.skipped().iter().take(MAX_SKIPPED) {
        note(&format!("skipped {skipped}"));
    }
    if let Some(more @ 1..) = files.skipped().len().checked_sub(MAX_SKIPPED) {
        note(&format!("skipped {more} more files"));
    }
    for unknown in files.notes().iter().take(MAX_NOTES) {
        note(unknown);
    }
    if let Some(more @ 1..) = files.notes().len().checked_sub(MAX_NOTES) {
        note(&format!("{more} more fields of an unknown type"));
    }
    let pdbs = Arc::new(Pdbs::open(&line.pdbs, SymbolStores::open(&line.symbols)?)?);
    let mut schemas = Schemas { layers: vec![Arc::new(files), Arc::new(messages)], pdbs: Arc::clone(&pdbs) };
    if !pdbs.is_empty() {
        schemas.layers.push(pdbs);
    }
    if let Some(store) = Store::open() {
        schemas.layers.push(Arc::new(store));
    }
    Ok(schemas)
}
