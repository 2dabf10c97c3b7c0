//! Broken on purpose: what an engine makes of a finding is tested with these.

/// Inputs from this length on are too much.
const LIMIT: usize = 40;

/// As most findings do.
pub(super) fn panic(bytes: &[u8]) {
    assert!(bytes.len() < LIMIT, "broken on purpose");
}

/// As an overflow of the stack, or an allocation that fails: nobody is left to tell.
pub(super) fn abort(bytes: &[u8]) {
    if bytes.len() >= LIMIT {
        std::process::abort();
    }
}
