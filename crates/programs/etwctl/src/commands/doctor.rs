//! `doctor`: explains why the events of a provider are missing, in running sessions or in a trace file.
//!
//! Every check states what it found. What ETW does not report, such as the filters of a request, is `unknown` and never guessed.

mod file;
mod live;

use std::fmt::Write as _;
use std::path::PathBuf;

use command_line::escaped;
use etw_types::session::enable::IGNORE_KEYWORD_0;
use etw_types::{Keyword, Level};

use crate::cli::{Doctor, Missed};
use crate::context::Context;
use crate::failure::Failure;
use crate::output::{Json, cell_text, object};

/// The maximum number of other providers of a file that are named.
const MAX_OTHERS: usize = 5;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// This is not the cause.
    Good,
    /// This alone keeps the events away.
    Problem,
    /// This can keep some events away.
    Possible,
    /// ETW does not report it.
    Unknown,
}

impl Verdict {
    const fn word(self) -> &'static str {
        match self {
            Self::Good => "ok",
            Self::Problem => "problem",
            Self::Possible => "possible",
            Self::Unknown => "unknown",
        }
    }
}

/// The checks: subject, result, finding and advice.
#[derive(Debug, Default)]
struct Checks(Vec<(&'static str, Verdict, String, Option<String>)>);

impl Checks {
    fn add(&mut self, about: &'static str, verdict: Verdict, finding: impl Into<String>) {
        self.0.push((about, verdict, finding.into(), None));
    }

    fn advise(&mut self, about: &'static str, verdict: Verdict, finding: impl Into<String>, advice: impl Into<String>) {
        self.0.push((about, verdict, finding.into(), Some(advice.into())));
    }

    fn problems(&self) -> usize {
        self.0.iter().filter(|(_, verdict, ..)| *verdict == Verdict::Problem).count()
    }

    fn json(&self) -> Json {
        let check = |(about, verdict, finding, advice): &(&'static str, Verdict, String, Option<String>)| {
            object([
                ("check", (*about).into()),
                ("result", verdict.word().into()),
                ("finding", finding.as_str().into()),
                ("advice", advice.clone().into()),
            ])
        };
        self.0.iter().map(check).collect()
    }

    fn text(&self) -> String {
        self.0.iter().fold(String::new(), |mut text, (about, verdict, finding, advice)| {
            // Writing to a string cannot fail. Names come from traces and other programs, so control characters are escaped.
            let _ = writeln!(text, "{:8}  {about}: {}", verdict.word(), cell_text(&finding.as_str().into()));
            if let Some(advice) = advice {
                let _ = writeln!(text, "{:8}  -> {}", "", cell_text(&advice.as_str().into()));
            }
            text
        })
    }
}

/// What a session requested from a provider.
#[derive(Clone, Copy, Debug)]
struct Requested {
    level: Level,
    any: u64,
    all: u64,
    property: u32,
}

impl Missed {
    /// Checks whether the request accepts the level of the missing event, or level 5 if that is not known. Level 0 in a request
    /// accepts every event.
    fn check_level(&self, requested: Requested, session: &str, checks: &mut Checks) {
        let limit = requested.level.as_int();
        let wanted = self.level.unwrap_or(Level::Verbose).as_int();
        let takes_it = limit == 0 || wanted <= limit;
        let finding = match limit {
            0 | 255 => format!("{session} accepts every level"),
            limit => format!("{session} accepts events up to level {limit}"),
        };
        match (takes_it, self.level) {
            (true, _) => checks.add("level", Verdict::Good, finding),
            (false, Some(_)) => {
                let finding = format!("{finding}; the event has level {wanted}");
                checks.advise("level", Verdict::Problem, finding, format!("enable the provider with --level {wanted}"));
            }
            (false, None) => {
                let advice = "enable the provider with --level all; doctor --level LEVEL checks the level of one event";
                checks.advise("level", Verdict::Possible, finding, advice);
            }
        }
    }

    /// Checks the keywords in the same way. An event without a keyword passes the masks, unless the request has the property
    /// `ignore-keyword-0`.
    fn check_keywords(&self, requested: Requested, session: &str, checks: &mut Checks) {
        // For a provider that is not classic, an empty mask accepts every keyword.
        let any = if requested.any == 0 { u64::MAX } else { requested.any };
        let leaves_0_out = requested.property & IGNORE_KEYWORD_0 != 0;
        let mut finding = match (any, requested.all) {
            (u64::MAX, 0) => format!("{session} accepts every keyword"),
            (any, 0) => format!("{session} accepts events with a keyword of {any:#x}"),
            (u64::MAX, all) => format!("{session} accepts events with all keywords of {all:#x}"),
            (any, all) => format!("{session} accepts events with a keyword of {any:#x} and all of {all:#x}"),
        };
        finding.push_str(if leaves_0_out { ", but no events without a keyword" } else { "" });
        let takes = |keyword: u64| {
            if keyword == 0 { !leaves_0_out } else { Keyword::from_bits(keyword).matches(any, requested.all) }
        };
        match self.keyword {
            Some(keyword) if takes(keyword) => checks.add("keywords", Verdict::Good, finding),
            Some(0) => {
                let advice = "enable the provider without the property ignore-keyword-0, or give the event a keyword";
                checks.advise("keywords", Verdict::Problem, finding, advice);
            }
            Some(keyword) => {
                let finding = format!("{finding}; the event has keyword {keyword:#x}");
                let advice = format!("enable the provider with --any {:#x} and without --all", requested.any | keyword);
                checks.advise("keywords", Verdict::Problem, finding, advice);
            }
            None if any == u64::MAX && requested.all == 0 && !leaves_0_out => {
                checks.add("keywords", Verdict::Good, finding);
            }
            None => {
                let advice = "enable the provider without --any and --all; doctor --keyword MASK checks the keyword of one event";
                checks.advise("keywords", Verdict::Possible, finding, advice);
            }
        }
    }
}

/// Explains why the events of a provider are missing.
pub(super) fn doctor(context: &Context<'_>, line: &Doctor) -> Result<(), Failure> {
    // `doctor FILE` is about the provider that the file has.
    let only = PathBuf::from(&line.provider.name);
    let file = line.file.clone().or_else(|| (line.session.is_none() && only.is_file()).then(|| only.clone()));
    let provider = match &file {
        Some(path) if line.file.is_none() => {
            let (provider, others) = file::provider(path)?;
            if !others.is_empty() {
                let some: Vec<&str> = others.iter().map(String::as_str).take(MAX_OTHERS).collect();
                let more = if others.len() > MAX_OTHERS { ", …" } else { "" };
                command_line::note(&format!("the file also has events of {}{more}", some.join(", ")));
            }
            provider
        }
        _ => line.provider.clone(),
    };
    let (source, checks, read) = if let Some(path) = &file {
        let (checks, read) = file::checks(path, &provider, &line.missed)?;
        (path.display().to_string(), checks, read)
    } else {
        let checks = live::checks(context.machine, &provider, line.session.as_deref(), &line.missed);
        (context.machine.description().to_owned(), checks, Ok(()))
    };
    let problems = checks.problems();
    let name = provider.name.as_str();
    let guid = provider.guid.to_string();
    if context.is_json {
        context.record(vec![
            ("provider", name.into()),
            ("provider_id", guid.into()),
            ("source", source.into()),
            ("problems", problems.into()),
            ("checks", checks.json()),
        ])?;
    } else {
        let name = escaped(name);
        let source = escaped(&source);
        context.done(&format!("provider {name} ({guid}), {source}\n\n{}", checks.text().trim_end()))?;
        context.caveat();
    }
    read?;
    if problems == 0 { Ok(()) } else { Err(Failure::Reported(command_line::exit::FAILED)) }
}
