//! A decoder with the schemas of a file.

use std::io::{Read, Seek};
use std::sync::Arc;

use etw_manifest::built_in::BuiltIn;
use etw_manifest::{Layers, Schema};

use super::Reader;
use crate::decode::Decoder;

impl Decoder {
    /// Looks up schemas in the trace, then in `files` in their order, then in the kernel's built-in classes. Names of processes,
    /// threads, files and registry keys come from the trace.
    #[must_use]
    pub fn from_reader<R: Read + Seek>(reader: &Reader<R>, files: impl IntoIterator<Item = Arc<dyn Schema>>) -> Self {
        let mut layers = Layers::new();
        layers.push(reader.schemas());
        files.into_iter().for_each(|files| layers.push(files));
        layers.push(Arc::new(BuiltIn));
        let decoder = Self::new(layers);
        let names = reader.names();
        if names.is_empty() { decoder } else { decoder.with_trace_names(names) }
    }
}
