//! The columns of the events of a dataset.
//!
//! The entry of a trace in `_traces` has the columns of each of its files. So traces are added at the same time without a file that each of them
//! would change, and an event of a newer provider may have more columns. A [`Registry`] joins the entries.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use serde_json::Value as Json;

/// The columns of all events of a dataset.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// By the names of the provider and the event, as far as they have names.
    pub(crate) events: BTreeMap<[Option<String>; 2], EventEntry>,
}

/// What a dataset has of an event.
#[derive(Debug, Default)]
pub(crate) struct EventEntry {
    pub(crate) traces: Count,
    /// The versions of the event.
    pub(crate) versions: BTreeSet<u64>,
    /// The columns of its fields, in the order in which they were found.
    pub(crate) columns: Vec<Column>,
}

/// A column of an event.
#[derive(Debug, Default)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// More than one if the providers of different traces disagree.
    pub(crate) types: BTreeSet<String>,
    pub(crate) traces: Count,
}

/// A number of traces. The files of a trace follow each other.
#[derive(Debug, Default)]
pub(crate) struct Count {
    pub(crate) number: u64,
    last: Option<usize>,
}

impl Count {
    fn add(&mut self, trace: usize) {
        if self.last.replace(trace) != Some(trace) {
            self.number += 1;
        }
    }
}

impl Registry {
    /// Reads the entries of a folder.
    pub(super) fn read(entries: &Path) -> io::Result<Self> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(entries)? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                paths.push(path);
            }
        }
        paths.sort();
        let mut registry = Self::default();
        for (number, path) in paths.iter().enumerate() {
            let about = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {why}", path.display()));
            let bytes = fs::read(path).map_err(|error| about(&error.to_string()))?;
            let entry: Json = serde_json::from_slice(&bytes).map_err(|error| about(&error.to_string()))?;
            registry.add(number, &entry).ok_or_else(|| about("this is not the entry of a trace"))?;
        }
        Ok(registry)
    }

    fn add(&mut self, trace: usize, entry: &Json) -> Option<()> {
        for file in entry.get("files")?.as_array()? {
            let name = |key| Some(file.get(key)?.as_str()?.to_owned());
            let entry = self.events.entry([name("provider"), name("event")]).or_default();
            entry.traces.add(trace);
            entry.versions.insert(file.get("version")?.as_u64()?);
            for (name, kind) in file.get("columns")?.as_object()? {
                let index = entry.columns.iter().position(|column| column.name == *name).unwrap_or_else(|| {
                    entry.columns.push(Column { name: name.clone(), ..Column::default() });
                    entry.columns.len() - 1
                });
                let column = entry.columns.get_mut(index)?;
                column.types.insert(kind.as_str()?.to_owned());
                column.traces.add(trace);
            }
        }
        Some(())
    }
}
