//! A KMDF driver that changes what its device requires. The expected lines are those of Microsoft's framework 1.9, with which
//! `original` compares all variants of the driver that make no mistake.

use crate::common::c::{FRAMEWORK, Log, build};
use nt_host::{Builder, Error, GapKind, NtHost, Resource, Rule};

/// The variants of the driver: none of its callbacks fails, or one of them does.
pub(crate) const VARIANTS: [u32; 5] = [0, 1, 2, 3, 4];
/// Those in which the driver fails to remove the resources that it added, at the first or the second start.
pub(crate) const FAILED_TO_REMOVE: [u32; 2] = [3, 4];
/// The variants with mistakes: changes lists in wrong ways, does not remove what it adds.
const WRONG_CHANGES: u32 = 5;
const NOT_REMOVED: u32 = 6;

/// Two resources, so that one is left after the driver has removed the other.
pub(crate) fn with_resources(builder: Builder) -> Builder {
    let memory = Resource::Memory { start: 0xFE00_0000, length: 0x1000 };
    builder.resource(Resource::LineInterrupt).resource(memory)
}

fn driver(bug: u32) -> Builder {
    NtHost::builder().driver(build("kmdf_requirements", bug, "FxDriverEntry", &FRAMEWORK)).allow(GapKind::NotStarted)
}

/// Starts a device, stops it and starts it again, and removes it. Returns the results of these steps.
pub(crate) fn steps(host: &NtHost) -> Vec<String> {
    let text = |result: Result<(), Error>| format!("{:?}", result.map_err(|error| error.to_string()));
    match host.add_device() {
        Ok(device) => vec![text(device.rebalance()), text(device.remove())],
        Err(error) => vec![error.to_string()],
    }
}

/// Runs a variant of the driver to its end, and returns its lines.
fn lines(builder: Builder) -> Vec<String> {
    let host = builder.start().expect("DriverEntry");
    steps(&host);
    host.unload().expect("unload").assert_clean();
    Log::default().lines(&host)
}

/// Returns the callbacks that were called, in order.
fn called(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|line| line.split_once(", pnp")).map(|(callback, _)| callback).collect()
}

#[test]
fn a_callback_that_fails_ends_the_filtering_or_the_start() {
    let filters = ["filter, remove", "filter, add"];
    let start = ["remove added", "prepare", "init"];
    let restart = ["release", "remove added", "prepare"];
    let removal = ["release", "flush"];
    let callbacks = |bug| lines(with_resources(driver(bug)));
    let all = [&filters[..], &start, &restart, &removal].concat();
    assert_eq!(called(&callbacks(0)), all);
    // The device gets its resources anyway.
    assert_eq!(called(&callbacks(1)), [&filters[..1], &start, &restart, &removal].concat());
    assert_eq!(called(&callbacks(2)), all);
    assert_eq!(called(&callbacks(3)), [&filters[..], &start[..1]].concat());
    assert_eq!(called(&callbacks(4)), [&filters[..], &start, &restart[..2], &["flush", "surprise"]].concat());
}

#[test]
fn a_device_without_resources_requires_none_and_has_none_to_remove() {
    let lines = lines(driver(0));
    assert_eq!(called(&lines)[..3], ["filter, remove", "filter, add", "prepare"], "{lines:#?}");
    assert_eq!(lines[1], "no list 0");
}

#[test]
fn wrong_changes_of_lists_are_found() {
    for (bug, misuse, arguments) in [
        (
            WRONG_CHANGES,
            &[
                "removes list 5, which the requirements do not have",
                "changes the resources of a device outside of EvtDeviceRemoveAddedResources",
            ][..],
            &["WDF_OBJECT_ATTRIBUTES: ParentObject is set, but the framework chooses the parent of such an object"][..],
        ),
        (NOT_REMOVED, &["EvtDeviceFilterAddResourceRequirements needs EvtDeviceRemoveAddedResources"], &[]),
    ] {
        let host = with_resources(driver(bug)).start().expect("DriverEntry");
        host.add_device().expect("a device").remove().expect("removal");
        let report = host.unload().expect("unload");
        let found = |rule| report.findings_of(rule).map(|finding| &*finding.detail).collect::<Vec<&str>>();
        assert_eq!(found(Rule::FrameworkMisuse), misuse);
        assert_eq!(found(Rule::BadArgument), arguments);
        assert_eq!(report.findings().len(), misuse.len() + arguments.len(), "{report:#?}");
    }
}
