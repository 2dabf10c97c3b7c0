//! One file, with the events of one kind.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use etw_etl::{Decoded, EventRef};
use parquet::basic::Compression;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;

use super::append::Append;
use super::column::{Column, Kind, Value};
use super::fields::{Cell, Shape, cell, nanoseconds, visit};

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

/// A file that is being written. It is open only while one of these functions writes to it.
pub(super) struct Table {
    shapes: Vec<Shape>,
    columns: Vec<Column>,
    constants: Vec<Option<String>>,
    /// The provider's id, which all events of the file have.
    class: Option<String>,
    writer: SerializedFileWriter<Append>,
    /// Number of buffered rows.
    rows: u64,
    /// Approximate memory of the buffered rows, in bytes.
    pub(super) held: usize,
}

impl Table {
    /// Creates a file for events with these fields. `constants` are columns with the same text in every row, after the common
    /// ones.
    pub(super) fn create(
        path: &Path,
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
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer = SerializedFileWriter::new(Append::create(path)?, schema, Arc::new(properties))?;
        writer.inner_mut().close();
        let constants = constants.iter().map(|(_, text)| text.clone()).collect();
        Ok(Self { shapes, columns, constants, class: None, writer, rows: 0, held: 0 })
    }

    /// Adds an event, which must have the fields of the file.
    pub(super) fn add(&mut self, event: &EventRef<'_>, decoded: &Decoded) {
        if self.class.is_none() {
            self.class = event.class().map(|class| class.to_string());
        }
        let mut cells = Vec::with_capacity(self.shapes.len());
        let mut is_exact = true;
        let mut shapes = self.shapes.iter();
        visit(&decoded.fields, "", &mut |_, field| {
            let Some(shape) = shapes.next() else { return };
            let (cell, is_whole) = cell(field, shape);
            is_exact &= is_whole;
            cells.push(cell);
        });
        let raw = decoded.raw.as_deref().or_else(|| (!is_exact).then(|| event.payload()));
        let stack =
            event.stack().map(|frames| frames.into_iter().map(|frame| Some(Value::Integer(frame.cast_signed()))));
        let mut cost = 0;
        let mut columns = self.columns.iter_mut();
        // The order matters: `zip` advances the first iterator first, so no column is consumed when the common values end.
        for (value, column) in common(event, decoded, raw, self.class.as_deref()).into_iter().zip(columns.by_ref()) {
            cost += match value {
                Common::Stack => column.add_list(stack.clone()),
                Common::Text(text) => column.add_text(text),
                Common::Shown(text) => column.add_text(text.as_deref()),
                Common::Value(value) => column.add(value),
            };
        }
        for (text, column) in self.constants.iter().zip(columns.by_ref()) {
            cost += column.add_text(text.as_deref());
        }
        for (column, cell) in columns.zip(cells) {
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
        let mut group = self.writer.next_row_group()?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column()? {
                column.write(writer.untyped())?;
                writer.close()?;
            }
        }
        group.close()?;
        self.writer.inner_mut().close();
        self.rows = 0;
        self.held = 0;
        Ok(())
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.writer.close().map(drop)
    }
}

/// The value of a common column.
enum Common<'a> {
    Text(Option<&'a str>),
    Shown(Option<String>),
    Value(Option<Value>),
    /// The list of return addresses.
    Stack,
}

/// Returns the values of the common columns.
fn common<'a>(
    event: &EventRef<'_>,
    decoded: &'a Decoded,
    raw: Option<&[u8]>,
    class: Option<&'a str>,
) -> [Common<'a>; COMMON.len()] {
    let header = &event.header;
    let descriptor = &header.descriptor;
    let names = &decoded.names;
    let process = names.process.as_deref();
    let text = Common::Text;
    let number = |number: u32| Common::Value(Some(Value::Integer(number.into())));
    let optional = |number: Option<u32>| Common::Value(number.map(|number| Value::Integer(number.into())));
    [
        Common::Value(nanoseconds(header.time.0).map(Value::Integer)),
        text(decoded.provider.as_deref()),
        text(class),
        text(decoded.event.as_deref()),
        text(Some(event.kind().as_str())),
        number(descriptor.id.into()),
        number(descriptor.version.into()),
        number(descriptor.level.as_int().into()),
        number(descriptor.opcode.as_int().into()),
        number(descriptor.task.into()),
        Common::Value(Some(Value::Integer(descriptor.keyword.bits().cast_signed()))),
        optional(header.process_id),
        optional(header.thread_id),
        number(header.cpu.into()),
        Common::Shown(header.activity.map(|id| id.to_string())),
        Common::Shown(event.related().map(|id| id.to_string())),
        Common::Shown(decoded.message()),
        Common::Stack,
        Common::Value(raw.map(|raw| Value::Bytes(raw.to_vec()))),
        text(process.map(|process| &*process.name)),
        optional(process.and_then(|process| process.parent)),
        optional(process.and_then(|process| process.session)),
        text(process.and_then(|process| process.command_line.as_deref())),
        text(names.thread.as_deref()),
        text(names.file.as_deref()),
        text(names.key.as_deref()),
    ]
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use etw_etl::{Decoder, EventData, Reader, Writer, WriterOptions};
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use super::Table;

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
        let mut table = Table::create(&path, Vec::new(), &[]).unwrap();
        while let Some(event) = reader.next_ref() {
            let decoded = schemas.decode(&event);
            table.add(&event, &decoded);
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
