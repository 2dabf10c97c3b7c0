//! Reading two descriptions of the same interface: bindgen's output for the kit, and windows-sys' sources.

pub(crate) mod metadata;
pub(crate) mod module;
