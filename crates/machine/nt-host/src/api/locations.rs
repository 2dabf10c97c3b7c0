//! Names and source lines of addresses, in findings and in the stacks of events.

use std::fmt;
use std::sync::Arc;

use etw_etl::{Decoder, FrameNames};
use etw_manifest::SchemaFiles;
use nt_machine::Record;

use super::NtHost;
use crate::report::{Finding, Location};

impl NtHost {
    /// Returns a decoder for the driver's events. It uses the manifest in the driver's image, and resolves stacks to
    /// functions, files and lines.
    #[must_use]
    pub fn decoder(&self) -> Decoder {
        let mut decoder = Decoder::default().with_names(Arc::new(Names(self.clone())));
        let mut files = SchemaFiles::default();
        // Most images have no schemas, because their events are self-describing.
        if files.add(&self.inner().images.driver().path).is_ok() {
            decoder.push(Arc::new(files));
        }
        decoder
    }

    /// Returns what is known about an address of the driver's code, as it appears in an event's stack: the return
    /// address of a call. Returns `None` if the address is not in an image of the last load. If functions were
    /// inlined into each other, returns the innermost one of the driver's own code: see [`NtHost::locate_all`].
    #[must_use]
    pub fn locate(&self, address: u64) -> Option<Location> {
        let mut locations = self.locate_all(address);
        let own = locations.iter().position(|location| location.is_own).unwrap_or_default();
        locations.drain(own..).next()
    }

    /// Returns all functions that an address of the driver's code belongs to, innermost first: those that were inlined,
    /// and the one that was called. Empty if the address is not in an image of the last load.
    #[must_use]
    pub fn locate_all(&self, address: u64) -> Vec<Location> {
        let images = &self.inner().images;
        let found = images.find(&self.inner().process.image_bases(), address);
        found.map(|location| images.locations(location, true)).unwrap_or_default()
    }

    /// Returns a finding with names and lines.
    pub(crate) fn name(&self, record: &Record) -> Finding {
        let images = &self.inner().images;
        let mut finding = Finding {
            rule: record.rule(),
            microsoft: record.microsoft(),
            image: images.name(images.blamed(record)),
            routine: record.routine(),
            location: None,
            inner: Vec::new(),
            stack: Vec::new(),
            irql: record.irql(),
            detail: record.detail(),
        };
        let location =
            record.address().map(|location| images.locations(location, record.is_call())).unwrap_or_default();
        let callers = record.calls().iter().flat_map(|call| images.locations(*call, true));
        finding.set_chain(location.into_iter().chain(callers).collect());
        finding
    }
}

/// Resolves the frames of event stacks.
struct Names(NtHost);

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Names")
    }
}

impl FrameNames for Names {
    fn names(&self, _: u32, address: u64) -> Vec<String> {
        let name = |location: Location| {
            let offset = location.offset.filter(|offset| *offset != 0).map(|offset| format!("+{offset:#x}"));
            let function = location.symbol.as_ref().map(|symbol| format!("{symbol}{}", offset.unwrap_or_default()));
            let image = location.image.as_deref().unwrap_or("image");
            let function = function.unwrap_or_else(|| format!("{image}+{:#x}", location.rva));
            match location.file.zip(location.line) {
                Some((file, line)) => format!("{function} ({file}:{line})"),
                None => function,
            }
        };
        self.0.locate_all(address).into_iter().map(name).collect()
    }
}
