//! The user-mode routines, called as an application calls them.

use std::ptr::{self, null, null_mut};

use super::{
    EventActivityIdControl, EventEnabled, EventProviderEnabled, EventRegister, EventSetInformation, EventUnregister,
    EventWrite, EventWriteEx, EventWriteString, EventWriteTransfer,
};
use crate::common::{Notes, PROVIDER, error_event, note, register_silent, wide};
use etw_symbols::Host;
use etw_symbols::etw_engine::{Enable, Routine};
use etw_types::{ControlCode, EventDataDescriptor, EventInfoClass, Guid, NtStatus};

fn register(notes: &Notes) -> u64 {
    let mut handle = 0;
    // SAFETY: the pointers are valid, and every test keeps its notes until the engine is dropped.
    let code = unsafe { EventRegister(&PROVIDER, Some(note), notes.context(), &raw mut handle) };
    assert_eq!(code, 0);
    handle
}

#[test]
fn failures_are_win32_codes() {
    let host = Host::new();
    let _here = host.enter();
    let mut handle = 0;
    // SAFETY: NULL is refused.
    assert_eq!(unsafe { EventRegister(null(), None, null_mut(), &raw mut handle) }, 87);
    host.engine().fail_next(Routine::Register, NtStatus::NoMemory);
    // SAFETY: the pointers are valid.
    assert_eq!(unsafe { EventRegister(&PROVIDER, None, null_mut(), &raw mut handle) }, 8);
    assert_eq!(EventUnregister(0), 6);
    handle = register_silent();
    let set = |length: u32| {
        let traits = b"\x04\x00P\x00";
        // SAFETY: `length` is at most the length of the traits.
        unsafe { EventSetInformation(handle, EventInfoClass::SetTraits, traits.as_ptr().cast(), length) }
    };
    assert_eq!([set(2), set(3), set(4), set(4)], [87, 1392, 0, 31]);
    assert_eq!(EventUnregister(handle), 0);
    assert_eq!(EventUnregister(handle), 6);
}

#[test]
fn a_provider_gets_its_callback_is_enabled_and_writes() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("s");
    session.enable(PROVIDER, Enable { level: 4.into(), any: 1, ..Enable::default() });
    let notes = Notes::default();
    let handle = register(&notes);
    let calls = notes.take();
    assert_eq!(calls.len(), 1, "inside register");
    assert_eq!(calls[0].control, ControlCode::EnableProvider);
    assert_eq!(calls[0].level, 4);
    assert_eq!(calls[0].source, Guid::ZERO);

    let event = error_event(1);
    // SAFETY: the descriptor is valid.
    assert_eq!(unsafe { EventEnabled(handle, &raw const event) }, 1);
    assert_eq!(EventProviderEnabled(handle, 4, 1), 1);
    assert_eq!(EventProviderEnabled(handle, 5, 1), 0);

    let data = [EventDataDescriptor::new(b"x")];
    // SAFETY: the pointers are valid, and the count is the length of the array.
    let plain = unsafe { EventWrite(handle, &raw const event, 1, data.as_ptr()) };
    // SAFETY: as above.
    let transfer = unsafe { EventWriteTransfer(handle, &raw const event, null(), null(), 1, data.as_ptr()) };
    // SAFETY: as above.
    let extended = unsafe { EventWriteEx(handle, &raw const event, 2, 3, null(), null(), 1, data.as_ptr()) };
    // SAFETY: the string is terminated.
    let string = unsafe { EventWriteString(handle, 4, 1, wide("s").as_ptr()) };
    assert_eq!([plain, transfer, extended, string], [0; 4]);
    let events = session.events();
    assert_eq!(events.len(), 4);
    assert_eq!(events[2].filter, 2);
    assert_eq!(events[2].flags, 3);
    assert!(events[3].string_only);
}

#[test]
fn an_event_without_an_activity_id_gets_that_of_the_thread() {
    let host = Host::new();
    let _here = host.enter();
    host.engine().set_system_threads(true);
    let handle = register_silent();
    let session = host.engine().start_session("s");
    session.enable(PROVIDER, Enable::default());
    let mut id = Guid::from_u128(42);
    // SAFETY: the id is readable and writable.
    assert_eq!(unsafe { EventActivityIdControl(2, ptr::from_mut(&mut id)) }, 0);
    let event = error_event(0);
    // SAFETY: the descriptor is valid and there is no data.
    unsafe { EventWriteTransfer(handle, &raw const event, null(), null(), 0, null()) };
    // SAFETY: as above, with an id.
    unsafe { EventWriteTransfer(handle, &raw const event, &Guid::ZERO, null(), 0, null()) };
    let activities: Vec<Guid> = session.events().iter().map(|event| event.activity).collect();
    assert_eq!(activities, [id, Guid::ZERO]);
}
