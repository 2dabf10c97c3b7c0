//! A report to read.

use std::fmt::Write as _;

use super::Report;
use crate::api::Event;

/// Events, output and findings, one line each.
pub(crate) fn text(report: &Report, events: &[Event], lost: u64, debug_output: bool) -> String {
    let mut out = String::new();
    if !events.is_empty() {
        let _ = writeln!(out, "events ({})", events.len());
        for event in events {
            let milliseconds = event.timestamp / 10_000;
            let _ = writeln!(out, "  {milliseconds:>6} ms  {:>2}  {event}", event.descriptor.level.as_int());
        }
    }
    if lost != 0 {
        let _ = writeln!(out, "{lost} events were lost");
    }
    if debug_output && !report.output().is_empty() {
        let _ = writeln!(out, "debug output");
        for line in report.output().lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    match report.findings() {
        [] => out.push_str("no findings\n"),
        findings => {
            let _ = writeln!(out, "findings ({})", findings.len());
            for finding in findings {
                let _ = writeln!(out, "  {:<22} {}", finding.rule, finding.detail);
                if let Some(routine) = &finding.routine {
                    let _ = writeln!(out, "  {:<22} in {routine}, IRQL {}", "", finding.irql);
                }
                if let Some(place) = &finding.place {
                    let _ = writeln!(out, "  {:<22} at {place}", "");
                }
                for caller in &finding.stack {
                    let _ = writeln!(out, "  {:<22}   called from {caller}", "");
                }
            }
        }
    }
    out
}
