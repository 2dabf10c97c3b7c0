//! Strings of the host that drivers read.

use nt_processor::layout::UNICODE_STRING;
use nt_processor::memory::{Fault, GuestPtr};

use crate::{kernel, lock};

/// Allocates a string.
pub fn new_string(text: &str) -> Result<GuestPtr<UNICODE_STRING>, Fault> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let size = units.len() as u16 * 2;
    let (string, buffer): (GuestPtr<UNICODE_STRING>, GuestPtr<u16>) = {
        let mut pool = lock(&kernel().pool);
        (pool.new_object(), pool.new_objects(units.len() as u64 + 1))
    };
    buffer.write_all(&units)?;
    string.set(size, size + 2, buffer)?;
    Ok(string)
}
