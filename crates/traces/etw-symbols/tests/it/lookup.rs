//! Looks up routines by name, like a provider that must also load on a Windows version without these routines.

use std::ffi::c_void;
use std::mem::transmute;
use std::ptr::null;

use crate::common::MmGetSystemRoutineAddress;
use etw_symbols::Host;
use etw_symbols::etw_engine::{Routine, Subject};
use etw_types::{EventInfoClass, NtStatus, UnicodeString};

type SetInformation = unsafe extern "system" fn(u64, EventInfoClass, *const c_void, u32) -> NtStatus;

fn find(name: &str) -> *mut c_void {
    let units: Vec<u16> = name.encode_utf16().collect();
    let length = u16::try_from(units.len() * 2).unwrap();
    let name = UnicodeString { length, maximum_length: length, buffer: units.as_ptr() };
    // SAFETY: the string has the length of its buffer.
    unsafe { MmGetSystemRoutineAddress(&raw const name) }
}

#[test]
fn a_found_routine_is_the_routine() {
    let host = Host::new();
    let _here = host.enter();
    let address = find("EtwSetInformation");
    assert!(!address.is_null());
    // SAFETY: the routine at this address has this signature.
    let routine = unsafe { transmute::<*mut c_void, SetInformation>(address) };
    // SAFETY: there is no buffer, and the length is zero.
    let status = unsafe { routine(0, EventInfoClass::SetTraits, null(), 0) };
    assert_eq!(status, NtStatus::InvalidHandle);
    let calls = host.engine().calls();
    assert_eq!(calls[0].subject, Subject::Name("EtwSetInformation".to_owned()));
    assert_eq!(calls[0].routine, Routine::FindRoutine);
    assert_eq!(calls[0].status, NtStatus::Success);
    assert_eq!(calls[1].routine, Routine::SetInformation);
}

#[test]
fn hidden_and_unknown_routines_are_null() {
    let host = Host::new();
    let _here = host.enter();
    assert!(find("EtwSetInformatio").is_null());
    assert!(find("etwsetinformation").is_null(), "names of routines have a case");
    assert!(find("").is_null());
    host.engine().hide_routine("EtwSetInformation");
    assert!(find("EtwSetInformation").is_null());
    assert_eq!(host.engine().calls().last().unwrap().status, NtStatus::EntryPointNotFound);
    assert!(!find("EtwRegister").is_null());
    host.engine().show_routine("EtwSetInformation");
    assert!(!find("EtwSetInformation").is_null());
    host.engine().fail_next(Routine::FindRoutine, NtStatus::NoMemory);
    assert!(find("EtwSetInformation").is_null());
}

#[test]
fn malformed_names_are_null() {
    let host = Host::new();
    let _here = host.enter();
    let units: Vec<u16> = "EtwWrite".encode_utf16().collect();
    let unpaired = [0xD800];
    let malformed = [
        ("odd length", UnicodeString { length: 15, maximum_length: 16, buffer: units.as_ptr() }),
        ("longer than its maximum", UnicodeString { length: 16, maximum_length: 14, buffer: units.as_ptr() }),
        ("no buffer", UnicodeString { length: 16, maximum_length: 16, buffer: null() }),
        ("not UTF-16", UnicodeString { length: 2, maximum_length: 2, buffer: unpaired.as_ptr() }),
    ];
    for (kind, name) in malformed {
        // SAFETY: no string is longer than its buffer, and a NULL buffer is allowed.
        assert!(unsafe { MmGetSystemRoutineAddress(&raw const name) }.is_null(), "{kind}");
    }
    // SAFETY: NULL is allowed.
    assert!(unsafe { MmGetSystemRoutineAddress(null()) }.is_null());
}
