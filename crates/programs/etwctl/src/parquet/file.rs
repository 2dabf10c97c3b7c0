//! One file, with the events of one kind.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use etw_etl::{Elements, EventRef, NumberPlace};
use parquet::basic::Compression;
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnDescPtr, Type};
use serde_json::{Value as Json, json};

use super::append::Append;
use super::column::Column;
use super::common::{COMMON, Content, Identity, Pending};
use super::fields::Shape;
use super::flat::add_list;
use super::kind::{Kind, Value};
use super::rows::Rows;

/// A file that is being written. It is open only while rows are written to it.
pub(super) struct Table {
    pub(super) shapes: Vec<Shape>,
    identity: Identity,
    columns: Vec<Column>,
    descriptions: Vec<ColumnDescPtr>,
    constants: Vec<Option<String>>,
    writer: SerializedFileWriter<Append>,
    pending: Pending,
    /// The fields of the last rows, if they are numbers at fixed places.
    fixed: Rows,
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
        let writer = SerializedFileWriter::new(Append::new(path), schema, Arc::new(properties()))?;
        let descriptions = writer.schema_descr().columns().to_vec();
        let constants = constants.iter().map(|(_, text)| text.clone()).collect();
        let pending = Pending::default();
        let fixed = Rows::default();
        Ok(Self { shapes, identity, columns, descriptions, constants, writer, pending, fixed, rows: 0, held: 0 })
    }

    /// Adds a row. `cells` adds a row to each of the columns of the file's fields, and returns its approximate memory cost in bytes.
    pub(super) fn add(
        &mut self,
        event: &EventRef<'_>,
        content: &Content<'_>,
        cells: impl FnOnce(&mut [Column]) -> usize,
    ) {
        if self.fixed.size() > 0 {
            self.settle_waiting();
        }
        let Some((common, own)) = self.columns.split_first_chunk_mut() else { return };
        self.held += self.pending.add(common, event, content);
        self.held += own.get_mut(self.constants.len()..).map_or(0, cells);
        self.end_row();
    }

    /// Adds a row whose fields are the integers at these places of the event's payload, and possibly an array after them.
    pub(super) fn add_fixed(
        &mut self,
        event: &EventRef<'_>,
        content: &Content<'_>,
        places: &Arc<[NumberPlace]>,
        array: Option<Elements<'_, '_>>,
    ) {
        if !self.fixed.accept(places) {
            self.settle_waiting();
            self.fixed.accept(places);
        }
        let Some((common, own)) = self.columns.split_first_chunk_mut() else { return };
        self.held += self.pending.add(common, event, content) + self.fixed.push(event.payload());
        if let Some((array, column)) = array.zip(own.get_mut(self.constants.len() + places.len())) {
            self.held += add_list(column, array);
        }
        self.end_row();
    }

    fn end_row(&mut self) {
        self.rows += 1;
        if self.pending.is_full() || self.fixed.is_full() {
            self.settle_waiting();
        }
    }

    /// Moves what waits for its columns to them.
    fn settle_waiting(&mut self) {
        self.held -= self.pending.size() + self.fixed.size();
        if let Some((common, own)) = self.columns.split_first_chunk_mut() {
            self.held += self.pending.settle_heads(common);
            self.held += own.get_mut(self.constants.len()..).map_or(0, |fields| self.fixed.settle(fields));
        }
    }

    /// Writes the buffered rows to the file.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.end_group()?;
        Ok(self.writer.inner_mut().save()?)
    }

    /// Makes a row group of the buffered rows.
    fn end_group(&mut self) -> Result<()> {
        if self.rows == 0 {
            return Ok(());
        }
        self.settle_waiting();
        if let Some((common, own)) = self.columns.split_first_chunk_mut() {
            self.pending.settle(common, &self.identity, self.rows);
            for (column, constant) in own.iter_mut().zip(&self.constants) {
                column.fill(constant.as_ref().map(|text| Value::Bytes(text.as_bytes().into())), self.rows);
            }
        }
        let mut group = self.writer.next_row_group()?;
        for (column, description) in self.columns.iter_mut().zip(&self.descriptions) {
            column.write(&mut group, description)?;
        }
        group.close()?;
        self.rows = 0;
        self.held = 0;
        Ok(())
    }

    /// Describes the file with this path: its event, and the columns of the event's fields.
    pub(super) fn description(&self, path: &str) -> Json {
        let Identity { provider, event, kind, id, version, .. } = &self.identity;
        let columns = self.columns.iter().skip(COMMON.len() + self.constants.len());
        let columns: Json = columns.map(|column| (column.name.clone(), column.type_name())).collect();
        json!({"path": path, "provider": provider, "event": event, "kind": kind, "id": id, "version": version, "columns": columns})
    }

    /// Completes the file.
    pub(super) fn finish(mut self) -> Result<()> {
        self.end_group()?;
        Ok(self.writer.into_inner()?.save()?)
    }
}

/// How the `parquet` crate writes the columns that [`Column`] does not encode itself.
fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_enabled(false)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build()
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
        let dir = std::env::temp_dir().join(format!("etw-parquet-groups-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let trace = dir.join("a.etl");
        let path = dir.join("a.parquet");
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
            table.add(&event, &content, |_| 0);
            table.flush().unwrap();
        }
        table.finish().unwrap();
        let file = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert!(fs::metadata(&path).unwrap().len() > 150_000);
        assert_eq!(file.num_row_groups(), 7, "five events and two records of the session");
        assert_eq!(file.get_row_iter(None).unwrap().map(Result::unwrap).count(), 7);
        fs::remove_dir_all(dir).unwrap();
    }
}
