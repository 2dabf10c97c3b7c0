//! One file, with the events of one kind.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use etw_etl::{EventRef, Names};
use etw_types::Guid;
use parquet::basic::{Compression, Encoding};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};

use super::append::Append;
use super::column::{Cell, Column, Kind, Value};
use super::fields::{Shape, nanoseconds};

/// The columns that every file has.
const COMMON: [(&str, Kind); 26] = [
    ("time", Kind::Nanoseconds),
    ("provider", Kind::Text),
    ("provider_id", Kind::Text),
    ("event", Kind::Text),
    ("kind", Kind::Text),
    ("id", Kind::Integer(16, false)),
    ("version", Kind::Integer(8, false)),
    ("level", Kind::Integer(8, false)),
    ("opcode", Kind::Integer(8, false)),
    ("task", Kind::Integer(16, false)),
    ("keyword", Kind::Integer(64, false)),
    ("pid", Kind::Integer(32, false)),
    ("tid", Kind::Integer(32, false)),
    ("cpu", Kind::Integer(16, false)),
    ("activity", Kind::Text),
    ("related", Kind::Text),
    ("message", Kind::Text),
    ("stack", Kind::Integer(64, false)),
    ("raw", Kind::Bytes),
    ("process", Kind::Text),
    ("parent_pid", Kind::Integer(32, false)),
    ("session_id", Kind::Integer(32, false)),
    ("command_line", Kind::Text),
    ("thread", Kind::Text),
    ("file", Kind::Text),
    ("key", Kind::Text),
];

/// The number of the common columns from `provider` on that are the same in all rows: `provider`, `provider_id`, `event`, `kind`,
/// `id` and `version`.
const SAME: usize = 6;

/// What all events of a file have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) provider: Option<String>,
    pub(super) class: Option<String>,
    pub(super) event: Option<String>,
    pub(super) kind: &'static str,
    pub(super) id: u16,
    pub(super) version: u8,
}

/// What a row has besides its header and its cells.
#[derive(Debug)]
pub(super) struct Content<'a> {
    pub(super) names: &'a Names,
    pub(super) message: Option<String>,
    /// The event's data, if the cells do not represent it exactly.
    pub(super) raw: Option<&'a [u8]>,
}

/// A file that is being written. It is open only while one of these functions writes to it.
pub(super) struct Table {
    pub(super) shapes: Vec<Shape>,
    identity: Identity,
    columns: Vec<Column>,
    descriptions: Vec<ColumnDescPtr>,
    constants: Vec<Option<String>>,
    writer: SerializedFileWriter<Append>,
    /// Number of buffered rows.
    rows: usize,
    /// Approximate memory of the buffered rows, in bytes.
    pub(super) held: usize,
}

impl Table {
    /// Creates a file for events with these fields. `constants` are columns with the same text in every row, after the common
    /// ones.
    pub(super) fn create(
        path: &Path,
        identity: Identity,
        shapes: Vec<Shape>,
        constants: &[(&'static str, Option<String>)],
    ) -> Result<Self> {
        let mut used: HashSet<String> = HashSet::new();
        let mut columns = Vec::with_capacity(COMMON.len() + constants.len() + shapes.len());
        for (name, kind) in COMMON {
            used.insert(name.to_owned());
            columns.push(Column::new(name.to_owned(), kind, name == "stack"));
        }
        for (name, _) in constants {
            used.insert((*name).to_owned());
            columns.push(Column::new((*name).to_owned(), Kind::Text, false));
        }
        for shape in &shapes {
            let mut name = if shape.name.is_empty() { "field".to_owned() } else { shape.name.clone() };
            // Databases compare column names without regard to case.
            for number in 2.. {
                if used.insert(name.to_lowercase()) {
                    break;
                }
                name = format!("{}_{number}", shape.name);
            }
            columns.push(Column::new(name, shape.kind, shape.is_list));
        }
        let schema = columns.iter().map(Column::schema).collect::<Result<_>>()?;
        let schema = Arc::new(Type::group_type_builder("event").with_fields(schema).build()?);
        let mut writer = SerializedFileWriter::new(Append::create(path)?, schema, Arc::new(properties(&columns)))?;
        writer.inner_mut().close();
        let descriptions = writer.schema_descr().columns().to_vec();
        let constants = constants.iter().map(|(_, text)| text.clone()).collect();
        Ok(Self { shapes, identity, columns, descriptions, constants, writer, rows: 0, held: 0 })
    }

    /// Adds a row. The cells must be those of the file's fields.
    pub(super) fn add(&mut self, event: &EventRef<'_>, content: &Content<'_>, cells: Vec<Cell<'_>>) {
        let (header, names) = (&event.header, content.names);
        let descriptor = &header.descriptor;
        let process_of = names.process.as_deref();
        let text = |id: Guid| id.to_string();
        let Some((common, own)) = self.columns.split_first_chunk_mut::<{ COMMON.len() }>() else { return };
        // In the order of `COMMON`. Those without a name are filled in when the rows are written.
        let [
            time,
            _,
            _,
            _,
            _,
            _,
            _,
            level,
            opcode,
            task,
            keyword,
            pid,
            tid,
            cpu,
            activity,
            related,
            message,
            stack,
            raw,
            process,
            parent_pid,
            session_id,
            command_line,
            thread,
            file,
            key,
        ] = common;
        let mut cost = time.add_integer(nanoseconds(header.time.0));
        cost += level.add_integer(Some(descriptor.level.as_int().into()));
        cost += opcode.add_integer(Some(descriptor.opcode.as_int().into()));
        cost += task.add_integer(Some(descriptor.task.into()));
        cost += keyword.add_integer(Some(descriptor.keyword.bits().cast_signed()));
        cost += pid.add_integer(header.process_id.map(Into::into));
        cost += tid.add_integer(header.thread_id.map(Into::into));
        cost += cpu.add_integer(Some(header.cpu.into()));
        cost += activity.add_text(header.activity.map(text).as_deref());
        cost += related.add_text(event.related().map(text).as_deref());
        cost += message.add_text(content.message.as_deref());
        let frames = event.stack();
        cost += stack
            .add_list(frames.map(|frames| frames.into_iter().map(|frame| Some(Value::Integer(frame.cast_signed())))));
        cost += raw.add(content.raw.map(|raw| Value::Bytes(raw.into())));
        cost += process.add_text(process_of.map(|process| &*process.name));
        cost += parent_pid.add_integer(process_of.and_then(|process| process.parent).map(Into::into));
        cost += session_id.add_integer(process_of.and_then(|process| process.session).map(Into::into));
        cost += command_line.add_text(process_of.and_then(|process| process.command_line.as_deref()));
        cost += thread.add_text(names.thread.as_deref());
        cost += file.add_text(names.file.as_deref());
        cost += key.add_text(names.key.as_deref());
        for (cell, column) in cells.into_iter().zip(own.iter_mut().skip(self.constants.len())) {
            cost += match cell {
                Cell::One(value) => column.add(value),
                Cell::Many(values) => column.add_list(Some(values)),
            };
        }
        self.rows += 1;
        self.held += cost;
    }

    /// Writes the buffered rows.
    pub(super) fn flush(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.fill();
        let mut group = self.writer.next_row_group()?;
        for (column, description) in self.columns.iter_mut().zip(&self.descriptions) {
            column.write(&mut group, description)?;
        }
        group.close()?;
        self.writer.inner_mut().close();
        self.rows = 0;
        self.held = 0;
        Ok(())
    }

    /// Fills the columns that have the same value in all rows.
    fn fill(&mut self) {
        let Identity { provider, class, event, kind, id, version } = &self.identity;
        let text = |text: Option<&str>| text.map(|text| Value::Bytes(text.as_bytes().to_vec().into()));
        let number = |number: u16| Some(Value::Integer(number.into()));
        let same: [_; SAME] = [
            text(provider.as_deref()),
            text(class.as_deref()),
            text(event.as_deref()),
            text(Some(kind)),
            number(*id),
            number((*version).into()),
        ];
        for (column, value) in self.columns.iter_mut().skip(1).zip(same) {
            column.fill(value, self.rows);
        }
        for (column, constant) in self.columns.iter_mut().skip(COMMON.len()).zip(&self.constants) {
            column.fill(text(constant.as_deref()), self.rows);
        }
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.close().map(drop)
    }
}

/// How the columns are written that [`Column`] does not encode itself: numbers as differences, which are small for times, ids and
/// addresses, and texts as they are.
fn properties(columns: &[Column]) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for column in columns.iter().filter(|column| column.kind.is_integer()) {
        let mut path = vec![column.name.clone()];
        if column.is_list {
            path.extend(["list", "element"].map(str::to_owned));
        }
        properties = properties.set_column_encoding(ColumnPath::new(path), Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use etw_etl::{Decoder, EventData, Reader, Writer, WriterOptions};
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::{Content, Identity, Table};

    /// The file is closed after each row group, so the next one is appended to a file that is opened again.
    #[test]
    fn a_file_has_all_its_row_groups_although_it_is_closed_between_them() {
        let folder = std::env::temp_dir().join(format!("etw-parquet-groups-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (trace, path) = (folder.join("a.etl"), folder.join("a.parquet"));
        let mut writer = Writer::create(&trace, WriterOptions::default()).unwrap();
        // More than the Parquet writer buffers, and nothing that it can compress.
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        for timestamp in 0..5 {
            let payload: Vec<u8> = (0..30_000).map(|_| random()).collect();
            writer.write(0, &EventData { timestamp, payload: &payload, ..EventData::default() }).unwrap();
        }
        writer.close().unwrap();
        let mut reader = Reader::open(&trace).unwrap();
        let mut schemas = Decoder::from_reader(&reader, []);
        let mut table = Table::create(&path, Identity::default(), Vec::new(), &[]).unwrap();
        while let Some(event) = reader.next_ref() {
            let decoded = schemas.decode(&event);
            let content = Content { names: &decoded.names, message: None, raw: decoded.raw.as_deref() };
            table.add(&event, &content, Vec::new());
            table.flush().unwrap();
        }
        table.finish().unwrap();
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 150_000);
        assert_eq!(file.num_row_groups(), 7, "five events and two records of the session");
        assert_eq!(file.get_row_iter(None).unwrap().map(Result::unwrap).count(), 7);
        fs::remove_dir_all(folder).unwrap();
    }
}
