//! A folder with one file per kind of event.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use command_line::{OwnDir, Partial, device_of_name};
use etw_etl::{Decoded, Decoder, EventRef, Flat};
use parquet::errors::ParquetError;
use serde_json::Value as Json;

use super::common::{Content, Identity};
use super::fields::{Shape, cell, shape, visit};
use super::file::Table;
use super::flat::{Fitting, ValueNames};
use super::kind::Cell;
use super::rows::Rows;
use super::table_index::{Fields, Heading, IndexedTable, TableIndex};

/// Approximate maximum memory for buffered rows, in bytes.
const MEMORY: usize = 128 * 1024 * 1024;
/// Approximate maximum size of a row group in memory, in bytes.
const GROUP: usize = 32 * 1024 * 1024;
/// Maximum number of files. A hostile trace may have as many kinds as events; events of further kinds are only counted.
const MAX_FILES: usize = 2000;
/// Number of 100 ns units in a day.
const TICKS_PER_DAY: i64 = 864_000_000_000;
/// Maximum number of field columns in a file.
const MAX_COLUMNS: usize = 2000;
/// Maximum length of a file name, without its number and extension.
const MAX_NAME: usize = 120;

/// Identifies a kind of event.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    heading: Heading,
    provider: Option<String>,
    event: Option<String>,
    shapes: Vec<Shape>,
}

/// Where the files of a folder go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// `Provider.Event.parquet`. The folder gets its name when it is complete.
    Flat,
    /// `provider_key=Provider/event_key=Event/day=2026-11-17/TRACE.parquet`, with columns for the trace and its machine. The files
    /// are moved to a folder that other traces are in.
    Partitioned { trace: String, machine: Option<String> },
}

impl Layout {
    fn constants(&self) -> Vec<(&'static str, Option<String>)> {
        match self {
            Self::Flat => Vec::new(),
            Self::Partitioned { trace, machine } => vec![("trace", Some(trace.clone())), ("machine", machine.clone())],
        }
    }
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Number of files in the folder.
    pub(crate) files: usize,
    /// Number of events in the files.
    pub(crate) events: u64,
    /// Number of events left out because there would be too many files or columns.
    pub(crate) left_out: u64,
}

/// A folder that is being written. Until it is complete, its files are in a temporary folder.
pub(crate) struct Folder {
    /// The folder that the files will be in. Errors name it.
    path: PathBuf,
    beside: PathBuf,
    /// The path of each table's file in the folder.
    files: Vec<String>,
    _partial: Partial,
    layout: Layout,
    constants: Vec<(&'static str, Option<String>)>,
    tables: HashMap<Key, usize>,
    open: Vec<Table>,
    tables_by_kind: TableIndex,
    /// How often each file name was used, ignoring case.
    names: HashMap<String, usize>,
    held: usize,
    /// The maximum of `held`, in bytes.
    memory: usize,
    /// The memory for a text, and for a message.
    letters: Vec<u8>,
    message: String,
    summary: Summary,
}

impl std::fmt::Debug for Folder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Folder").field("path", &self.path).field("summary", &self.summary).finish_non_exhaustive()
    }
}

impl Folder {
    /// Starts a folder. An existing folder must be empty, because its content would be read as part of the trace.
    ///
    /// # Errors
    ///
    /// Fails if the path exists and is not an empty folder, or if the temporary folder next to it cannot be created.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| cannot_write(path, &error);
        match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => return Err(named(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(named(error)),
        }
        let name = path.file_name().ok_or_else(|| named(io::Error::other("this is not the name of a folder")))?;
        let mut beside = name.to_owned();
        beside.push(format!(".{}.partial", std::process::id()));
        Self::with_layout(path, path.with_file_name(beside), Layout::Flat)
    }

    /// Starts a folder with this layout and this temporary folder.
    pub(super) fn with_layout(path: &Path, beside: PathBuf, layout: Layout) -> io::Result<Self> {
        let created = Partial::create(|| fs::create_dir(&beside), |()| Some(beside.clone()));
        let ((), partial) = created.map_err(|error| cannot_write(path, &error))?;
        Ok(Self {
            path: path.to_owned(),
            _partial: partial,
            beside,
            files: Vec::new(),
            constants: layout.constants(),
            layout,
            tables: HashMap::new(),
            open: Vec::new(),
            tables_by_kind: TableIndex::default(),
            names: HashMap::new(),
            held: 0,
            memory: MEMORY,
            letters: Vec::new(),
            message: String::new(),
            summary: Summary::default(),
        })
    }

    /// Holds rows of at most this many bytes.
    pub(super) fn with_memory(mut self, memory: usize) -> Self {
        self.memory = memory;
        self
    }

    /// Adds an event whose fields are single values or arrays of numbers, without decoding it to a tree. Returns `false` if it is
    /// another event, which [`event`](Self::event) adds.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub(crate) fn flat(&mut self, event: &EventRef<'_>, decoder: &mut Decoder) -> io::Result<bool> {
        let Some(flat) = decoder.flat(event) else { return Ok(false) };
        if let Some(place) = self.tables_by_kind.find_recent(&event.header, flat.schema) {
            return self.add_flat(place, event, &flat);
        }
        let heading = self.heading(event);
        let is_32_bit = event.header.is_32_bit;
        if let Some(place) = self.tables_by_kind.find(&heading, is_32_bit, flat.schema) {
            let time = event.header.time.0;
            let past = event.header.time.0.rem_euclid(TICKS_PER_DAY);
            let whole = (time.saturating_sub(past), time.saturating_add(TICKS_PER_DAY - 1 - past));
            let day = heading.day.map_or((i64::MIN, i64::MAX), |_| whole);
            self.tables_by_kind.remember(&event.header, flat.schema, day, place);
            return self.add_flat(place, event, &flat);
        }
        // The tree says which columns the events of this kind have.
        let schema = Arc::clone(flat.schema);
        let tree = decoder.decode(event);
        let Some(table) = self.table(event, &tree)? else { return Ok(true) };
        let fields = Fields::Uncertain;
        let names = ValueNames::default();
        self.tables_by_kind.insert(IndexedTable { heading, schema, table, is_32_bit, fields, names });
        self.add_decoded(table, event, &tree).map(|()| true)
    }

    /// Adds an event of a known kind without a tree. Returns `false` if its table has other columns.
    fn add_flat(&mut self, place: usize, event: &EventRef<'_>, flat: &Flat<'_, '_>) -> io::Result<bool> {
        let Some(indexed) = self.tables_by_kind.get_mut(place) else { return Ok(false) };
        let number = indexed.table;
        let Some(table) = self.open.get_mut(number) else { return Ok(false) };
        let has_message = flat.write_message(&mut self.message);
        let message = has_message.then_some(self.message.as_str());
        let content = |is_exact: bool| Content {
            names: flat.names,
            message,
            raw: (!flat.is_whole || !is_exact).then(|| event.payload()),
        };
        if let (Fields::Fixed(places), Some(fixed)) = (&indexed.fields, flat.fixed()) {
            self.held -= table.held;
            table.add_fixed(event, &content(true), places, fixed.array);
            return self.added(number).map(|()| true);
        }
        let fitting = match indexed.fields {
            Fields::Uncertain => Fitting::new(flat, &table.shapes, &mut indexed.names),
            Fields::Certain | Fields::Fixed(_) => Fitting::like_others(flat, &table.shapes),
        };
        let Some(fitting) = fitting else { return Ok(false) };
        if matches!(indexed.fields, Fields::Uncertain) && fitting.is_certain() {
            let places = flat.fixed().map(|fixed| fixed.places).filter(|places| Rows::are_possible(places));
            indexed.fields = places.map_or(Fields::Certain, |places| Fields::Fixed(places.into()));
        }
        self.held -= table.held;
        let content = content(fitting.is_exact);
        table.add(event, &content, |columns| fitting.add(columns, &mut self.letters));
        self.added(number).map(|()| true)
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be written.
    pub(crate) fn event(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        match self.table(event, decoded)? {
            Some(number) => self.add_decoded(number, event, decoded),
            None => Ok(()),
        }
    }

    fn add_decoded(&mut self, number: usize, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<()> {
        let Some(table) = self.open.get_mut(number) else { return Ok(()) };
        let mut cells = Vec::with_capacity(table.shapes.len());
        let mut is_exact = true;
        let mut shapes = table.shapes.iter();
        visit(&decoded.fields, "", &mut |_, field| {
            let Some(shape) = shapes.next() else { return };
            let (cell, is_whole) = cell(field, shape);
            is_exact &= is_whole;
            cells.push(cell);
        });
        let raw = decoded.raw.as_deref().or_else(|| (!is_exact).then(|| event.payload()));
        self.held -= table.held;
        let message = decoded.message();
        let content = Content { names: &decoded.names, message: message.as_deref(), raw };
        table.add(event, &content, |columns| {
            let cells = columns.iter_mut().zip(cells);
            cells
                .map(|(column, cell)| match cell {
                    Cell::One(value) => column.add(value),
                    Cell::Many(values) => column.add_list(values),
                })
                .sum()
        });
        self.added(number)
    }

    /// Counts an event that was added to a table, and writes rows if there are too many in memory.
    fn added(&mut self, number: usize) -> io::Result<()> {
        let Some(table) = self.open.get_mut(number) else { return Ok(()) };
        self.summary.events += 1;
        if table.held >= GROUP.min(self.memory / 2) {
            table.flush().map_err(|error| failed(&self.path, &error))?;
        }
        self.held += table.held;
        if self.held >= self.memory
            && let Some(largest) = self.open.iter_mut().max_by_key(|table| table.held)
        {
            self.held -= largest.held;
            largest.flush().map_err(|error| failed(&self.path, &error))?;
        }
        Ok(())
    }

    fn heading(&self, event: &EventRef<'_>) -> Heading {
        let descriptor = &event.header.descriptor;
        Heading {
            class: event.class(),
            kind: event.kind(),
            id: descriptor.id,
            version: descriptor.version,
            day: matches!(self.layout, Layout::Partitioned { .. })
                .then(|| event.header.time.0.div_euclid(TICKS_PER_DAY)),
        }
    }

    /// Finds the table of an event, or creates it. Returns `None` if there are too many; the event is then counted as left out.
    fn table(&mut self, event: &EventRef<'_>, decoded: &Decoded) -> io::Result<Option<usize>> {
        let mut shapes = Vec::new();
        visit(&decoded.fields, "", &mut |name, field| shapes.push(shape(name, field)));
        let heading = self.heading(event);
        let key = Key { heading, provider: decoded.provider.clone(), event: decoded.event.clone(), shapes };
        let count = self.tables.len();
        let is_too_much = key.shapes.len() > MAX_COLUMNS;
        Ok(Some(match self.tables.entry(key) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(_) if count >= MAX_FILES || is_too_much => {
                self.summary.left_out += 1;
                return Ok(None);
            }
            Entry::Vacant(entry) => {
                let file = file_name(&mut self.names, &self.layout, event, decoded);
                let path = self.beside.join(match self.layout {
                    Layout::Flat => file.clone(),
                    Layout::Partitioned { .. } => format!("{count}.partial"),
                });
                self.files.push(file);
                let Key { provider, event, shapes, .. } = entry.key();
                let identity = Identity {
                    provider: provider.clone(),
                    class: heading.class.map(|class| class.to_string()),
                    event: event.clone(),
                    kind: heading.kind.as_str(),
                    id: heading.id,
                    version: heading.version,
                };
                let table = Table::create(&path, identity, shapes.clone(), &self.constants)
                    .map_err(|error| failed(&self.path, &error))?;
                self.open.push(table);
                *entry.insert(count)
            }
        }))
    }

    /// Completes all files and gives the folder its name, or moves the files to it. Returns the descriptions of the
    /// files.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be completed, or if the folder's name has been taken in the meantime. The files are then removed.
    pub(crate) fn finish(mut self) -> io::Result<(Summary, Vec<Json>)> {
        let mut descriptions = Vec::with_capacity(self.open.len());
        for (table, file) in std::mem::take(&mut self.open).into_iter().zip(&self.files) {
            descriptions.push(table.description(file));
            table.finish().map_err(|error| failed(&self.path, &error))?;
        }
        let is_complete = match self.layout {
            Layout::Flat => self.rename(),
            Layout::Partitioned { .. } => self.move_files(),
        };
        is_complete.map_err(|error| cannot_write(&self.path, &error))?;
        Ok((Summary { files: descriptions.len(), ..self.summary }, descriptions))
    }

    #[expect(clippy::disallowed_methods, reason = "an existing folder is empty")]
    fn rename(&self) -> io::Result<()> {
        match fs::remove_dir(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => fs::rename(&self.beside, &self.path),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the content of the trace names the files")]
    fn move_files(&self) -> io::Result<()> {
        let place = |(number, file): (usize, &String)| {
            let target = self.path.join(file);
            if let Some(parent) = target.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::rename(self.beside.join(format!("{number}.partial")), target)
        };
        let placed = self.files.iter().enumerate().try_for_each(place);
        if placed.is_err() {
            self.files.iter().for_each(|file| drop(fs::remove_file(self.path.join(file))));
        }
        placed
    }
}

impl Drop for Folder {
    /// Removes an incomplete folder. After a successful `finish`, there is nothing to remove.
    fn drop(&mut self) {
        self.open.clear();
        let _ = OwnDir::new(&self.beside).remove();
    }
}

fn failed(path: &Path, error: &ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast_ref::<io::Error>() {
            Some(error) => cannot_write(path, error),
            None => cannot_write(path, &io::Error::other(source.to_string())),
        },
        error => cannot_write(path, &io::Error::other(error.to_string())),
    }
}

pub(super) fn cannot_write(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
}

/// Returns the path of a new file in the folder, with a number if that name is taken.
fn file_name(names: &mut HashMap<String, usize>, layout: &Layout, event: &EventRef<'_>, decoded: &Decoded) -> String {
    let provider = decoded.provider.clone().or_else(|| event.class().map(|class| class.to_string()));
    let provider = provider.unwrap_or_else(|| "-".to_owned());
    let name = decoded.event.clone().unwrap_or_else(|| event.label());
    let name = match layout {
        Layout::Flat => flat(&format!("{provider}.{name}")),
        Layout::Partitioned { trace, .. } => {
            let time = event.header.time.to_string();
            let day = time.split('T').next().unwrap_or_default();
            format!(
                "provider_key={}/event_key={}/day={}/{trace}",
                sanitized(&provider),
                sanitized(&name),
                sanitized(day)
            )
        }
    };
    let used = names.entry(name.to_lowercase()).or_default();
    *used += 1;
    if *used == 1 { format!("{name}.parquet") } else { format!("{name}~{used}.parquet") }
}

/// Returns the name of a file in a flat folder. It is not hidden, and not that of a device of Windows.
fn flat(name: &str) -> String {
    let name = sanitized(name).trim_start_matches('.').to_owned();
    if device_of_name(&name).is_some() { format!("_{name}") } else { name }
}

/// Replaces characters that a file system may not accept with underscores.
fn sanitized(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.');
    name.chars().map(|character| if is_plain(character) { character } else { '_' }).take(MAX_NAME).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{Folder, flat};

    #[test]
    fn an_event_of_any_provider_gets_the_name_of_a_file() {
        assert_eq!(flat("My Company/Driver.Start"), "My_Company_Driver.Start");
        assert_eq!(flat("..hidden.Start"), "hidden.Start");
        assert_eq!(flat("Con.Start"), "_Con.Start");
    }

    #[test]
    fn an_incomplete_folder_is_removed() {
        let outer = tempfile::tempdir().unwrap();
        let folder = Folder::create(&outer.path().join("out")).unwrap();
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1, "a folder beside");
        drop(folder);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }
}
