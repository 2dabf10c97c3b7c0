//! Column chunks that are encoded here: integers as differences, bytes, and dictionaries with references to them. The `parquet` crate hashes
//! every value of a column again; here the columns know already which values they have, and most columns of a file have one value
//! in all rows.

use std::io::Write;
use std::ops::Range;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;
use snap::raw::Encoder;

use super::delta;
use super::dictionary::Dictionary;
use super::hybrid::{Series, encode, width};

/// Number of entries from which on a page ends with its row.
const PAGE: usize = 1 << 16;
/// Repetition levels have one bit: an entry continues a list or not.
const REPETITION_BITS: u32 = 1;

/// The rows of an optional column, which are its entries, or of an optional list, whose entries are its elements.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    pub(super) rows: usize,
    /// The definition level of an entry with a value.
    pub(super) full: u8,
    pub(super) levels: Series<'a, u8>,
    /// The repetition levels of a list.
    pub(super) repetitions: Option<Series<'a, u8>>,
    pub(super) values: Encoded<'a>,
    pub(super) statistics: Statistics,
}

/// The values of all entries that have one.
#[derive(Debug)]
pub(super) enum Encoded<'a> {
    /// The different values in Parquet's plain encoding and their number, and the place of each value among them.
    Dictionary {
        plain: Vec<u8>,
        entries: usize,
        places: Series<'a, u32>,
    },
    /// Values that a dictionary would not make smaller.
    Bytes(&'a Dictionary),
    I32(&'a [i32]),
    I64(&'a [i64]),
}

impl Encoded<'_> {
    const fn encoding(&self) -> Encoding {
        match self {
            Self::Dictionary { entries: 0, .. } | Self::Bytes(_) => Encoding::PLAIN,
            Self::Dictionary { .. } => Encoding::RLE_DICTIONARY,
            Self::I32(_) | Self::I64(_) => Encoding::DELTA_BINARY_PACKED,
        }
    }

    /// Appends a part of the values to a page.
    fn append(&self, body: &mut Vec<u8>, part: Range<usize>) -> Result<()> {
        match self {
            Self::Dictionary { entries: 0, .. } => {}
            Self::Dictionary { entries, places, .. } => {
                let bits = width(number::<u32>(*entries)?.saturating_sub(1));
                body.push(number(usize::try_from(bits).unwrap_or_default())?);
                encode(body, bits, places.part(part));
            }
            Self::Bytes(dictionary) => dictionary.append_rows(body, part),
            Self::I32(values) => delta::encode(body, values.get(part).unwrap_or_default()),
            Self::I64(values) => delta::encode(body, values.get(part).unwrap_or_default()),
        }
        Ok(())
    }
}

impl Chunk<'_> {
    /// Appends the rows to a row group as its next column.
    pub(super) fn append<W: Write + Send>(
        mut self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
    ) -> Result<()> {
        let mut file = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut file);
        let mut sizes = (0, 0);
        // There is nothing to compress if all rows have one value.
        let is_plain = matches!(self.values, Encoded::Dictionary { places: Series::Same(..), .. });
        let mut snappy = Encoder::new();
        let mut packed = |body: Vec<u8>| {
            if is_plain {
                return Ok(Bytes::from(body));
            }
            snappy.compress_vec(&body).map(Bytes::from).map_err(|error| ParquetError::External(Box::new(error)))
        };
        let mut write = |page: Page, size: usize| {
            let written = pages.write_page(CompressedPage::new(page, size))?;
            sizes = (sizes.0 + written.compressed_size, sizes.1 + written.uncompressed_size);
            Ok::<_, ParquetError>(written.offset)
        };
        let encoding = self.values.encoding();
        let dictionary = match &mut self.values {
            Encoded::Dictionary { plain, entries: entries @ 1.., .. } => {
                let size = plain.len();
                let buf = packed(std::mem::take(plain))?;
                let num_values = number(*entries)?;
                let page = Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, is_sorted: false };
                Some(write(page, size)?)
            }
            _ => None,
        };
        let mut entries = 0;
        let mut first = None;
        for (part, values) in self.pages() {
            let mut body = Vec::new();
            if let Some(repetitions) = self.repetitions {
                append_levels(&mut body, REPETITION_BITS, repetitions.part(part.clone()))?;
            }
            append_levels(&mut body, width(self.full.into()), self.levels.part(part.clone()))?;
            self.values.append(&mut body, values)?;
            let size = body.len();
            let page = Page::DataPage {
                buf: packed(body)?,
                num_values: number(part.len())?,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let offset = write(page, size)?;
            first = first.or(Some(offset));
            entries += part.len();
        }
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(if is_plain { Compression::UNCOMPRESSED } else { Compression::SNAPPY })
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, encoding])
            .set_total_compressed_size(number(sizes.0)?)
            .set_total_uncompressed_size(number(sizes.1)?)
            .set_num_values(number(entries)?)
            .set_dictionary_page_offset(dictionary.map(u64::cast_signed))
            .set_data_page_offset(first.unwrap_or_default().cast_signed())
            .set_statistics(self.statistics)
            .build()?;
        let bytes = Bytes::from(file.into_inner()?);
        let close = ColumnCloseResult {
            bytes_written: number(sizes.0)?,
            rows_written: number(self.rows)?,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, close)
    }

    /// The entries and the values of each page. A page ends where a row ends.
    fn pages(&self) -> Vec<(Range<usize>, Range<usize>)> {
        let count = self.levels.len();
        let is_same = matches!(self.levels, Series::Same(..));
        if is_same && matches!(self.values, Encoded::Dictionary { places: Series::Same(..), .. }) {
            let present = if self.levels.get(0) == Some(self.full) { count } else { 0 };
            return vec![(0..count, 0..present)];
        }
        let mut pages = Vec::new();
        let mut start = 0;
        let mut value = 0;
        while start < count {
            let continues = |entry: &usize| self.repetitions.and_then(|levels| levels.get(*entry)) == Some(1);
            let end = ((start + PAGE).min(count)..count).find(|entry| !continues(entry)).unwrap_or(count);
            let present = match self.levels.part(start..end) {
                Series::Same(level, count) => usize::from(level == self.full) * count,
                Series::Each(levels) => levels.iter().map(|level| usize::from(*level == self.full)).sum(),
            };
            pages.push((start..end, value..value + present));
            start = end;
            value += present;
        }
        pages
    }
}

/// Appends levels and, before them, their length.
fn append_levels(body: &mut Vec<u8>, bits: u32, levels: Series<'_, u8>) -> Result<()> {
    let start = body.len();
    body.extend_from_slice(&[0; 4]);
    encode(body, bits, levels);
    let length = number::<u32>(body.len() - start - 4)?.to_le_bytes();
    body.iter_mut().skip(start).zip(length).for_each(|(place, byte)| *place = byte);
    Ok(())
}

fn number<T: TryFrom<usize>>(value: usize) -> Result<T> {
    T::try_from(value).map_err(|_| ParquetError::General(format!("{value} is too large for Parquet")))
}
