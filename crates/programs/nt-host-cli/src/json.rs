//! The machine-readable report.

use etw_etl::{Decoder, Event, Format};
use serde_json::{Value, json};

use super::progress::{Progress, Sent, Verdict};
use super::text::export;
use nt_host::{Finding, Gap, HardwareAccess, HardwareLog, Location, MicrosoftRule, Mistake, Register, Report, Survey};

/// The version of the report. It is incremented when members or their meaning change.
pub(super) const SCHEMA: u32 = 1;

/// Returns the report as one object: the outcome, the requests, the findings, the events, the debug output.
pub(super) fn json(
    verdict: &Verdict,
    progress: &Progress,
    notes: &[String],
    report: &Report,
    (events, decoder): (&[Event], Decoder),
    lost: u64,
    hardware: &HardwareLog,
) -> String {
    // One object per event, as in exported trace files.
    let events = export(events, decoder, Format::JsonLines);
    let events: Vec<Value> = events.lines().map(|line| line.parse().unwrap_or_else(|_| line.into())).collect();
    let value = json!({
        "schema_version": SCHEMA,
        "outcome": verdict.text,
        "result": verdict.result,
        "unloaded": progress.unloaded == Some(true),
        "requests": progress.requests.iter().map(request).collect::<Vec<_>>(),
        "memory": progress.memory.iter().map(memory).collect::<Vec<_>>(),
        "notes": notes,
        "findings": report.findings().iter().map(finding).collect::<Vec<_>>(),
        "other_findings": report.other_findings().iter().map(finding).collect::<Vec<_>>(),
        "gaps": report.gaps().iter().map(gap).collect::<Vec<_>>(),
        "events": events,
        "lost": lost,
        "findings_cut": report.losses().findings,
        "hardware": hardware.accesses.iter().map(access).collect::<Vec<_>>(),
        "hardware_dropped": hardware.dropped,
        "output": report.output(),
        "output_dropped": report.losses().output,
    });
    value.to_string()
}

/// Returns the result of `matrix` as one object.
pub(super) fn survey(survey: &Survey) -> Value {
    let mistake = |mistake: &Mistake<'_>| json!({ "text": mistake.text, "origin": mistake.origin(), "finding": mistake.finding.map(finding) });
    json!({
        "schema_version": SCHEMA,
        "outcome": survey.summary(),
        "failures": survey.failures,
        "seeds": survey.seeds,
        "mistakes": survey.mistakes().iter().map(mistake).collect::<Vec<_>>(),
        "losses": survey.losses().collect::<Vec<_>>(),
        "gaps": survey.gaps.iter().map(gap).collect::<Vec<_>>(),
    })
}

fn request(request: &Sent) -> Value {
    json!({
        "kind": request.what,
        "code": format!("0x{:08X}", request.code),
        "status": format!("0x{:08X}", request.status.as_int()),
        "output": request.output,
        "sent": request.arrived,
    })
}

fn memory((address, data): &(u64, String)) -> Value {
    json!({ "address": format!("{address:#x}"), "data": data })
}

fn access(access: &HardwareAccess) -> Value {
    let (space, address) = match access.register {
        Register::Port(port) => ("port", port.into()),
        Register::Memory(address) => ("memory", address),
    };
    let direction = if access.is_write { "write" } else { "read" };
    json!({
        "space": space,
        "address": format!("{address:#x}"),
        "access": direction,
        "width": access.width,
        "value": format!("{:#x}", access.value),
    })
}

fn gap(gap: &Gap) -> Value {
    json!({ "kind": gap.kind.id(), "detail": gap.detail, "advice": gap.advice })
}

fn microsoft(rule: &MicrosoftRule) -> Value {
    json!({ "set": rule.set, "name": rule.name, "url": rule.url() })
}

pub(super) fn finding(finding: &Finding) -> Value {
    let location = finding.location.as_ref();
    let caller = |location: &Location| {
        json!({
            "image": location.image, "rva": location.rva, "section": location.section, "symbol": location.symbol, "offset": location.offset,
            "file": location.file, "line": location.line, "inlined": location.is_inlined,
        })
    };
    json!({
        "rule": finding.rule.id(),
        "microsoft": finding.microsoft.iter().copied().map(microsoft).collect::<Vec<_>>(),
        "image": finding.image,
        "routine": finding.routine,
        "irql": finding.irql,
        "detail": finding.detail,
        "rva": location.map(|location| location.rva),
        "section": location.map(|location| &location.section),
        "symbol": location.map(|location| &location.symbol),
        "offset": location.map(|location| location.offset),
        "file": location.map(|location| &location.file),
        "line": location.map(|location| location.line),
        "inner": finding.inner.iter().map(caller).collect::<Vec<_>>(),
        "stack": finding.stack.iter().map(caller).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use command_line::exit::FINDINGS;
    use etw_types::NtStatus;

    use super::{Progress, Sent, Verdict, json};
    use nt_host::{
        Finding, Gap, GapKind, HardwareAccess, HardwareLog, Location, MicrosoftRule, Register, Report, Rule,
    };

    #[test]
    fn a_report_becomes_one_object() {
        let location = Location { rva: 16, symbol: Some("f".into()), line: Some(3), ..Location::default() };
        let caller = Location { rva: 32, symbol: Some("g".into()), file: Some("g.c".into()), ..Location::default() };
        let finding = Finding {
            rule: Rule::PoolLeak,
            microsoft: MicrosoftRule::all().take(1).collect(),
            image: None,
            routine: None,
            location: Some(location),
            inner: Vec::new(),
            stack: vec![caller],
            irql: 0,
            detail: "16 bytes".into(),
        };
        let gap = Gap { kind: GapKind::NotReached, detail: "read".into(), advice: vec!["try".into()] };
        let parts = vec![nt_machine::Printed { text: "hi".into(), is_host: false }];
        let report = Report::new(vec![finding], parts).with_gaps(vec![gap]);
        let what = "ioctl";
        let status = NtStatus::Success;
        let sent = Sent { what, code: 0x0022_2000, status, output: "0a".into(), arrived: true };
        let mut progress = Progress::mute();
        progress.requests.push(sent);
        progress.memory.push((0x1000_0000, "0b".into()));
        let register = Register::Port(0x378);
        let access = HardwareAccess { register, width: 1, is_write: true, value: 0x41 };
        let hardware = HardwareLog { accesses: vec![access], dropped: 2 };
        let verdict = Verdict::new(FINDINGS, "1 finding");
        assert_eq!(
            json(&verdict, &progress, &["note".into()], &report, (&[], etw_etl::Decoder::default()), 0, &hardware),
            "{\"schema_version\":1,\"outcome\":\"1 finding\",\"result\":\"findings\",\"unloaded\":false,\"requests\":[{\"kind\":\"ioctl\",\"code\":\"0x00222000\",\"status\":\"0x00000000\",\"output\":\"0a\",\"sent\":true}],\
             \"memory\":[{\"address\":\"0x10000000\",\"data\":\"0b\"}],\"notes\":[\"note\"],\"findings\":[{\"rule\":\"pool-leak\",\"microsoft\":[{\"set\":\"wdm\",\"name\":\"DebugBreakUsage\",\"url\":\"https://learn.microsoft.com/windows-hardware/drivers/devtest/wdm-debugbreakusage\"}],\"image\":null,\"routine\":null,\"irql\":0,\
             \"detail\":\"16 bytes\",\"rva\":16,\"section\":null,\"symbol\":\"f\",\"offset\":null,\"file\":null,\"line\":3,\
             \"inner\":[],\"stack\":[{\"image\":null,\"rva\":32,\"section\":null,\"symbol\":\"g\",\"offset\":null,\"file\":\"g.c\",\"line\":null,\
             \"inlined\":false}]}],\"other_findings\":[],\"gaps\":[{\"kind\":\"not-reached\",\"detail\":\"read\",\"advice\":[\"try\"]}],\"events\":[],\"lost\":0,\"findings_cut\":0,\
             \"hardware\":[{\"space\":\"port\",\"address\":\"0x378\",\"access\":\"write\",\"width\":1,\"value\":\"0x41\"}],\"hardware_dropped\":2,\
             \"output\":\"hi\",\"output_dropped\":0}"
        );
    }
}
