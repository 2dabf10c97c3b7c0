//! A report for programs.

use std::fmt::Write as _;

use etw_etl::{Event, Format};
use etw_types::NtStatus;

use super::Report;
use super::text::export;
use crate::verify::{Finding, Place};

/// One object: the outcome, the requests, the findings, the events, the debug output.
pub(crate) fn json(
    outcome: &str,
    requests: &[(u32, NtStatus, String)],
    report: &Report,
    events: &[Event],
    lost: u64,
) -> String {
    let requests: Vec<String> = requests.iter().map(request).collect();
    let findings: Vec<String> = report.findings().iter().map(finding).collect();
    // One object for each event, as trace files are exported.
    let events = export(events, Format::JsonLines);
    let events: Vec<&str> = events.lines().collect();
    format!(
        "{{\"outcome\":{},\"requests\":[{}],\"findings\":[{}],\"events\":[{}],\"lost\":{lost},\"output\":{}}}",
        string(outcome),
        requests.join(","),
        findings.join(","),
        events.join(","),
        string(report.output())
    )
}

fn request((code, status, output): &(u32, NtStatus, String)) -> String {
    let status = status.as_int();
    format!("{{\"code\":\"0x{code:08X}\",\"status\":\"0x{status:08X}\",\"output\":{}}}", string(output))
}

fn finding(finding: &Finding) -> String {
    let stack: Vec<String> = finding.stack.iter().map(|place| format!("{{{}}}", members(Some(place)))).collect();
    format!(
        "{{\"rule\":{},\"routine\":{},\"irql\":{},\"detail\":{},{},\"stack\":[{}]}}",
        string(finding.rule.id()),
        text(finding.routine.as_ref()),
        finding.irql,
        string(&finding.detail),
        members(finding.place.as_ref()),
        stack.join(","),
    )
}

/// The members of an object that say where.
fn members(place: Option<&Place>) -> String {
    format!(
        "\"rva\":{},\"symbol\":{},\"file\":{},\"line\":{}",
        place.map_or_else(|| "null".into(), |place| place.rva.to_string()),
        text(place.and_then(|place| place.symbol.as_ref())),
        text(place.and_then(|place| place.file.as_ref())),
        place.and_then(|place| place.line).map_or_else(|| "null".into(), |line| line.to_string()),
    )
}

fn text(value: Option<&String>) -> String {
    value.map_or_else(|| "null".into(), |value| string(value))
}

/// A JSON string.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if u32::from(c) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use etw_types::NtStatus;

    use super::{json, string};
    use crate::{Finding, Place, Report, Rule};

    #[test]
    fn strings_are_escaped() {
        assert_eq!(string("a\"b\\c\n\u{1}"), r#""a\"b\\c\n\u0001""#);
    }

    #[test]
    fn a_report_becomes_one_object() {
        let place = Place { rva: 16, symbol: Some("f".into()), file: None, line: Some(3) };
        let caller = Place { rva: 32, symbol: Some("g".into()), file: Some("g.c".into()), line: None };
        let finding = Finding {
            rule: Rule::PoolLeak,
            routine: None,
            place: Some(place),
            stack: vec![caller],
            irql: 0,
            detail: "16 bytes".into(),
        };
        let report = Report::new(vec![finding], "hi".into());
        assert_eq!(
            json("clean", &[(0x0022_2000, NtStatus::Success, "0a".into())], &report, &[], 0),
            "{\"outcome\":\"clean\",\"requests\":[{\"code\":\"0x00222000\",\"status\":\"0x00000000\",\"output\":\"0a\"}],\
             \"findings\":[{\"rule\":\"pool-leak\",\"routine\":null,\"irql\":0,\
             \"detail\":\"16 bytes\",\"rva\":16,\"symbol\":\"f\",\"file\":null,\"line\":3,\"stack\":[\
             {\"rva\":32,\"symbol\":\"g\",\"file\":\"g.c\",\"line\":null}]}],\"events\":[],\"lost\":0,\"output\":\"hi\"}"
        );
    }
}
