//! Checks the framework's function table: it is complete, in order, and has the numbers of Microsoft's public sources.

use std::collections::BTreeMap;
use std::env;
use std::fs;

const TABLE: &str = include_str!("../../kit/wdf/functions.txt");

fn names() -> BTreeMap<&'static str, usize> {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (position, rest) = line.split_once(' ').unwrap();
            (rest.split(':').next().unwrap(), position.parse().unwrap())
        })
        .collect()
}

#[test]
fn every_index_is_there_once() {
    let names = names();
    let mut indices: Vec<usize> = names.values().copied().collect();
    indices.sort_unstable();
    assert_eq!(indices, (0..458).collect::<Vec<_>>(), "458 is KMDF 1.33's count");
    assert!(names.keys().all(|name| name.starts_with("Wdf")));
}

/// Checks the three indices that the tests of Microsoft's published `wdk-macros` contain.
#[test]
fn indices_agree_with_those_that_wdk_macros_knows() {
    let names = names();
    assert_eq!(names["WdfDriverCreate"], 116);
    assert_eq!(names["WdfVerifierDbgBreakPoint"], 367);
    assert_eq!(names["WdfCxDeviceInitAllocate"], 396);
}

/// Compares all indices with a copy of the public enumeration (microsoft/Windows-Driver-Frameworks, MIT,
/// `src/publicinc/wdf/kmdf/1.33/wdffuncenum.h`).
#[test]
#[ignore = "needs WDK_KIT_WDFFUNCENUM, the path of wdffuncenum.h"]
fn indices_agree_with_the_public_enumeration() {
    let path = env::var_os("WDK_KIT_WDFFUNCENUM").expect("WDK_KIT_WDFFUNCENUM says where wdffuncenum.h is");
    let header = fs::read_to_string(path).unwrap();
    let theirs: BTreeMap<&str, usize> = header
        .lines()
        .filter_map(|line| line.trim().split_once("TableIndex"))
        .filter_map(|(name, rest)| Some((name, rest.trim().strip_prefix('=')?.trim().strip_suffix(',')?.parse().ok()?)))
        .collect();
    assert_eq!(names(), theirs);
}
