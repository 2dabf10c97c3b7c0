//! The bytes of instructions.

use nt_processor::image;
use nt_processor::memory::{GuestPtr, PAGE};

/// Returns the bytes of an instruction; fewer at the end of a page.
pub(super) fn code_at(address: u64) -> Vec<u8> {
    let readable =
        if image::is_loaded(address) { image::readable_from(address) } else { PAGE - address % PAGE }.min(15);
    GuestPtr::new(address).array(readable).read().unwrap_or_default()
}
