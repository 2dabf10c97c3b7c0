//! `schemas add` and `schemas list`.

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::cli::AddSchemas;
use crate::context::Context;
use crate::failure::Failure;
use crate::input::Store;
use crate::output::{Json, Table};
use crate::values::counted;
use etw_manifest::Schema as _;

/// The endings of files that can describe events.
const ENDINGS: [&str; 7] = ["man", "xml", "manifest", "sys", "dll", "exe", "mui"];
/// The maximum number of unreadable files that are named one by one.
const MAX_SKIPPED: usize = 5;

/// Adds files to the store of manifests.
pub(super) fn add(context: &Context<'_>, line: &AddSchemas) -> Result<(), Failure> {
    let dir = Store::dir().ok_or_else(|| {
        Failure::Usage("there is no folder for the store: set the variable ETWCTL_SCHEMAS".to_owned())
    })?;
    let mut added = 0_u64;
    let mut skipped = Vec::new();
    let mut providers = std::collections::BTreeSet::new();
    for path in &line.paths {
        let is_dir = path.is_dir();
        for file in files(path)? {
            match Store::add(&dir, &file) {
                Ok(names) => {
                    added += u64::from(!names.is_empty());
                    providers.extend(names);
                }
                // Most binaries of a folder describe no events.
                Err(_) if is_dir && is_binary(&file) => {}
                Err(error) if is_dir => skipped.push(error),
                Err(error) => return Err(Failure::Usage(error)),
            }
        }
    }
    for error in skipped.iter().take(MAX_SKIPPED) {
        command_line::note(&format!("skipped {error}"));
    }
    if let Some(more @ 1..) = skipped.len().checked_sub(MAX_SKIPPED) {
        command_line::note(&format!("skipped {more} more files"));
    }
    let providers = u64::try_from(providers.len()).unwrap_or(u64::MAX);
    if context.is_json {
        let dir = dir.display().to_string();
        return context.record(vec![("store", dir.into()), ("files", added.into()), ("providers", providers.into())]);
    }
    context.done(&format!("{} of {} are in {}", counted(added, "file"), counted(providers, "provider"), dir.display()))
}

/// Lists the providers in the store.
pub(super) fn list(context: &Context<'_>) -> Result<(), Failure> {
    let mut table = Table::new(&["provider", "provider_id", "events"]);
    if let Some(store) = Store::open() {
        for guid in store.providers()? {
            let schemas = store.provider(guid);
            let name = schemas.as_ref().and_then(|schemas| schemas.provider_name(&guid));
            let events = schemas.map_or(0, |schemas| schemas.len());
            table.row(vec![Json::from(name.as_deref()), guid.to_string().into(), events.into()]);
        }
    }
    context.table(table)
}

fn is_binary(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    matches!(ending.as_str(), "sys" | "dll" | "exe" | "mui")
}

/// A file, or the files of a folder and the folders below it that can describe events.
fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    let mut found = Vec::new();
    let mut dirs = vec![path.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).map_err(named)? {
            let entry = entry.map_err(named)?;
            let path = entry.path();
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
            if entry.file_type().map_err(named)?.is_dir() {
                dirs.push(path);
            } else if ENDINGS.contains(&ending.as_str()) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
