//! Checks of a trace file: whether it has events of the provider, and which.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use etw_etl::format::logfile::LogfileHeader;
use etw_etl::{EventRef, Kind, Report};
use etw_types::session::mode;
use etw_types::traits::TraitsError;
use etw_types::{Guid, traits};

use super::Checks;
use super::Verdict::{Good, Possible, Problem, Unknown};
use crate::cli::Missed;
use crate::failure::Failure;
use crate::input::{Progress, Schemas, Traces};
use crate::values::{Provider, counted, hint};

/// The maximum number of providers whose names are kept.
const MAX_PROVIDERS: usize = 10_000;

/// The provider's events in a trace.
#[derive(Debug, Default)]
struct Seen {
    events: u64,
    /// The number of events with the level and the keyword of the missing event.
    missed: u64,
    levels: BTreeSet<u8>,
    keywords: u64,
    /// The first traits: the group that they name, or what is wrong with them.
    traits: Option<Result<Option<Guid>, TraitsError>>,
    /// The provider's id, if it has the name but another id.
    other_id: Option<Guid>,
    /// The other providers of the trace that have names, with their events.
    names: HashMap<Arc<str>, (Guid, u64)>,
}

impl Seen {
    fn add(&mut self, event: &EventRef<'_>, missed: &Missed) {
        let descriptor = &event.header.descriptor;
        let level = descriptor.level;
        let keyword = descriptor.keyword.bits();
        self.events += 1;
        let is_level = missed.level.is_none_or(|missed| level == missed);
        let is_keyword =
            missed.keyword.is_none_or(|missed| if missed == 0 { keyword == 0 } else { keyword & missed != 0 });
        self.missed += u64::from(is_level && is_keyword);
        self.levels.insert(level.as_int());
        self.keywords |= keyword;
        if self.traits.is_none()
            && let Some(blob) = event.parts().and_then(|parts| parts.traits)
        {
            self.traits = Some(traits::validate(blob).map(|traits| traits.group()));
        }
    }

    fn check(&self, provider: &Provider, missed: &Missed, checks: &mut Checks) {
        if self.events == 0 {
            let finding = format!("no event has this provider id or name{}", hint(&provider.name, self.names.keys()));
            let advice = "etwctl stats FILE lists the providers in the file; record again, and run etwctl doctor PROVIDER \
                          while the session runs";
            checks.advise("provider", Problem, finding, advice);
            return;
        }
        let events = counted(self.events, "event");
        match self.other_id {
            Some(guid) => {
                let finding = format!("{events}; their provider id is {guid}, which is not computed from the name");
                let advice = format!("enable the provider by this id: its name alone leads to {}", provider.guid);
                checks.advise("provider", Possible, finding, advice);
            }
            None => checks.add("provider", Good, events),
        }
        if self.missed == 0 {
            let advice = "the session did not request this level or keyword, or the driver wrote no such event";
            checks.advise("event", Problem, "no event has this level and keyword", advice);
        } else if missed.level.is_some() || missed.keyword.is_some() {
            checks.add("event", Good, format!("{} with this level and keyword", counted(self.missed, "event")));
        }
        let levels: Vec<String> = self.levels.iter().map(u8::to_string).collect();
        checks.add("level", Good, format!("events have the levels {}", levels.join(", ")));
        checks.add("keywords", Good, format!("events have keywords of {:#x}", self.keywords));
        match &self.traits {
            None => checks.add("traits", Unknown, "the events have none: they are not TraceLogging events"),
            Some(Ok(None)) => checks.add("traits", Good, "they name no group"),
            Some(Ok(Some(group))) => checks.add("traits", Good, format!("they name group {group}")),
            Some(Err(error)) => {
                let advice = "use define_provider!; Windows refuses malformed traits, and then the group of the provider is not set";
                checks.advise("traits", Problem, format!("they are malformed: {error}"), advice);
            }
        }
    }
}

/// Reads the file and checks it. The inner result is an error if a part of the file could not be read.
pub(super) fn checks(
    path: &Path,
    provider: &Provider,
    missed: &Missed,
) -> Result<(Checks, Result<(), Failure>), Failure> {
    let mut traces =
        Traces::open(slice::from_ref(&PathBuf::from(path)), &Schemas::default(), Progress::new(false), false)?;
    let mut seen = Seen::default();
    while let Some((event, decoder)) = traces.next() {
        let Some(guid) = event.class() else { continue };
        if guid == provider.guid {
            seen.add(&event, missed);
            continue;
        }
        let Some(name) = decoder.identify(&event).provider else { continue };
        if name.eq_ignore_ascii_case(&provider.name) {
            seen.other_id = Some(guid);
            seen.add(&event, missed);
        } else if seen.names.len() < MAX_PROVIDERS || seen.names.contains_key(&name) {
            seen.names.entry(name).or_insert((guid, 0)).1 += 1;
        }
    }
    traces.done();
    let mut checks = Checks::default();
    if let (Some(header), Some((_, report))) = (traces.header(), traces.reports().next()) {
        session(header, report, &mut checks);
    }
    seen.check(provider, missed, &mut checks);
    checks.add(
        "requests",
        Unknown,
        "a trace does not record which providers, levels, keywords and filters the session requested",
    );
    Ok((checks, traces.check()))
}

/// The provider with the most events in a file, without the kernel and the session itself, and the names of the others.
pub(super) fn provider(path: &Path) -> Result<(Provider, Vec<String>), Failure> {
    let mut traces =
        Traces::open(slice::from_ref(&PathBuf::from(path)), &Schemas::default(), Progress::new(false), false)?;
    let mut providers: HashMap<Guid, (Option<Arc<str>>, u64)> = HashMap::new();
    while let Some((event, decoder)) = traces.next() {
        let is_provider = matches!(event.kind(), Kind::TraceLogging | Kind::Manifest | Kind::Wpp);
        if let Some(guid) = event.class().filter(|_| is_provider)
            && (providers.len() < MAX_PROVIDERS || providers.contains_key(&guid))
        {
            let (name, events) = providers.entry(guid).or_default();
            if name.is_none() {
                *name = decoder.identify(&event).provider;
            }
            *events += 1;
        }
    }
    traces.done();
    let mut all: Vec<_> = providers.into_iter().collect();
    all.sort_by_key(|(guid, (_, events))| (Reverse(*events), *guid));
    let name = |guid: &Guid, name: &Option<Arc<str>>| name.as_deref().map_or_else(|| guid.to_string(), str::to_owned);
    let mut all = all.iter();
    let Some((guid, (own, _))) = all.next() else {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "{path} has no events of a provider; etwctl stats {path} shows what it has"
        )));
    };
    let others = all.map(|(guid, (other, _))| name(guid, other)).collect();
    Ok((Provider { name: name(guid, own), guid: *guid, is_guess: false }, others))
}

/// Checks what the trace records about its session.
fn session(header: &LogfileHeader, report: &Report, checks: &mut Checks) {
    let named = mode::NAMES.iter().filter(|(_, bit)| header.log_file_mode & bit != 0);
    let modes: Vec<&str> = named.map(|(name, _)| *name).collect();
    let finding = format!("session '{}', modes: {}", header.logger_name, modes.join(" "));
    if header.log_file_mode & mode::CIRCULAR != 0 {
        let advice = "use a larger file, or one that is not circular";
        checks.advise("session", Possible, format!("{finding}; the oldest events are overwritten"), advice);
    } else {
        checks.add("session", Good, finding);
    }
    let damage = report.damage();
    if !report.has_session_losses() && damage.is_none() {
        checks.add("losses", Good, "nothing was lost");
    }
    if report.has_session_losses() {
        let events = counted(report.events_lost.into(), "event");
        let buffers = counted(report.buffers_lost.into(), "buffer");
        let finding = format!("the session lost {events} and {buffers}");
        checks.advise("losses", Possible, finding, "use more or larger buffers, or fewer keywords");
    }
    if let Some(damage) = damage {
        checks.advise("losses", Possible, damage, "copy the file again, after its session has stopped");
    }
    if report.is_unclosed {
        let advice = "stop the session, which writes its last buffers, and copy the file then";
        checks.advise("file", Possible, "not closed by its recorder; its last events may be missing", advice);
    }
}
