//! Names for the return addresses of stacks, from images and symbols.

use std::fmt;

/// Names the return addresses of stacks.
pub trait FrameNames: fmt::Debug + Send + Sync {
    /// Returns the functions that contain an address of a process, the innermost inlined function first. Returns the image and
    /// the offset if no function is known, and nothing if no image is known either.
    fn names(&self, process: u32, address: u64) -> Vec<String>;

    /// Does the same for the time of an event: a time stamp in the session's clock. Without an implementation, names do not depend
    /// on the time.
    fn names_at(&self, process: u32, stamp: u64, address: u64) -> Vec<String> {
        let _ = stamp;
        self.names(process, address)
    }
}
