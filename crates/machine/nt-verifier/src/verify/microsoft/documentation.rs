//! The page of the documentation about Microsoft's rules: the options of Driver Verifier, and the tables.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use super::MicrosoftRule;

const HEAD: &str = "\
# Microsoft's rules

Microsoft's documentation has a page for each rule that Static Driver Verifier or Driver Verifier checks. These tables say what nt-host does about each rule: the
[rule of nt-host](testing-with-nt-host.md) that checks it, or why nothing does. A finding names Microsoft's rules beside that of nt-host, in the text with a link and in
JSON as `microsoft`. For each rule that is checked there is a driver in `crates/machine/nt-host/drivers/c` that breaks it, and the same driver without the mistake is clean. A
test generates this page from the tables in `crates/machine/nt-verifier/src/verify/microsoft`.

nt-host checks what a driver does in a run. Static Driver Verifier proves something about every path through the source: a rule that nt-host checks can still be broken on
a path that no request took.

## Options of Driver Verifier

| option | nt-host |
|---|---|
| special pool | always: an access outside of an allocation, or after it was freed, is a finding |
| force IRQL checking, additional IRQL checking | always: pageable pool and sections are inaccessible at `DISPATCH_LEVEL`, and the IRQL of every call is compared with the limit of the routine |
| pool tracking | always: an allocation that is left at unload is a finding, with the line that allocated it |
| I/O verification | always: the life of every IRP, its stack locations, buffers, cancellation and completion |
| deadlock detection | always: the order of spin locks, fast mutexes and the framework's spin locks; one order and its opposite suffice |
| DMA checking | nothing: the transfers of DMA adapters are not modelled |
| security checks | nothing |
| miscellaneous checks | freed memory that contains a set timer, a work item that is freed while it is queued, and handles that are left at unload are findings |
| DDI compliance checking | the rules below that are marked with *run time* |
| DDI compliance checking (additional) | the other rules below |
| WDF verification | `--framework-verifier` switches on that of Microsoft's framework; the model of the framework always checks |
| randomized low resources simulation | `--seed N`: calls fail at random, the same ones for the same number |
| systematic low resources simulation | `nt-host matrix` fails every call that can fail, one in each run; `--fail ROUTINE@N` fails one |
| force pending I/O requests | `--below any=0@1ms`: the device below returns `STATUS_PENDING` and completes requests later |
| IRP logging | nothing; findings have the calls that led to them |
| invariant MDL checking | the MDL of a request that is completed must be its own; the contents of buffers are not compared |
| power framework delay fuzzing | nothing |
| port/miniport interface checking, VM switch verification | nothing: the port drivers are not modelled |
| kernel synchronization delay fuzzing | `--together 2@N` and `nt-host fuzz` vary which thread continues at a call; `--races` delays events to expose races with unregistering |
| code integrity checks | at load: an image that memory integrity would refuse has a note |
| driver isolation checks | nothing |
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for (set, title) in [("wdm", "WDM"), ("kmdf", "KMDF")] {
        let rules: Vec<&MicrosoftRule> = MicrosoftRule::all().filter(|rule| rule.set == set).collect();
        let checked = rules.iter().filter(|rule| rule.is_checked()).count();
        let _ = write!(page, "\n## {title}\n\nnt-host checks {checked} of {} rules.\n\n", rules.len());
        page.push_str("| rule | group | nt-host |\n|---|---|---|\n");
        for rule in rules {
            let ours: Vec<String> = rule.rules.iter().map(|rule| format!("`{rule}`")).collect();
            let how = if ours.is_empty() { rule.reason.to_owned() } else { ours.join(", ") };
            let run_time = if rule.at_run_time { ", run time" } else { "" };
            let _ = writeln!(page, "| [{}]({}) | {}{run_time} | {how} |", rule.name, rule.url(), rule.group);
        }
    }
    page
}

/// Run with `UPDATE_DOCS=1 cargo test -p nt-verifier documentation` to write the page.
#[test]
fn the_page_about_rules_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/rules.md");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page()).expect("the page can be written");
    }
    let current = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(current == page(), "docs/rules.md is stale: run this test with UPDATE_DOCS=1");
}
