//! Compares the constants of `windows-constants` and the statuses of `etw-types` with Microsoft's declarations: the metadata, as
//! windows-sys publishes it, and the bindings of the driver kit for x64 in `wdk-sys` 0.2.0.
//!
//! A constant is compared with each declaration of its name. The tables below have those without a declaration, with another
//! source, and those that a declaration has for other processors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use etw_types::{HResult, NtStatus, Win32Error};
use windows_constants::Constant;

use crate::published::{kit, published};
use crate::support::metadata;

/// Constants that the metadata and the bindings lack: the source of their values, and each value as the source has it.
const UNDECLARED: &[(&str, &[(&str, u128)])] = &[
    (
        "https://learn.microsoft.com/windows-hardware/drivers/kernel/pool_flags",
        &[
            ("POOL_FLAG_UNINITIALIZED", 2),
            ("POOL_FLAG_RAISE_ON_FAILURE", 0x20),
            ("POOL_FLAG_NON_PAGED", 0x40),
            ("POOL_FLAG_NON_PAGED_EXECUTE", 0x80),
            ("POOL_FLAG_PAGED", 0x100),
        ],
    ),
    ("MinGW-w64: ddk/include/ddk/wdm.h", &[("CM_RESOURCE_INTERRUPT_MESSAGE_TOKEN", 0xFFFF_FFFE)]),
    (
        "MinGW-w64: ddk/include/ddk/wmilib.h",
        &[("IrpProcessed", 0), ("IrpNotCompleted", 1), ("IrpNotWmi", 2), ("IrpForward", 3)],
    ),
    ("MinGW-w64: crt/_mingw.h", &[("_TRUNCATE", 0xFFFF_FFFF_FFFF_FFFF)]),
    (
        "MinGW-w64: include/hidclass.h",
        &[
            ("IOCTL_HID_SET_FEATURE", 0xB_0191),
            ("IOCTL_HID_SET_OUTPUT_REPORT", 0xB_0195),
            ("IOCTL_HID_GET_FEATURE", 0xB_0192),
            ("IOCTL_HID_GET_INPUT_REPORT", 0xB_01A2),
            ("IOCTL_HID_GET_MANUFACTURER_STRING", 0xB_01BA),
            ("IOCTL_HID_GET_PRODUCT_STRING", 0xB_01BE),
            ("IOCTL_HID_GET_SERIALNUMBER_STRING", 0xB_01C2),
            ("IOCTL_HID_GET_INDEXED_STRING", 0xB_01E2),
            ("IOCTL_HID_GET_COLLECTION_INFORMATION", 0xB_01A8),
            ("IOCTL_HID_GET_COLLECTION_DESCRIPTOR", 0xB_0193),
            ("IOCTL_HID_FLUSH_QUEUE", 0xB_0197),
        ],
    ),
    (
        "dahall/Vanara: PInvoke/Hid/HidPort.cs (MinGW-w64 calls its own values wrong)",
        &[
            ("IOCTL_HID_GET_DEVICE_DESCRIPTOR", 0xB_0003),
            ("IOCTL_HID_GET_REPORT_DESCRIPTOR", 0xB_0007),
            ("IOCTL_HID_READ_REPORT", 0xB_000B),
            ("IOCTL_HID_WRITE_REPORT", 0xB_000F),
            ("IOCTL_HID_GET_STRING", 0xB_0013),
            ("IOCTL_HID_GET_DEVICE_ATTRIBUTES", 0xB_0027),
        ],
    ),
    (
        "Device Class Definition for HID 1.11, section 7.1",
        &[("HID_HID_DESCRIPTOR_TYPE", 0x21), ("HID_REPORT_DESCRIPTOR_TYPE", 0x22)],
    ),
    (
        "USB 2.0, table 9-8: the offsets of the strings' indexes in a device descriptor",
        &[("HID_STRING_ID_IMANUFACTURER", 14), ("HID_STRING_ID_IPRODUCT", 15), ("HID_STRING_ID_ISERIALNUMBER", 16)],
    ),
    ("fltKernel.h of the WDK", &[("FLT_VARIABLE_SIZED_CONTEXTS", 0xFFFF_FFFF_FFFF_FFFF)]),
    (
        "fwpsk.h of the WDK",
        &[
            ("FWPS_CALLOUT_NOTIFY_ADD_FILTER", 0),
            ("FWPS_CALLOUT_NOTIFY_DELETE_FILTER", 1),
            ("FWPS_PACKET_NOT_INJECTED", 0),
            ("FWPS_PACKET_INJECTED_BY_SELF", 1),
            ("FWPS_PACKET_INJECTED_BY_OTHER", 2),
            ("FWPS_PACKET_PREVIOUSLY_INJECTED_BY_SELF", 3),
            ("FWPS_STREAM_ACTION_DROP_CONNECTION", 2),
        ],
    ),
    (
        "not found: the names are documented for FWPS_STREAM_DATA0, the values are ours",
        &[("FWPS_STREAM_FLAG_RECEIVE", 1), ("FWPS_STREAM_FLAG_SEND", 0x1_0000)],
    ),
    ("rust-lang/libc: src/windows/mod.rs", &[("EINVAL", 22), ("ERANGE", 0x22), ("STRUNCATE", 80)]),
    (
        "microsoft/Windows-Driver-Frameworks: src/publicinc/wdf/kmdf/1.33/wdfresource.h",
        &[("WDF_INSERT_AT_END", 0xFFFF_FFFF)],
    ),
    (
        "microsoft/Windows-Driver-Frameworks: src/publicinc/wdf/kmdf/1.33/wdfstatus.h",
        &[
            ("STATUS_WDF_INTERNAL_ERROR", 0xC020_0201),
            ("STATUS_WDF_PAUSED", 0xC020_0203),
            ("STATUS_WDF_BUSY", 0xC020_0204),
            ("STATUS_WDF_REQUEST_INVALID_STATE", 0xC020_0208),
            ("STATUS_WDF_OBJECT_ATTRIBUTES_INVALID", 0xC020_0209),
            ("STATUS_WDF_NO_CALLBACK", 0xC020_020B),
            ("STATUS_WDF_INCOMPATIBLE_EXECUTION_LEVEL", 0xC020_020C),
            ("STATUS_WDF_PARENT_ASSIGNMENT_NOT_ALLOWED", 0xC020_020F),
            ("STATUS_WDF_SYNCHRONIZATION_SCOPE_INVALID", 0xC020_0210),
            ("STATUS_WDF_EXECUTION_LEVEL_INVALID", 0xC020_0211),
            ("STATUS_WDF_PARENT_NOT_SPECIFIED", 0xC020_0212),
            ("STATUS_WDF_NOT_ENOUGH_MAP_REGISTERS", 0xC020_0214),
        ],
    ),
    (
        "the public symbols of ntoskrnl.exe since Windows 8.1, which inserted two timers before ThreadedDpcObject: KOBJECTS",
        &[
            ("EventSynchronizationObject", 1),
            ("MutantObject", 2),
            ("ProcessObject", 3),
            ("QueueObject", 4),
            ("SemaphoreObject", 5),
            ("ThreadObject", 6),
            ("TimerNotificationObject", 8),
            ("TimerSynchronizationObject", 9),
            ("DpcObject", 19),
            ("DeviceQueueObject", 20),
            ("ThreadedDpcObject", 26),
        ],
    ),
    (
        "winsiderss/phnt, whose authors read them from public symbols: ntexapi.h, ntobapi.h",
        &[("ObjectNameInformation", 1), ("SystemModuleInformation", 11), ("SystemKernelDebuggerInformation", 35)],
    ),
    (
        "no public header: the bit that drivers set themselves to pass the check of PsSetCreateProcessNotifyRoutineEx",
        &[("LDRP_IMAGE_INTEGRITY_FORCED", 0x20)],
    ),
];

/// Constants that a declaration has for other processors, with the source of the value here.
const DIFFERENT: &[(&str, &str)] = &[
    ("HIGH_LEVEL", "the bindings; the metadata has the level of 32-bit processors"),
    ("IPI_LEVEL", "the bindings; the metadata has the level of 32-bit processors"),
    ("KI_USER_SHARED_DATA", "MinGW-w64: ddk/include/ddk/wdm.h; the metadata has the address of 32-bit processors"),
];

/// The declarations, which are read once.
static DECLARATIONS: LazyLock<Declarations> = LazyLock::new(Declarations::read);

/// The declarations of Microsoft: the values that each name has.
struct Declarations(BTreeMap<String, BTreeSet<u128>>);

impl Declarations {
    fn read() -> Self {
        let mut declarations = Self(BTreeMap::new());
        for file in sources(&metadata::package().dir) {
            declarations.add(&fs::read_to_string(file).unwrap());
        }
        let kit = kit();
        for name in ["constants.rs", "types.rs"] {
            declarations.add(&published(&kit, name));
        }
        declarations
    }

    /// Adds the constants of a generated file. Each is on a line.
    fn add(&mut self, text: &str) {
        for line in text.lines() {
            let Some(declaration) = line.trim_start().trim_start_matches("pub ").strip_prefix("const ") else {
                continue;
            };
            let Some((head, value)) = declaration.split_once(" = ") else { continue };
            let Some((name, _)) = head.split_once(':') else { continue };
            if let Some(value) = number(value.trim_end_matches(';')) {
                self.0.entry(name.trim_end().to_owned()).or_default().insert(value);
            }
        }
    }

    fn of(&self, name: &str) -> Option<&BTreeSet<u128>> {
        self.0.get(name)
    }
}

/// Returns the constants of the templates of drivers. Users get copies of these, which cannot use a crate of this repository.
pub(crate) fn templates() -> BTreeMap<String, BTreeSet<u128>> {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driver-build/templates");
    let mut declarations = Declarations(BTreeMap::new());
    for name in ["minifilter/src/filter_manager.rs", "wfp/src/filtering_platform.rs"] {
        declarations.add(&fs::read_to_string(templates.join(name)).unwrap());
    }
    declarations.0
}

/// Returns the value of a constant: an integer with or without a type, in a newtype or with a cast, or a GUID.
fn number(text: &str) -> Option<u128> {
    let inner = text.rsplit_once('(').map_or(text, |(_, inner)| inner);
    let digits = inner.split([')', ' ']).next()?.replace('_', "");
    let digits = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"]
        .iter()
        .find_map(|kind| digits.strip_suffix(kind))
        .unwrap_or(&digits);
    match (digits.strip_prefix("0x"), digits.strip_prefix('-')) {
        (Some(digits), _) => u128::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => digits.parse::<i128>().ok().map(|value| (-value).cast_unsigned()),
        _ => digits.parse().ok(),
    }
}

/// Returns the Rust files below a folder.
fn sources(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// Returns what is wrong with a constant, by what is declared.
fn judge(constant: Constant, declared: Option<&BTreeSet<u128>>) -> Option<String> {
    let Constant { name, value } = constant;
    let listed = UNDECLARED.iter().flat_map(|(_, values)| *values).find(|(listed, _)| *listed == name);
    let is_different = DIFFERENT.iter().any(|(listed, _)| *listed == name);
    match declared {
        None => match listed {
            Some((_, theirs)) if *theirs == value => None,
            Some((_, theirs)) => Some(format!("{name}: {value:#x} here, {theirs:#x} in its source")),
            None => Some(format!("{name}: no declaration; name its source in UNDECLARED")),
        },
        Some(_) if listed.is_some() => Some(format!("{name}: declared, but listed in UNDECLARED")),
        Some(values) if values.iter().all(|theirs| *theirs == value) == is_different => {
            Some(format!("{name}: {value:#x} here, {values:#x?} there, listed in DIFFERENT: {is_different}"))
        }
        Some(_) => None,
    }
}

#[test]
fn constants_have_the_values_of_microsofts_declarations() {
    let wrong: Vec<String> =
        windows_constants::all().filter_map(|constant| judge(constant, DECLARATIONS.of(constant.name))).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let compared = windows_constants::all().filter(|constant| DECLARATIONS.of(constant.name).is_some()).count();
    let all = windows_constants::all().count();
    println!("{compared} of {all} constants compared");
    assert!(compared > 500, "{compared}: the comparison itself is broken");
}

#[test]
fn exceptions_are_constants() {
    let names: BTreeSet<&str> = windows_constants::all().chain(statuses()).map(|constant| constant.name).collect();
    let listed = UNDECLARED
        .iter()
        .flat_map(|(_, values)| *values)
        .map(|(name, _)| name)
        .chain(DIFFERENT.iter().map(|(name, _)| name));
    let unknown: Vec<&&str> = listed.filter(|name| !names.contains(**name)).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn each_constant_is_defined_once() {
    let mut names = BTreeSet::new();
    let twice: Vec<&str> =
        windows_constants::all().map(|constant| constant.name).filter(|name| !names.insert(*name)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

#[test]
fn a_wrong_value_and_a_needless_exception_are_found() {
    let declared = |value| Some(BTreeSet::from([value]));
    let judge = |name, value, declared: Option<BTreeSet<u128>>| judge(Constant { name, value }, declared.as_ref());
    assert_eq!(judge("DO_BUFFERED_IO", 4, declared(4)), None);
    assert!(judge("DO_BUFFERED_IO", 4, declared(5)).is_some());
    assert!(judge("DO_BUFFERED_IO", 4, None).is_some());
    assert_eq!(judge("POOL_FLAG_PAGED", 0x100, None), None);
    assert!(judge("POOL_FLAG_PAGED", 0x80, None).is_some());
    assert!(judge("POOL_FLAG_PAGED", 0x100, declared(0x100)).is_some());
    assert_eq!(judge("HIGH_LEVEL", 15, declared(31)), None);
    assert!(judge("HIGH_LEVEL", 15, declared(15)).is_some());
}

#[test]
fn values_of_every_notation_are_read() {
    assert_eq!(number("4u32"), Some(4));
    assert_eq!(number("-1i32"), Some(u128::MAX));
    assert_eq!(number("0xC0000001_u32 as _"), Some(0xC000_0001));
    assert_eq!(number("windows_sys::core::GUID::from_u128(0x10_0f)"), Some(0x100F));
    assert_eq!(number("OTHER"), None);
}

/// Returns the statuses of `etw-types`.
pub(crate) fn statuses() -> impl Iterator<Item = Constant> {
    let nt = NtStatus::all().iter().map(|status| (status.name(), status.as_int()));
    let win32 = Win32Error::all().iter().map(|status| (status.name(), status.as_int()));
    let results = HResult::all().iter().map(|status| (status.name(), status.as_int()));
    let all = nt.chain(win32).chain(results);
    all.map(|(name, code)| Constant { name: name.expect("a name"), value: code.into() })
}

#[test]
fn statuses_have_the_values_of_microsofts_declarations() {
    let mut wrong = Vec::new();
    for status in statuses() {
        // Some declarations are signed.
        let declared = DECLARATIONS.of(status.name);
        let declared = declared.map(|values| values.iter().map(|value| value & 0xFFFF_FFFF).collect());
        wrong.extend(judge(status, declared.as_ref()));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A constant that nothing uses would only be read. Its name must be in code, not only in its declaration or in a comment.
#[test]
fn each_constant_is_used() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let own = crates.join("base/windows-constants");
    let this = crates.join("toolchain/wdk-kit/tests");
    let mut used = BTreeSet::new();
    for file in sources(&crates).iter().filter(|file| !file.starts_with(&this)) {
        let is_own = file.starts_with(&own);
        for line in fs::read_to_string(file).unwrap().lines() {
            let code = line.split("//").next().unwrap_or_default();
            let code = if is_own { code.split_once(" = ").map_or(code, |(_, value)| value) } else { code };
            let outside_of_texts = code.split('"').step_by(2);
            for part in outside_of_texts {
                used.extend(part.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned));
            }
        }
    }
    let unused: Vec<&str> =
        windows_constants::all().map(|constant| constant.name).filter(|name| !used.contains(*name)).collect();
    assert!(unused.is_empty(), "{unused:#?}");
}
