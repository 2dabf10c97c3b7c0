//! Appending to an existing file.
//!
//! The documentation of logging modes requires the buffer size, the number of processors and the clock to match those of the
//! file, and says that time stamps are correct only with system time. The file keeps its header: the start time and the names
//! stay, and the counts continue.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::file::TraceFile;
use super::options::WriterOptions;
use super::storage;
use crate::error::Error;
use crate::format::buffer::{self, BufferHeader};
use crate::format::classic::{SYSTEM_SIZE, SystemHeader};
use crate::format::logfile::LogfileHeader;
use crate::format::record::{self, Layout, Next};
use crate::time::ClockKind;
use etw_types::session::mode;

/// Opens a file to append to. A partial buffer at its end, which a process that died may have left, is removed.
pub(super) fn open(path: &Path, options: &WriterOptions) -> Result<TraceFile, Error> {
    let io = |error| Error::io("open", path)(error);
    let mut file = File::options().read(true).write(true).open(path).map_err(io)?;
    storage::lock(&file).map_err(io)?;
    let length = file.seek(SeekFrom::End(0)).map_err(io)?;
    let mut first = vec![0; usize::try_from(options.buffer_size).unwrap_or_default()];
    let not = |reason| Error::NotATrace { path: path.to_owned(), reason };
    file.seek(SeekFrom::Start(0)).map_err(io)?;
    file.read_exact(&mut first).map_err(|_| not("its first buffer is shorter than those to be appended"))?;
    let size = BufferHeader::parse(&first).map(|header| header.size);
    let (prefix, header) = header_of(&first).ok_or_else(|| not("it has no logfile header that could be kept"))?;
    check(size, &header, options)?;
    let whole = length - length % u64::from(options.buffer_size);
    file.set_len(whole).map_err(io)?;
    TraceFile::go_on(Box::new(storage::SystemFile::new(file, whole)), path.to_owned(), prefix, header, whole, options)
}

/// Returns the headers of the first record, if encoding them again yields the same bytes.
fn header_of(first: &[u8]) -> Option<(SystemHeader, LogfileHeader)> {
    let records = first.get(buffer::SIZE..)?;
    let Next::Record(Layout::System, size) = record::next(records) else {
        return None;
    };
    let prefix = SystemHeader::parse(records, false)?;
    let body = records.get(SYSTEM_SIZE..size)?;
    let header = LogfileHeader::parse(body)?;
    (header.to_bytes() == body).then_some((prefix, header))
}

fn check(size: Option<u32>, header: &LogfileHeader, options: &WriterOptions) -> Result<(), Error> {
    let is_sequential = header.log_file_mode & (mode::SEQUENTIAL | mode::COMPRESSED) == mode::SEQUENTIAL;
    let fits = [size, Some(header.buffer_size)] == [Some(options.buffer_size); 2]
        && header.processors == u32::from(options.processors.max(1))
        && header.clock_type == options.clock.kind.as_int()
        && header.pointer_size == 8;
    match () {
        () if options.clock.kind != ClockKind::SystemTime => Err(Error::Options("only system time can be appended")),
        () if !is_sequential => Err(Error::Options("the file to append to is not a sequential one")),
        () if !fits => Err(Error::Options("the file to append to has other buffers, processors or another clock")),
        () => Ok(()),
    }
}
