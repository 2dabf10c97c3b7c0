//! The human-readable report.

use std::fmt::Write as _;
use std::io;

use command_line::escaped;
use etw_etl::{Decoder, Event, Exporter, Format};

use nt_host::{Finding, Gap, Report};

/// Returns the events, the debug output and the findings as text.
pub(super) fn text(
    report: &Report,
    events: &[Event],
    decoder: impl Fn() -> Decoder,
    lost: u64,
    debug_output: bool,
) -> String {
    let mut out = String::new();
    if !events.is_empty() {
        let _ = writeln!(out, "events ({})", events.len());
        out.push_str(&export(events, decoder(), Format::Table));
        out.push_str(&stacks(events, &decoder()));
    }
    if lost != 0 {
        let _ = writeln!(out, "lost {lost} events");
    }
    if debug_output && !report.output().is_empty() {
        let _ = writeln!(out, "debug output");
        for part in report.output_parts() {
            // A line of the driver has a prefix, so that it cannot look like one of the host.
            let prefix = if part.is_host { "" } else { "| " };
            for line in part.text.lines() {
                let _ = writeln!(out, "  {prefix}{}", escaped(line));
            }
        }
    }
    if report.losses().output != 0 {
        let dropped = report.losses().output;
        let _ = writeln!(
            out,
            "dropped {dropped} bytes of debug output after the first {}; --debug-output-limit SIZE keeps more",
            report.output().len()
        );
    }
    match report.findings() {
        [] => out.push_str("no findings\n"),
        findings => {
            let _ = writeln!(out, "findings ({})", findings.len());
            if report.losses().findings != 0 {
                let kept = findings.len();
                let more = report.losses().findings;
                let _ = writeln!(out, "  the first {kept}; {more} more did not fit");
            }
            out.extend(findings.iter().map(described));
        }
    }
    if !report.other_findings().is_empty() {
        let _ = writeln!(out, "findings about other images ({})", report.other_findings().len());
        out.extend(report.other_findings().iter().map(described));
    }
    out.push_str(&gaps(report.gaps()));
    out
}

/// Returns a finding with its calls.
fn described(finding: &Finding) -> String {
    let mut out = String::new();
    let image = finding.image.as_ref().map(|image| format!("{image}: ")).unwrap_or_default();
    let _ = writeln!(out, "  {:<22} {}", finding.rule, escaped(&format!("{image}{}", finding.detail)));
    for rule in &finding.microsoft {
        let _ = writeln!(out, "  {:<22} Microsoft's rule {rule}: {}", "", rule.url());
    }
    if let Some(routine) = &finding.routine {
        let _ = writeln!(out, "  {:<22} in {}, IRQL {}", "", escaped(routine), finding.irql);
    }
    if let Some(place) = &finding.location {
        let _ = writeln!(out, "  {:<22} at {}", "", escaped(&place.to_string()));
    }
    for callee in finding.inner.iter().rev() {
        let _ = writeln!(out, "  {:<22}   through {}", "", escaped(&callee.to_string()));
    }
    for caller in &finding.stack {
        let _ = writeln!(out, "  {:<22}   called from {}", "", escaped(&caller.to_string()));
    }
    out
}

/// Returns the gaps with their advice. Equal gaps are one.
pub(super) fn gaps(gaps: &[Gap]) -> String {
    let mut out = String::new();
    if !gaps.is_empty() {
        let _ = writeln!(out, "gaps ({})", gaps.len());
    }
    for (index, gap) in gaps.iter().enumerate() {
        if gaps.iter().take(index).any(|known| known == gap) {
            continue;
        }
        let count = gaps.iter().filter(|known| *known == gap).count();
        let times = if count == 1 { String::new() } else { format!(" ({count} times)") };
        let _ = writeln!(out, "  {:<22} {}{times}", gap.kind, escaped(&gap.detail));
        for advice in &gap.advice {
            let _ = writeln!(out, "  {:<22} {}", "", escaped(advice));
        }
    }
    out
}

/// Returns the stacks of the events that have one, with the numbers of the events in the table.
fn stacks(events: &[Event], decoder: &Decoder) -> String {
    let mut out = String::new();
    for (number, event) in (1..).zip(events) {
        let frames = decoder.frames(&event.as_ref());
        if frames.is_empty() {
            continue;
        }
        if out.is_empty() {
            out.push_str("stacks\n");
        }
        let _ = writeln!(out, "  event {number}");
        for frame in frames {
            let _ = writeln!(out, "    {}", escaped(&frame));
        }
    }
    out
}

/// Exports events in a trace format.
pub(super) fn export(events: &[Event], decoder: Decoder, format: Format) -> String {
    let write = || -> io::Result<Vec<u8>> {
        let mut exporter = Exporter::new(Vec::new(), format)?.with_decoder(decoder);
        events.iter().try_for_each(|event| exporter.event(event))?;
        exporter.finish()
    };
    // Writing to memory cannot fail, and every format is UTF-8 text.
    String::from_utf8(write().unwrap_or_default()).unwrap_or_default()
}
