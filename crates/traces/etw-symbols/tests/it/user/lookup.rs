//! Looks up modules and their routines, as a provider in user mode does.

use std::ptr::{null, null_mut, without_provenance, without_provenance_mut};

use super::{FreeLibrary, GetModuleHandleExW, GetProcAddress};
use crate::common::wide;
use etw_symbols::Host;
use etw_symbols::etw_engine::Routine;

#[test]
fn both_user_mode_modules_are_known_and_can_be_hidden() {
    let host = Host::new();
    let _here = host.enter();
    let find = |name: &str| {
        let mut module = without_provenance_mut(1);
        let name = wide(name);
        // SAFETY: the name is terminated, and the handle is writable.
        let found = unsafe { GetModuleHandleExW(0, name.as_ptr(), &raw mut module) };
        assert_eq!(found != 0, !module.is_null());
        module
    };
    for name in ["api-ms-win-eventing-provider-l1-1-0.dll", "ADVAPI32.dll"] {
        let module = find(name);
        assert!(!module.is_null());
        // SAFETY: the name is terminated.
        let routine = unsafe { GetProcAddress(module, c"EventSetInformation".as_ptr()) };
        assert!(!routine.is_null());
        // SAFETY: the name is terminated.
        assert!(unsafe { GetProcAddress(module, c"EventSomething".as_ptr()) }.is_null());
        assert_eq!(FreeLibrary(module), 1);
        host.engine().hide_routine(name);
        assert!(find(name).is_null());
    }
    assert!(find("kernel32.dll").is_null());
    assert_eq!(host.engine().count_calls(Routine::FreeModule), 2);
}

#[test]
fn user_mode_lookups_accept_any_argument() {
    let host = Host::new();
    let _here = host.enter();
    let name = wide("advapi32.dll");
    let mut module = null_mut();
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { GetModuleHandleExW(0, null(), &raw mut module) }, 0);
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { GetModuleHandleExW(0, name.as_ptr(), null_mut()) }, 0);
    // SAFETY: with this flag the name is an address, which is not read.
    assert_eq!(unsafe { GetModuleHandleExW(4, without_provenance(3), &raw mut module) }, 0);
    // SAFETY: the name is terminated, and the handle is writable.
    assert_eq!(unsafe { GetModuleHandleExW(2, name.as_ptr(), &raw mut module) }, 1);
    // SAFETY: this is an ordinal, not a pointer.
    assert!(unsafe { GetProcAddress(module, without_provenance(7)) }.is_null());
    // SAFETY: NULL is allowed.
    assert!(unsafe { GetProcAddress(module, null()) }.is_null());
    // SAFETY: the name is terminated, and a NULL module is allowed.
    assert!(unsafe { GetProcAddress(null_mut(), c"EventWrite".as_ptr()) }.is_null());
    host.engine().hide_routine("EventWrite");
    // SAFETY: the name is terminated.
    assert!(unsafe { GetProcAddress(module, c"EventWrite".as_ptr()) }.is_null());
    assert_eq!(FreeLibrary(null_mut()), 0);
}
