//! Names of the groups of the system providers.
//!
//! The groups of the first word are the `EVENT_TRACE_FLAG_*` of the public header. The others are in no public header;
//! they are known from other tools, and the prefix of their name marks them.

/// Name and value of each group.
pub const GROUPS: &[(&str, u32)] = &[
    ("process", 0x0000_0001),
    ("thread", 0x0000_0002),
    ("image-load", 0x0000_0004),
    ("process-counters", 0x0000_0008),
    ("context-switch", 0x0000_0010),
    ("dpc", 0x0000_0020),
    ("interrupt", 0x0000_0040),
    ("system-call", 0x0000_0080),
    ("disk-io", 0x0000_0100),
    ("disk-file-io", 0x0000_0200),
    ("disk-io-init", 0x0000_0400),
    ("dispatcher", 0x0000_0800),
    ("page-fault", 0x0000_1000),
    ("hard-fault", 0x0000_2000),
    ("virtual-alloc", 0x0000_4000),
    ("va-map", 0x0000_8000),
    ("network", 0x0001_0000),
    ("registry", 0x0002_0000),
    ("debug-print", 0x0004_0000),
    ("job", 0x0008_0000),
    ("alpc", 0x0010_0000),
    ("split-io", 0x0020_0000),
    ("driver", 0x0080_0000),
    ("profile", 0x0100_0000),
    ("file-io", 0x0200_0000),
    ("file-io-init", 0x0400_0000),
    ("perf-profile", 0x2000_0002),
    ("perf-context-switch", 0x2000_0004),
    ("perf-dpc", 0x2000_0080),
    ("perf-dispatcher", 0x2000_0200),
    ("perf-pmc-profile", 0x2000_0400),
    ("perf-interrupt", 0x2000_4000),
    ("ob-handle", 0x8000_0040),
];

/// Returns the group with this name. The comparison ignores case.
#[must_use]
pub fn group_by_name(name: &str) -> Option<u32> {
    GROUPS.iter().find(|(group, _)| group.eq_ignore_ascii_case(name)).map(|(_, bits)| *bits)
}
