//! Compares the types of fields and parameters with those in the WDK's headers, as the bindings in `wdk-sys` 0.2.0 have them. Layouts
//! do not show whether a pointer is to constant data, or whether an integer is a union.

use crate::layouts::X64;
use crate::published::{CHANGED, kit, published};
use crate::support::module::Module;

/// Types that differ, with the reason.
const EXCEPTIONS: [(&str, &str); 18] = [
    ("_DEBUG_DEVICE_DESCRIPTOR.EfiIoMmuData", "the metadata has another tag"),
    ("_FAULT_INFORMATION_X64.Type", "the metadata has one enumeration for both processors"),
    ("_FS_BPIO_INPUT.InFlags", "the metadata has an integer"),
    ("_LCN_WEAK_REFERENCE_BUFFER.State", "the metadata is newer"),
    ("_NFS_OPEN_ECP_CONTEXT.ClientSocketAddress", "the metadata has the type of programs"),
    ("_SRV_OPEN_ECP_CONTEXT.SocketAddress", "the metadata has the type of programs"),
    ("FsRtlNotify", "the metadata has another tag"),
    ("HalAllocateCrashDumpRegisters", "the metadata has another tag"),
    ("HalDma", "the metadata has another tag"),
    ("IoCreateDisk", "the bindings lack the record"),
    ("IoReadPartitionTableEx", "the bindings lack the record"),
    ("IoSetPartitionInformationEx", "the bindings lack the record"),
    ("IoWritePartitionTableEx", "the bindings lack the record"),
    ("KeAcquireQueuedSpinLock", "the metadata has an enumeration"),
    ("KeReleaseQueuedSpinLock", "the metadata has an enumeration"),
    ("KeTryToAcquireQueuedSpinLock", "the metadata has an enumeration"),
    ("RtlCrc32", "`size_t` is `usize` only in bindings"),
    ("RtlCrc64", "`size_t` is `usize` only in bindings"),
];

/// Compares two types. Returns whether they can be compared: the names of nested records depend on their order, and the types of
/// callbacks have several lines.
fn compare(what: &str, ours: (&Module, &str), theirs: (&Module, &str), wrong: &mut Vec<String>) -> bool {
    let [ours, theirs] = [ours, theirs].map(|(module, kind)| module.resolved(kind));
    if [&ours, &theirs].iter().any(|kind| kind.contains("Option<") || kind.contains("__bindgen")) {
        return false;
    }
    if ours != theirs && !EXCEPTIONS.iter().any(|(start, _)| what.starts_with(start)) {
        wrong.push(format!("{what}: {ours} here, {theirs} there"));
    }
    true
}

#[test]
fn fields_and_parameters_have_the_types_of_the_wdks_headers() {
    let ours = &X64.kit;
    let root = kit();
    let theirs = Module::parse(&published(&root, "types.rs"), |_| true);
    let routines = Module::parse(&published(&root, "ntddk.rs"), |_| true).routines;
    let mut wrong = Vec::new();
    let mut fields = 0;
    let mut parameters = 0;
    for (record, their_fields) in theirs.records.iter().filter(|(name, _)| !CHANGED.contains(&name.as_str())) {
        let Some(our_fields) = ours.records.get(record) else { continue };
        for their in
            their_fields.iter().filter(|field| !field.name.contains("bindgen") && !field.name.starts_with("_bit"))
        {
            let Some(our) = our_fields.iter().find(|field| field.name == their.name) else { continue };
            let what = format!("{record}.{}", their.name);
            fields += usize::from(compare(&what, (ours, &our.kind), (&theirs, &their.kind), &mut wrong));
        }
    }
    for (routine, (their_kinds, _)) in &routines {
        let Some((our_kinds, _)) = ours.routines.get(routine) else { continue };
        for (index, (our, their)) in our_kinds.iter().zip(their_kinds).enumerate() {
            let what = format!("{routine}, parameter {}", index + 1);
            parameters += usize::from(compare(&what, (ours, our), (&theirs, their), &mut wrong));
        }
    }
    println!("{fields} fields and {parameters} parameters compared");
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(fields > 4000, "{fields}, {parameters}: the comparison itself is broken");
    assert!(parameters > 3000, "{fields}, {parameters}: the comparison itself is broken");
}
