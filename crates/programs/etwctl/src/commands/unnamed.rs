//! Counts events without a schema, and says which option would provide it. If the trace names the provider's binary, the note
//! does, too.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use etw_etl::{EventRef, Kind, escaped};
use etw_types::Guid;

use crate::values::counted;

/// The maximum number of providers without schemas that get a note of their own.
const MAX_NOTES: usize = 10;
/// The maximum number of providers that are counted.
const MAX_PROVIDERS: usize = 10_000;

/// Events without a schema, by their providers.
#[derive(Debug, Default)]
pub(super) struct Unnamed {
    providers: HashMap<(Kind, Option<Guid>), (Option<String>, u64)>,
    /// The binaries of providers, by the records of sessions that track them.
    binaries: HashMap<Guid, Arc<str>>,
}

impl Unnamed {
    /// Remembers the binary of a provider if the event names one. All events of a trace are passed, not only the selected ones.
    pub(super) fn look_at(&mut self, event: &EventRef<'_>) {
        if let Some((providers, path)) = event.provider_binary() {
            let path: Arc<str> = path.into();
            let space = MAX_PROVIDERS.saturating_sub(self.binaries.len());
            self.binaries.extend(providers.into_iter().take(space).map(|provider| (provider, Arc::clone(&path))));
        }
    }

    /// Counts an event; `name` is the name of its provider, if it is known.
    pub(super) fn add(&mut self, event: &EventRef<'_>, name: Option<&str>) {
        let key = (event.kind(), event.class());
        if self.providers.len() >= MAX_PROVIDERS && !self.providers.contains_key(&key) {
            return;
        }
        let (known, count) = self.providers.entry(key).or_default();
        if known.is_none() {
            *known = name.map(str::to_owned);
        }
        *count += 1;
    }

    /// Prints notes that say how to get the schemas.
    pub(super) fn print_notes(self) {
        let mut providers: Vec<_> = self.providers.into_iter().collect();
        providers.sort_by_key(|(_, (_, events))| Reverse(*events));
        let notes = providers.iter().filter_map(|((kind, guid), (name, events))| {
            let binary = guid.and_then(|guid| self.binaries.get(&guid));
            note(*kind, *guid, name.as_deref(), *events, binary.map(AsRef::as_ref))
        });
        let notes: Vec<String> = notes.collect();
        notes.iter().take(MAX_NOTES).for_each(|text| command_line::note(text));
        if let Some(more @ 1..) = notes.len().checked_sub(MAX_NOTES) {
            command_line::note(&format!("{more} more providers have events without a schema"));
        }
    }
}

fn note(kind: Kind, guid: Option<Guid>, name: Option<&str>, events: u64, binary: Option<&str>) -> Option<String> {
    let who = match (name, guid) {
        (Some(name), _) => escaped(name).into_owned(),
        (None, Some(guid)) => guid.to_string(),
        (None, None) => return None,
    };
    let (events, has) = (counted(events, "event"), if events == 1 { "has" } else { "have" });
    if let (Kind::Manifest, Some(binary)) = (kind, binary) {
        let binary = escaped(binary);
        return Some(format!(
            "{events} of {who} {has} no schema; the trace says that it is in {binary}: pass --manifest with this file"
        ));
    }
    let what = match kind {
        Kind::Manifest => {
            "--manifest with the provider's manifest (.man) or the binary that contains it (.sys, .dll or .exe)"
        }
        Kind::Wpp => {
            "--pdb with the PDB of the binary that wrote the messages, or --tmf with the TMF file of this GUID"
        }
        Kind::Mof => "the MOF class of this GUID, which is not one of the documented classes of the kernel",
        _ => return None,
    };
    Some(format!("{events} of {who} {has} no schema; needed for decoding: {what}"))
}
