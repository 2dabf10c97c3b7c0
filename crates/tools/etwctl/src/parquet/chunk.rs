//! Column chunks of a dictionary and references to it, which are encoded here. The `parquet` crate hashes every value of a column
//! again; here the columns know already which values they have, and most columns of a file have one value in all rows.

use std::io::Write;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::Statistics;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

use super::hybrid::{Series, encode, width};

/// Maximum number of rows in a page.
const PAGE: usize = 1 << 16;
/// Definition levels have one bit: a value is there or not.
const LEVEL_BITS: u32 = 1;

/// The rows of an optional column.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    /// The different values in Parquet's plain encoding, and their number.
    pub(super) dictionary: Vec<u8>,
    pub(super) entries: usize,
    /// For each row, 1 if it has a value, 0 if it is null.
    pub(super) levels: Series<'a, u8>,
    /// For each row with a value, its place in the dictionary.
    pub(super) places: Series<'a, u32>,
    pub(super) statistics: Statistics,
}

impl Chunk<'_> {
    /// Appends the rows to a row group as its next column.
    pub(super) fn append<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        column: &ColumnDescPtr,
    ) -> Result<()> {
        let mut file = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut file);
        let mut sizes = (0, 0);
        let mut write = |page: Page, size: usize| {
            let written = pages.write_page(CompressedPage::new(page, size))?;
            sizes = (sizes.0 + written.compressed_size, sizes.1 + written.uncompressed_size);
            Ok::<_, ParquetError>(written.offset)
        };
        let size = self.dictionary.len();
        let (entries, has_values) = (number::<u32>(self.entries)?, self.entries > 0);
        let dictionary = Page::DictionaryPage {
            buf: self.dictionary.into(),
            num_values: entries,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        let dictionary = if has_values { Some(write(dictionary, size)?) } else { None };
        let bits = width(entries.saturating_sub(1));
        let encoding = if has_values { Encoding::RLE_DICTIONARY } else { Encoding::PLAIN };
        let (mut rows, mut first) = (0, None);
        for (levels, places) in split(self.levels, self.places) {
            let mut encoded = Vec::new();
            encode(&mut encoded, LEVEL_BITS, levels);
            let mut body = number::<u32>(encoded.len())?.to_le_bytes().to_vec();
            body.append(&mut encoded);
            if has_values {
                body.push(number(usize::try_from(bits).unwrap_or_default())?);
                encode(&mut body, bits, places);
            }
            let (size, count) = (body.len(), length(levels));
            let page = Page::DataPage {
                buf: body.into(),
                num_values: number(count)?,
                encoding,
                def_level_encoding: Encoding::RLE,
                rep_level_encoding: Encoding::RLE,
                statistics: None,
            };
            let offset = write(page, size)?;
            first = first.or(Some(offset));
            rows += count;
        }
        let metadata = ColumnChunkMetaData::builder(column.clone())
            .set_compression(Compression::UNCOMPRESSED)
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, encoding])
            .set_total_compressed_size(number(sizes.0)?)
            .set_total_uncompressed_size(number(sizes.1)?)
            .set_num_values(number(rows)?)
            .set_dictionary_page_offset(dictionary.map(u64::cast_signed))
            .set_data_page_offset(first.unwrap_or_default().cast_signed())
            .set_statistics(self.statistics)
            .build()?;
        let bytes = Bytes::from(file.into_inner()?);
        let close = ColumnCloseResult {
            bytes_written: number(sizes.0)?,
            rows_written: number(rows)?,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, close)
    }
}

/// Splits rows into pages.
fn split<'a>(levels: Series<'a, u8>, places: Series<'a, u32>) -> Vec<(Series<'a, u8>, Series<'a, u32>)> {
    if let (Series::Same(..), Series::Same(..)) = (levels, places) {
        return vec![(levels, places)];
    }
    let mut pages = Vec::new();
    let (mut row, mut value) = (0, 0);
    while row < length(levels) {
        let levels = part(levels, row, PAGE);
        let present = match levels {
            Series::Same(level, count) => usize::from(level) * count,
            Series::Each(levels) => levels.iter().map(|level| usize::from(*level)).sum(),
        };
        pages.push((levels, part(places, value, present)));
        row += PAGE;
        value += present;
    }
    pages
}

fn length<T: Copy>(series: Series<'_, T>) -> usize {
    match series {
        Series::Same(_, count) => count,
        Series::Each(values) => values.len(),
    }
}

/// At most `count` numbers of a series.
fn part<T>(series: Series<'_, T>, start: usize, count: usize) -> Series<'_, T> {
    match series {
        Series::Same(value, all) => Series::Same(value, all.saturating_sub(start).min(count)),
        Series::Each(values) => {
            let rest = values.get(start..).unwrap_or_default();
            Series::Each(rest.get(..count).unwrap_or(rest))
        }
    }
}

fn number<T: TryFrom<usize>>(value: usize) -> Result<T> {
    T::try_from(value).map_err(|_| ParquetError::General(format!("{value} is too large for Parquet")))
}
