//! `doctor`: why a provider does not show up, from the sessions that run or from a trace file.
//!
//! Every check states what it saw. What ETW does not tell, such as the filters of a request, is `unknown` and never guessed.

mod file;
mod live;

use std::fmt::Write as _;

use etw_types::session::enable::IGNORE_KEYWORD_0;
use etw_types::{Keyword, Level};

use crate::cli::{Doctor, Missed};
use crate::context::{Context, Failure};
use crate::output::{Json, object, plain};

/// What a check says about the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// This is not why.
    Good,
    /// This alone keeps events away.
    Problem,
    /// This keeps some events away.
    Possible,
    /// Nobody can say from here.
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

/// The checks, in the order in which an event meets them.
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
            // Writing to a text cannot fail. Names are those of strangers: what controls a terminal is escaped.
            let _ = writeln!(text, "{:8}  {about}: {}", verdict.word(), plain(&finding.as_str().into()));
            if let Some(advice) = advice {
                let _ = writeln!(text, "{:8}  -> {}", "", plain(&advice.as_str().into()));
            }
            text
        })
    }
}

/// What is known of a request: from a session's point of view.
#[derive(Clone, Copy, Debug)]
struct Asked {
    level: Level,
    any: u64,
    all: u64,
    property: u32,
}

impl Missed {
    /// Whether the request takes the missed event's level, or every level if that is not known. 0 in a request is everything.
    fn check_level(&self, asked: Asked, session: &str, checks: &mut Checks) {
        let limit = asked.level.as_int();
        let wanted = self.level.unwrap_or(Level::Verbose).as_int();
        let takes_it = limit == 0 || wanted <= limit;
        let finding = match limit {
            0 | 255 => format!("{session} takes every level"),
            limit => format!("{session} takes events up to level {limit}"),
        };
        match (takes_it, self.level) {
            (true, _) => checks.add("level", Verdict::Good, finding),
            (false, Some(_)) => {
                let finding = format!("{finding}; the event has level {wanted}");
                checks.advise("level", Verdict::Problem, finding, format!("enable it with --level {wanted}"));
            }
            (false, None) => {
                let advice = "enable it with --level all; doctor --level LEVEL checks the level of one event";
                checks.advise("level", Verdict::Possible, finding, advice);
            }
        }
    }

    /// The same of the keywords. An event without keyword passes the masks, unless the request says otherwise.
    fn check_keywords(&self, asked: Asked, session: &str, checks: &mut Checks) {
        // An empty mask asks a modern provider for everything.
        let any = if asked.any == 0 { u64::MAX } else { asked.any };
        let leaves_0_out = asked.property & IGNORE_KEYWORD_0 != 0;
        let mut finding = match (any, asked.all) {
            (u64::MAX, 0) => format!("{session} takes every keyword"),
            (any, 0) => format!("{session} takes events with a keyword of {any:#x}"),
            (u64::MAX, all) => format!("{session} takes events with all keywords of {all:#x}"),
            (any, all) => format!("{session} takes events with a keyword of {any:#x} and all of {all:#x}"),
        };
        finding.push_str(if leaves_0_out { ", and none without keyword" } else { "" });
        let takes = |keyword: u64| {
            if keyword == 0 { !leaves_0_out } else { Keyword::from_bits(keyword).matches(any, asked.all) }
        };
        match self.keyword {
            Some(keyword) if takes(keyword) => checks.add("keywords", Verdict::Good, finding),
            Some(0) => {
                let advice = "enable it without the property ignore-keyword-0, or give the event a keyword";
                checks.advise("keywords", Verdict::Problem, finding, advice);
            }
            Some(keyword) => {
                let finding = format!("{finding}; the event has {keyword:#x}");
                let advice = format!("enable it with --any {:#x} and without --all", asked.any | keyword);
                checks.advise("keywords", Verdict::Problem, finding, advice);
            }
            None if any == u64::MAX && asked.all == 0 && !leaves_0_out => {
                checks.add("keywords", Verdict::Good, finding);
            }
            None => {
                let advice = "enable it without --any and --all; doctor --keyword MASK checks the keyword of one event";
                checks.advise("keywords", Verdict::Possible, finding, advice);
            }
        }
    }
}

/// Says why a provider does not show up.
pub(super) fn doctor(context: &Context<'_>, line: &Doctor) -> Result<(), Failure> {
    let (source, checks, read) = match &line.file {
        Some(path) => {
            let (checks, read) = file::checks(path, &line.provider, &line.missed)?;
            (path.display().to_string(), checks, read)
        }
        None => {
            let checks = live::checks(context.machine, &line.provider, line.session.as_deref(), &line.missed);
            (context.machine.description().to_owned(), checks, Ok(()))
        }
    };
    let problems = checks.problems();
    let (name, guid) = (line.provider.name.as_str(), line.provider.guid.to_string());
    if context.is_json {
        context.record(vec![
            ("provider", name.into()),
            ("provider_id", guid.into()),
            ("source", source.into()),
            ("problems", problems.into()),
            ("checks", checks.json()),
        ])?;
    } else {
        context.done(&format!("provider {name} ({guid}), {source}\n\n{}", checks.text().trim_end()))?;
        context.caveat();
    }
    read?;
    if problems == 0 { Ok(()) } else { Err(Failure::Reported(command_line::exit::FAILED)) }
}
