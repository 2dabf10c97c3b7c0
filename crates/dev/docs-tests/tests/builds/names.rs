//! The names of the C interfaces lead to our items: rustdoc's search finds every name that Microsoft's pages about
//! setting and querying information use.

use std::fs;
use std::path::Path;
use std::process::Command;

/// The names on Microsoft's pages `TraceLoggingSetInformation`, `EVENT_INFO_CLASS`, `TraceSetInformation` and
/// `TraceQueryInformation`.
const NAMES: [&str; 40] = [
    "CLASSIC_EVENT_ID",
    "ControlTrace",
    "DisablePagingExecutive",
    "ERROR_BAD_LENGTH",
    "ERROR_INVALID_PARAMETER",
    "ERROR_NOT_SUPPORTED",
    "ERROR_SUCCESS",
    "EVENT_DATA_DESCRIPTOR",
    "EVENT_INFO_CLASS",
    "EVENT_TRACE_PROPERTIES",
    "EtwSetInformation",
    "EventDataDescCreate",
    "EventProviderBinaryTrackInfo",
    "EventProviderSetReserved1",
    "EventProviderSetTraits",
    "EventProviderUseDescriptorType",
    "EventRegister",
    "EventSetInformation",
    "FormatMessage",
    "GetProcAddress",
    "HRESULT_FROM_WIN32",
    "MaxEventInfo",
    "MmGetSystemRoutineAddress",
    "NTDDI_VERSION",
    "NT_SUCCESS",
    "STATUS_ENTRYPOINT_NOT_FOUND",
    "STATUS_NOT_SUPPORTED",
    "SUCCEEDED",
    "SessionHandle",
    "StackWalk_Event",
    "StartTrace",
    "TLG_HAVE_EVENT_SET_INFORMATION",
    "TRACE_QUERY_INFO_CLASS",
    "TraceLoggingRegister",
    "TraceLoggingSetInformation",
    "TraceQueryInformation",
    "TraceSetInformation",
    "TraceStackTracingInfo",
    "WINVER",
    "Wnode.HistoricalContext",
];

#[test]
fn rustdoc_finds_the_names_of_microsofts_pages() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names");
    let _ = fs::remove_dir_all(target.join("doc"));
    let built = Command::new(env!("CARGO"))
        .current_dir(root)
        .args(["doc", "--offline", "--quiet", "--no-deps", "-p", "etw-types", "-p", "wdk-etw", "-p", "etw-session"])
        .arg("--target-dir")
        .arg(&target)
        .output()
        .expect("cargo");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let index = index(&target.join("doc"));
    let missing: Vec<&str> = NAMES.into_iter().filter(|name| !has(&index, name)).collect();
    assert_eq!(missing, Vec::<&str>::new(), "not in the index of {} bytes", index.len());
    assert!(!has(&index, "TraceLoggingSetInformatio"), "a part of a name is not found");
}

/// Returns the names in the search index of a folder with documentation.
fn index(doc: &Path) -> String {
    let names = doc.join("search.index/name");
    let files = fs::read_dir(&names).unwrap_or_else(|error| panic!("{}: {error}", names.display()));
    files.map(|file| fs::read_to_string(file.expect("an entry").path()).expect("text")).collect()
}

/// Returns whether a name is in the index. A name follows its length, in hexadecimal digits of which the last is marked.
fn has(index: &str, name: &str) -> bool {
    let digit = |value: usize, mark: u8| char::from(mark | u8::try_from(value & 0xF).expect("four bits"));
    let mut length = String::from(digit(name.len(), b'`'));
    if name.len() > 0xF {
        length.insert(0, digit(name.len() >> 4, b'@'));
    }
    index.contains(&format!("{length}{name}"))
}
