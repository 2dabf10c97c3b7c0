//! Compares the structures of `nt-processor` with the kit's C headers. Other tests compare the headers with Microsoft's metadata and
//! bindings.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use nt_processor::layout::{self, Layout};

use crate::c_headers::errors;

/// Structures whose name in the headers is another one.
const RENAMED: [(&str, &str); 7] = [
    ("ACE", "ACCESS_ALLOWED_ACE"),
    ("FWP_V6_ADDR", "FWP_V6_ADDR_AND_MASK"),
    ("REG_NAME_KEY_INFORMATION", "REG_RENAME_KEY_INFORMATION"),
    ("WDF_DEVICE_PNP_CALLBACKS", "WDF_PNPPOWER_EVENT_CALLBACKS"),
    ("WDF_POLICY_CALLBACKS", "WDF_POWER_POLICY_EVENT_CALLBACKS"),
    ("WDF_WORK_CONFIG", "WDF_WORKITEM_CONFIG"),
    ("WNODE_ITEM", "WNODE_SINGLE_ITEM"),
];

/// Structures whose size differs from that of the declaration, by the reason.
const PARTS: [(&str, &[&str]); 5] = [
    (
        "what follows is an array, or depends on a member",
        &[
            "ACE",
            "CM_RESOURCE_LIST",
            "IO_INTERRUPT_MESSAGE_INFO",
            "IO_RESOURCE_REQUIREMENTS_LIST",
            "PO_FX_DEVICE",
            "PO_FX_DEVICE_V2",
            "PO_FX_DEVICE_V3",
            "SID",
            "WMIREGINFO",
            "WNODE_SINGLE_INSTANCE",
        ],
    ),
    (
        "the size in older versions of the framework, which every version accepts",
        &[
            "WDF_DEVICE_PNP_CALLBACKS",
            "WDF_INTERRUPT_CONFIG",
            "WDF_IO_QUEUE_CONFIG",
            "WDF_IO_TARGET_OPEN_PARAMS",
            "WDF_IO_TYPE_CONFIG",
            "WDF_POLICY_CALLBACKS",
            "WDF_TIMER_CONFIG",
        ],
    ),
    ("only the first members are used", &["FWP_V6_ADDR", "KUSER_SHARED_DATA", "NET_BUFFER_LIST_POOL_PARAMETERS"]),
    (
        "it has members that Windows adds without declaring them",
        &["DEVOBJ_EXTENSION", "FWPS_INCOMING_METADATA_VALUES0"],
    ),
    (
        "the structure for duplicated handles, which begins with that for new ones",
        &["OB_PRE_CREATE_HANDLE_INFORMATION"],
    ),
];

/// Structures that the headers do not declare, by the reason.
const UNDECLARED: [(&str, &[&str]); 6] = [
    (
        "the host's own",
        &["CALL_FRAME", "CROSSING", "EXCEPTION_AREA", "FLT_OPERATION", "HOST_FRAME", "PROCESSOR_BLOCK", "THREAD"],
    ),
    ("drivers see only its address", &["EX_TIMER", "INTERRUPT_OBJECT", "IO_WORKITEM"]),
    ("winnt.h: handlers of exceptions, which compilers call", &["DISPATCHER_CONTEXT", "SCOPE_RECORD"]),
    (
        "between the framework and its loader: microsoft/Windows-Driver-Frameworks, src/framework/shared/inc/private/common/fxldr.h",
        &["CLIENT_INFO", "WDF_BIND_INFO", "WDF_BIND_INFO2", "WDF_LIBRARY_INFO"],
    ),
    ("between class extensions and the loader; no public header", &["WDF_CLASS_BIND_INFO", "WDF_CLASS_LIBRARY_INFO"]),
    ("LDR_DATA_TABLE_ENTRY of the metadata, with which nt-processor compares it", &["KLDR_DATA_TABLE_ENTRY"]),
];

/// Whether a table names a structure.
fn is_in(table: &[(&str, &[&str])], name: &str) -> bool {
    table.iter().any(|(_, names)| names.contains(&name))
}

#[test]
fn structures_of_the_machine_have_the_layouts_of_the_kits_headers() {
    let mut assertions = String::new();
    let mut structures = 0;
    let mut members = 0;
    for Layout { name, size, members: offsets } in layout::all().filter(|layout| !is_in(&UNDECLARED, layout.name)) {
        let declared = RENAMED.iter().find(|(ours, _)| *ours == name).map_or(name, |(_, theirs)| theirs);
        // An exception that is not needed is an error, too.
        let comparison = if is_in(&PARTS, name) { "!=" } else { "==" };
        let _ = writeln!(assertions, "_Static_assert(sizeof({declared}) {comparison} {size}, \"the size of {name}\");");
        structures += 1;
        for (member, offset) in offsets {
            let _ = writeln!(
                assertions,
                "_Static_assert(__builtin_offsetof({declared}, {member}) == {offset}, \"{name}.{member}\");"
            );
            members += 1;
        }
    }
    let errors = errors("structures.c", &assertions);
    // Members of unions, padding, and parts that the machine reads as one have names of their own here.
    let is_unnamed = |line: &&String| line.contains("no member named") || line.contains("offset of bit-field");
    let (unnamed, wrong): (Vec<_>, Vec<_>) = errors.iter().partition(is_unnamed);
    assert!(wrong.is_empty(), "{wrong:#?}");
    let compared = members - unnamed.len();
    println!("{structures} structures and {compared} of {members} members compared");
    assert!(structures > 150, "{structures}: the comparison itself is broken");
    assert!(compared > 1000, "{compared}: the comparison itself is broken");
}

#[test]
fn exceptions_are_structures_of_the_machine() {
    let names: BTreeSet<&str> = layout::all().map(|layout| layout.name).collect();
    let listed = PARTS.iter().chain(&UNDECLARED).flat_map(|(_, names)| *names);
    let listed = listed.chain(RENAMED.iter().map(|(name, _)| name));
    let unknown: Vec<&&str> = listed.filter(|name| !names.contains(**name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}
