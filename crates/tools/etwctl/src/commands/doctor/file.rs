//! A trace file: whether the provider is in it, and what of it.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use etw_etl::format::logfile::LogfileHeader;
use etw_etl::{EventRef, Report};
use etw_types::session::mode;
use etw_types::{Guid, traits};

use super::Checks;
use super::Verdict::{Good, Possible, Problem, Unknown};
use crate::cli::Missed;
use crate::context::Failure;
use crate::input::{Progress, Schemas, Traces};
use crate::values::{Provider, counted, hint};

/// Providers whose names are kept.
const MOST_PROVIDERS: usize = 10_000;

/// What a trace has of the provider.
#[derive(Debug, Default)]
struct Seen {
    events: u64,
    /// Events of the level and the keyword that are missed.
    missed: u64,
    levels: BTreeSet<u8>,
    keywords: u64,
    /// The first traits, with what is wrong with them.
    traits: Option<Result<Option<Guid>, String>>,
    /// All providers that have names.
    names: HashMap<Arc<str>, Guid>,
}

impl Seen {
    fn add(&mut self, event: &EventRef<'_>, missed: &Missed) {
        let descriptor = &event.header.descriptor;
        let (level, keyword) = (descriptor.level, descriptor.keyword.bits());
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
            self.traits = Some(match traits::validate(blob) {
                Ok(traits) => Ok(traits.group()),
                Err(error) => Err(error.to_string()),
            });
        }
    }

    fn check(&self, provider: &Provider, missed: &Missed, checks: &mut Checks) {
        if self.events == 0 {
            let same = self.names.iter().find(|(name, _)| name.eq_ignore_ascii_case(&provider.name));
            match same {
                Some((name, guid)) => {
                    let finding = format!("events of a provider '{name}' have the id {guid}, not that of the name");
                    checks.advise("provider", Problem, finding, format!("etwctl doctor {guid} FILE"));
                }
                None => {
                    let finding = format!("no event of this id{}", hint(&provider.name, self.names.keys()));
                    let advice = "etwctl stats FILE lists what is there; record again, and see etwctl doctor PROVIDER \
                                  while the session runs";
                    checks.advise("provider", Problem, finding, advice);
                }
            }
            return;
        }
        checks.add("provider", Good, counted(self.events, "event"));
        if self.missed == 0 {
            let advice = "the session asked for less, or the driver wrote no such event";
            checks.advise("event", Problem, "none of this level and keyword", advice);
        } else if missed.level.is_some() || missed.keyword.is_some() {
            checks.add("event", Good, format!("{} of this level and keyword", counted(self.missed, "event")));
        }
        let levels: Vec<String> = self.levels.iter().map(u8::to_string).collect();
        checks.add("level", Good, format!("events have the levels {}", levels.join(", ")));
        checks.add("keywords", Good, format!("events have keywords of {:#x}", self.keywords));
        match &self.traits {
            None => checks.add("traits", Unknown, "its events carry none: they are not TraceLogging's"),
            Some(Ok(None)) => checks.add("traits", Good, "they name no group"),
            Some(Ok(Some(group))) => checks.add("traits", Good, format!("they name group {group}")),
            Some(Err(error)) => {
                let advice =
                    "make them with define_provider!; Windows refuses malformed ones, and then the group is not set";
                checks.advise("traits", Problem, format!("they are malformed: {error}"), advice);
            }
        }
    }
}

/// Reads the file. The other result is whether all of it could be read.
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
        } else if seen.names.len() < MOST_PROVIDERS
            && let Some(name) = decoder.identify(&event).provider
        {
            seen.names.insert(name, guid);
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
        "a trace does not say which providers, levels, keywords and filters were asked for",
    );
    Ok((checks, traces.check()))
}

/// What the trace says about its session.
fn session(header: &LogfileHeader, report: &Report, checks: &mut Checks) {
    let named = mode::NAMES.iter().filter(|(_, bit)| header.log_file_mode & bit != 0);
    let modes: Vec<&str> = named.map(|(name, _)| *name).collect();
    let finding = format!("session '{}', modes: {}", header.logger_name, modes.join(" "));
    if header.log_file_mode & mode::CIRCULAR != 0 {
        let advice = "a larger file, or one that is not circular";
        checks.advise("session", Possible, format!("{finding}; the oldest events are overwritten"), advice);
    } else {
        checks.add("session", Good, finding);
    }
    let (events, buffers, bytes) = (report.events_lost, report.buffers_lost, report.lost_bytes);
    if events == 0 && buffers == 0 && bytes == 0 {
        checks.add("losses", Good, "nothing is lost");
    } else {
        let finding = format!("the session lost {events} events and {buffers} buffers; {bytes} bytes cannot be read");
        checks.advise("losses", Possible, finding, "more or larger buffers, or fewer keywords");
    }
}
