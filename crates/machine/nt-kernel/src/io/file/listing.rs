//! The entries of folders on the [volume](super::volume), as directory requests return them.

use etw_types::NtStatus;
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Outcome, fail};

use super::info;
use super::tree::{Listed, Scan, Size};
use crate::rtl::expression;
use crate::{Kernel, kernel, lock};

/// A request for entries.
#[derive(Clone, Debug)]
pub struct Query {
    /// The names that match; empty for all.
    pub pattern: String,
    /// The class of the information, such as `FileDirectoryInformation`.
    pub class: u32,
    /// Whether to return one entry only.
    pub is_single: bool,
    /// Whether to begin with the first entry again.
    pub restarts: bool,
}

/// The entries that every folder but the root has.
fn dots(path: &str) -> Vec<Listed> {
    let size = Size::dir();
    let names: &[&str] = if path == r"\" { &[] } else { &[".", ".."] };
    names.iter().map(|name| Listed { name: (*name).to_owned(), size }).collect()
}

/// Stores the next entries of an open folder in a buffer. Returns the status and the number of bytes.
pub fn list(file: u64, query: &Query, buffer: GuestPtr<u8>, room: u32) -> Outcome<(NtStatus, u64)> {
    let Kernel { io, .. } = kernel();
    let (entries, path, scan) = {
        let volume = &mut lock(io).volume;
        let entries = volume.list(file)?;
        let pattern = || Scan { pattern: query.pattern.to_uppercase(), returned: 0 };
        let scan = volume.scans.get_or_insert_with(file, pattern);
        if query.restarts {
            scan.returned = 0;
        }
        let scan = scan.clone();
        (entries, volume.path_of(file).unwrap_or_default(), scan)
    };
    let pattern: Vec<u16> = scan.pattern.encode_utf16().collect();
    let is_wanted = |listed: &Listed| {
        let name: Vec<u16> = listed.name.to_uppercase().encode_utf16().collect();
        pattern.is_empty() || expression::matches(&pattern, &name)
    };
    let all: Vec<Listed> = dots(&path).into_iter().chain(entries).filter(is_wanted).collect();
    let rest = all.get(scan.returned..).unwrap_or_default();
    let Some(first) = rest.first() else {
        return fail(if scan.returned == 0 { NtStatus::NoSuchFile } else { NtStatus::NoMoreFiles });
    };
    let most = if query.is_single { 1 } else { rest.len() };
    let encoded: Result<Vec<_>, _> = rest.iter().take(most).map(|listed| info::entry(query.class, listed)).collect();
    let encoded = encoded?;
    let (count, bytes) = info::store(buffer, room, &encoded)?;
    if count == 0 {
        // The first request returns as much of the name as fits; a later one returns nothing, and the entry stays.
        let fixed = encoded.first().map_or(0, |entry| entry.len() - first.name.encode_utf16().count() * 2);
        if scan.returned != 0 {
            return Ok((NtStatus::Success, 0));
        }
        if (room as usize) < fixed {
            return fail(NtStatus::InfoLengthMismatch);
        }
        buffer.write_all(encoded.first().and_then(|entry| entry.get(..room as usize)).unwrap_or_default())?;
        return Ok((NtStatus::BufferOverflow, room.into()));
    }
    if let Some(scan) = lock(io).volume.scans.get_mut(&file) {
        scan.returned += count;
    }
    Ok((NtStatus::Success, bytes))
}
