//! Events without a schema, and which file would have it.

use std::cmp::Reverse;
use std::collections::HashMap;

use etw_etl::{EventRef, Kind, escaped};
use etw_types::Guid;

/// Providers without schemas that are told one by one.
const MOST_NOTES: usize = 10;
/// Providers that are counted.
const MOST_PROVIDERS: usize = 10_000;

/// Events without a schema, by their providers.
#[derive(Debug, Default)]
pub(super) struct Unnamed {
    providers: HashMap<(Kind, Option<Guid>), (Option<String>, u64)>,
}

impl Unnamed {
    /// Counts an event; `name` is that of its provider, if it is known.
    pub(super) fn add(&mut self, event: &EventRef<'_>, name: Option<&str>) {
        let key = (event.kind(), event.class());
        if self.providers.len() >= MOST_PROVIDERS && !self.providers.contains_key(&key) {
            return;
        }
        let (known, count) = self.providers.entry(key).or_default();
        if known.is_none() {
            *known = name.map(str::to_owned);
        }
        *count += 1;
    }

    /// Says what would name them.
    pub(super) fn tell(self) {
        let mut providers: Vec<_> = self.providers.into_iter().collect();
        providers.sort_by_key(|(_, (_, events))| Reverse(*events));
        let notes =
            providers.iter().filter_map(|((kind, guid), (name, events))| note(*kind, *guid, name.as_deref(), *events));
        let notes: Vec<String> = notes.collect();
        notes.iter().take(MOST_NOTES).for_each(|text| command_line::note(text));
        if let Some(more @ 1..) = notes.len().checked_sub(MOST_NOTES) {
            command_line::note(&format!("{more} more providers have events without a schema"));
        }
    }
}

fn note(kind: Kind, guid: Option<Guid>, name: Option<&str>, events: u64) -> Option<String> {
    let who = match (name, guid) {
        (Some(name), _) => escaped(name).into_owned(),
        (None, Some(guid)) => guid.to_string(),
        (None, None) => return None,
    };
    let what = match kind {
        Kind::Manifest => {
            "--manifest with the provider's manifest (.man) or the binary that contains it (.sys, .dll or .exe)"
        }
        Kind::Wpp => {
            "--pdb with the PDB of the binary that wrote the messages, or --tmf with the TMF file of this GUID"
        }
        Kind::Mof => "the MOF class of this GUID; it is none of the kernel's documented ones",
        _ => return None,
    };
    Some(format!("{events} events of {who} have no schema; what would name them: {what}"))
}
