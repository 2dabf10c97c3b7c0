//! Reads two descriptions of the same interface: bindgen's output for the kit, and the sources of windows-sys.

pub(crate) mod metadata;
pub(crate) mod module;
