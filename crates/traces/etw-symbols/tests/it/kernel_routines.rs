//! The kernel's routines, called as a driver calls them.

use std::ptr::{self, null, null_mut};

use crate::common::{
    EnableCall, EtwActivityIdControl, EtwEventEnabled, EtwProviderEnabled, EtwRegister, EtwSetInformation,
    EtwUnregister, EtwWrite, EtwWriteEx, EtwWriteString, EtwWriteTransfer, Notes, PROVIDER, error_event, register,
    register_silent, wide,
};
use etw_symbols::Host;
use etw_symbols::etw_engine::{Enable, Filter, Finding, Routine};
use etw_types::{ControlCode, EventDataDescriptor, EventInfoClass, Guid, NtStatus};

#[test]
fn registering_needs_a_guid_a_place_for_the_handle_and_a_callback_for_a_context() {
    let host = Host::new();
    let _here = host.enter();
    let notes = Notes::default();
    let mut handle = 7;
    // SAFETY: NULL is refused.
    let no_guid = unsafe { EtwRegister(null(), None, null_mut(), &raw mut handle) };
    // SAFETY: NULL is refused.
    let no_place = unsafe { EtwRegister(&PROVIDER, None, null_mut(), null_mut()) };
    // SAFETY: the pointers are valid.
    let no_callback = unsafe { EtwRegister(&PROVIDER, None, notes.context(), &raw mut handle) };
    assert_eq!([no_guid, no_place, no_callback], [NtStatus::InvalidParameter; 3]);
    assert_eq!(handle, 7, "left alone");
    assert_eq!(host.engine().count_calls(Routine::Register), 3);
    // SAFETY: the pointers are valid.
    let neither = unsafe { EtwRegister(&PROVIDER, None, null_mut(), &raw mut handle) };
    assert_eq!(neither, NtStatus::Success);
    assert_eq!(host.engine().registrations()[0].handle, handle);
}

#[test]
fn a_failed_registration_leaves_the_handle_alone() {
    let host = Host::new();
    let _here = host.enter();
    host.engine().fail_next(Routine::Register, NtStatus::InsufficientResources);
    let mut handle = 0;
    // SAFETY: the pointers are valid.
    let status = unsafe { EtwRegister(&PROVIDER, None, null_mut(), &raw mut handle) };
    assert_eq!(status, NtStatus::InsufficientResources);
    assert_eq!(handle, 0);
}

#[test]
fn guids_and_handles_may_be_unaligned() {
    let host = Host::new();
    let _here = host.enter();
    let mut space = [0_u8; 40];
    space[1..17].copy_from_slice(&PROVIDER.to_bytes_le());
    let base = space.as_mut_ptr();
    // SAFETY: both addresses are inside the array.
    let status = unsafe { EtwRegister(base.wrapping_add(1).cast(), None, null_mut(), base.wrapping_add(17).cast()) };
    assert_eq!(status, NtStatus::Success);
    let handle = u64::from_ne_bytes(space[17..25].try_into().unwrap());
    let info = &host.engine().registrations()[0];
    assert_eq!(info.handle, handle);
    assert_eq!(info.provider, PROVIDER);
}

#[test]
fn the_callback_gets_everything_the_session_says() {
    let host = Host::new();
    let _here = host.enter();
    let notes = Notes::default();
    let handle = register(&notes);
    let session = host.engine().start_session("s");
    let source = Guid::from_u128(0x1234);
    let filters = vec![Filter::Schematized(vec![9, 8, 7])];
    session.enable(PROVIDER, Enable { level: 3.into(), any: 5, all: 1, source, filters, ..Enable::default() });
    session.capture_state(PROVIDER);
    session.stop();
    let enabled = EnableCall {
        source,
        control: ControlCode::EnableProvider,
        level: 3,
        any: 5,
        all: 1,
        filter: Some((0x8000_0000, vec![9, 8, 7])),
    };
    let captured = EnableCall { control: ControlCode::CaptureState, filter: None, ..enabled.clone() };
    let disabled = EnableCall { control: ControlCode::DisableProvider, level: 0, any: 0, all: 0, ..captured.clone() };
    assert_eq!(notes.take(), [enabled, captured, disabled]);
    assert_eq!(EtwUnregister(handle), NtStatus::Success);
    assert_eq!(EtwUnregister(handle), NtStatus::InvalidHandle);
    assert_eq!(host.engine().findings(), [Finding::StaleHandle { routine: Routine::Unregister, handle }]);
}

#[test]
fn information_is_set_with_the_kernels_statuses() {
    let host = Host::new();
    let _here = host.enter();
    let handle = register_silent();
    let set = |handle: u64, class: EventInfoClass, data: Option<&[u8]>, length: u32| {
        let data = data.map_or(null(), |data| data.as_ptr().cast());
        // SAFETY: the data is NULL or readable for `length` bytes, or the length is above 0x7FFF, which is rejected
        // without reading.
        unsafe { EtwSetInformation(handle, class, data, length) }
    };
    let traits = b"\x04\x00P\x00".as_slice();
    let class = EventInfoClass::SetTraits;
    assert_eq!(set(0, class, Some(traits), 4), NtStatus::InvalidHandle);
    assert_eq!(set(handle, class, None, 4), NtStatus::InvalidParameter);
    assert_eq!(set(handle, class, Some(traits), 2), NtStatus::InvalidParameter);
    assert_eq!(set(handle, class, Some(traits), 0x8000), NtStatus::InvalidParameter);
    assert_eq!(set(handle, class, Some(traits), u32::MAX), NtStatus::InvalidParameter);
    assert_eq!(set(handle, class, Some(traits), 3), NtStatus::FileCorruptError);
    assert_eq!(set(handle, class, Some(traits), 4), NtStatus::Success);
    assert_eq!(set(handle, class, Some(traits), 4), NtStatus::Unsuccessful);
    assert_eq!(host.engine().registrations()[0].traits.as_deref(), Some(traits));
    assert_eq!(set(handle, EventInfoClass::UseDescriptorType, Some(&[2]), 1), NtStatus::InvalidParameter);
    assert_eq!(set(handle, EventInfoClass::UseDescriptorType, Some(&[0]), 1), NtStatus::Success);
    assert_eq!(set(handle, EventInfoClass::BinaryTrackInfo, None, 0), NtStatus::Success);
    assert_eq!(set(handle, EventInfoClass::BinaryTrackInfo, Some(&[]), 0), NtStatus::InvalidParameter);
    assert_eq!(set(handle, EventInfoClass::SetReserved1, None, 0), NtStatus::InvalidDeviceRequest);
}

#[test]
fn events_arrive_with_their_data_and_ids() {
    let host = Host::new();
    let _here = host.enter();
    let handle = register_silent();
    let session = host.engine().start_session("s");
    session.enable(PROVIDER, Enable::default());
    // SAFETY: one readable byte.
    unsafe { EtwSetInformation(handle, EventInfoClass::UseDescriptorType, [1_u8].as_ptr().cast(), 1) };

    let event = error_event(2);
    let data = [
        EventDataDescriptor::provider_traits(b"traits"),
        EventDataDescriptor::event_metadata(b"meta"),
        EventDataDescriptor::new(b"pay"),
        EventDataDescriptor::new(&[]),
        EventDataDescriptor::new(b"load"),
    ];
    let activity = Guid::from_u128(1);
    let related = Guid::from_u128(2);
    // SAFETY: the pointers are valid, and the count is the length of the array.
    let plain = unsafe { EtwWrite(handle, &raw const event, &raw const activity, 5, data.as_ptr()) };
    // SAFETY: as above.
    let transfer = unsafe { EtwWriteTransfer(handle, &raw const event, null(), &raw const related, 5, data.as_ptr()) };
    // SAFETY: as above.
    let extended =
        unsafe { EtwWriteEx(handle, &raw const event, 0xF, 1, &raw const activity, &raw const related, 0, null()) };
    assert_eq!([plain, transfer, extended], [NtStatus::Success; 3]);

    let events = session.events();
    assert_eq!(events[0].traits.as_deref(), Some(b"traits".as_slice()));
    assert_eq!(events[0].metadata.as_deref(), Some(b"meta".as_slice()));
    assert_eq!(events[0].payload.as_slice(), b"payload".as_slice());
    assert_eq!(events[0].descriptors, 5);
    assert_eq!(events[0].activity, activity);
    assert_eq!(events[0].related, None);
    assert_eq!(events[1].activity, Guid::ZERO);
    assert_eq!(events[1].related, Some(related));
    assert_eq!(events[2].activity, activity);
    assert_eq!(events[2].related, Some(related));
    assert_eq!(events[2].filter, 0xF);
    assert_eq!(events[2].flags, 1);
    assert_eq!(events[2].descriptors, 0);
    let routines: Vec<Routine> = host.engine().calls().iter().skip(2).map(|call| call.routine).collect();
    assert_eq!(routines, [Routine::Write, Routine::WriteTransfer, Routine::WriteEx]);
}

#[test]
fn invalid_write_arguments_return_an_error_and_are_not_dereferenced() {
    let host = Host::new();
    let _here = host.enter();
    let handle = register_silent();
    let event = error_event(0);
    let write = |handle: u64, event: *const _, count: u32| {
        // SAFETY: the descriptor is valid or NULL. A NULL array is allowed.
        unsafe { EtwWriteTransfer(handle, event, null(), null(), count, null()) }
    };
    assert_eq!(write(handle, &raw const event, u32::MAX), NtStatus::Success, "no session enabled the provider");
    assert_eq!(write(0, &raw const event, 0), NtStatus::InvalidHandle);
    assert_eq!(write(handle, null(), 0), NtStatus::InvalidParameter);
    let session = host.engine().start_session("s");
    session.enable(PROVIDER, Enable::default());
    assert_eq!(write(handle, &raw const event, u32::MAX), NtStatus::InvalidParameter);
    assert_eq!(write(handle, &raw const event, 129), NtStatus::InvalidParameter);
    assert_eq!(host.engine().findings(), []);
    assert_eq!(write(handle, &raw const event, 1), NtStatus::InvalidParameter);
    assert_eq!(host.engine().findings(), [Finding::UnreadableData { handle, index: 0 }]);
    assert_eq!(session.events(), []);
}

#[test]
fn enabled_is_checked_by_level_and_keyword() {
    let host = Host::new();
    let _here = host.enter();
    let handle = register_silent();
    let event = error_event(1);
    // SAFETY: the descriptor is valid.
    let enabled = || unsafe { EtwEventEnabled(handle, &raw const event) };
    assert_eq!(enabled(), 0);
    assert_eq!(EtwProviderEnabled(handle, 2, 1), 0);
    host.engine().start_session("s").enable(PROVIDER, Enable { level: 2.into(), any: 1, ..Enable::default() });
    assert_eq!(enabled(), 1);
    assert_eq!(EtwProviderEnabled(handle, 2, 1), 1);
    assert_eq!(EtwProviderEnabled(handle, 3, 1), 0);
    assert_eq!(EtwProviderEnabled(handle, 2, 2), 0);
    assert_eq!(EtwProviderEnabled(0, 0, 0), 0);
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { EtwEventEnabled(handle, null()) }, 0);
}

#[test]
fn strings_are_read_up_to_their_end() {
    let host = Host::new();
    let _here = host.enter();
    let handle = register_silent();
    let session = host.engine().start_session("s");
    session.enable(PROVIDER, Enable::default());
    let text = wide("hi");
    // SAFETY: the string is terminated, and a NULL id is allowed.
    let status = unsafe { EtwWriteString(handle, 4, 0, null(), text.as_ptr()) };
    assert_eq!(status, NtStatus::Success);
    assert_eq!(session.events()[0].payload, b"h\0i\0\0\0");
    assert!(session.events()[0].string_only);
    // SAFETY: NULL is allowed.
    let status = unsafe { EtwWriteString(handle, 4, 0, null(), null()) };
    assert_eq!(status, NtStatus::InvalidParameter);
}

#[test]
fn activity_ids_go_through_the_callers_memory() {
    let host = Host::new();
    let _here = host.enter();
    let mut id = Guid::ZERO;
    // SAFETY: the id is readable and writable.
    let control = |code: u32, id: &mut Guid| unsafe { EtwActivityIdControl(code, ptr::from_mut(id)) };
    assert_eq!(control(3, &mut id), NtStatus::Success);
    assert_ne!(id, Guid::ZERO);
    let created = id;
    assert_eq!(control(2, &mut id), NtStatus::Success);
    id = Guid::ZERO;
    assert_eq!(control(1, &mut id), NtStatus::Success);
    assert_eq!(id, created);
    assert_eq!(control(9, &mut id), NtStatus::InvalidParameter);
    host.engine().set_system_threads(true);
    assert_eq!(control(1, &mut id), NtStatus::NotSupported);
    assert_eq!(id, created, "left alone");
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { EtwActivityIdControl(3, null_mut()) }, NtStatus::InvalidParameter);
}
