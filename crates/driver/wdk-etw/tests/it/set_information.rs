//! Setting information: the three modes, every operation, and every documented status.

use etw_engine::Routine;
use etw_symbols::Host;
use wdk_etw::{EventInfoClass, Guid, NtStatus, Provider, SetInformationMode, define_provider};

define_provider!(LOOKUP, "SetInformation.Lookup");
define_provider!(MISSING, "SetInformation.Missing");
define_provider!(DIRECT, "SetInformation.Direct", set_information(Direct));
define_provider!(OFF, "SetInformation.Off", set_information(Off));
define_provider!(NEW, "SetInformation.New", target_version(0x0A00_0000));
define_provider!(OLD, "SetInformation.Old", target_version(0x0601_0000));
define_provider!(
    GROUPED,
    "SetInformation.Grouped",
    group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c"),
    custom_trait(130, b"build 7")
);
define_provider!(CLASSES, "SetInformation.Classes");

/// Registers the provider, runs `body`, and unregisters the provider.
fn registered(provider: &'static Provider, host: &Host, body: impl FnOnce()) {
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { provider.register() }, NtStatus::Success);
    body();
    assert_eq!(provider.unregister(), NtStatus::Success);
}

#[test]
fn registering_sets_the_traits_and_switches_descriptor_types_on() {
    for provider in [&LOOKUP, &DIRECT] {
        let host = Host::new();
        registered(provider, &host, || {
            assert_eq!(provider.traits_status(), Some(NtStatus::Success));
            let registration = &host.engine().registrations()[0];
            assert_eq!(registration.traits.as_deref(), Some(provider.traits()));
            assert!(registration.uses_descriptor_types);
        });
    }
}

#[test]
fn without_the_routine_the_status_is_not_supported_and_the_provider_works() {
    let host = Host::new();
    host.engine().hide_routine("EtwSetInformation");
    registered(&MISSING, &host, || {
        assert_eq!(MISSING.traits_status(), Some(NtStatus::NotSupported));
        assert_eq!(MISSING.use_descriptor_type(true), NtStatus::NotSupported);
        assert_eq!(host.engine().count_calls(Routine::SetInformation), 0);
        assert!(MISSING.is_registered());
    });
}

#[test]
fn off_returns_entry_point_not_found_without_a_call() {
    let host = Host::new();
    registered(&OFF, &host, || {
        assert_eq!(OFF.traits_status(), Some(NtStatus::EntryPointNotFound));
        assert_eq!(OFF.set_traits(OFF.traits()), NtStatus::EntryPointNotFound);
        assert_eq!(OFF.track_binary(), NtStatus::EntryPointNotFound);
        assert_eq!(host.engine().count_calls(Routine::SetInformation), 0);
        assert!(!host.engine().registrations()[0].uses_descriptor_types);
    });
}

#[test]
fn the_target_version_chooses_the_documented_default() {
    for (provider, status) in [(&NEW, NtStatus::Success), (&OLD, NtStatus::NotSupported)] {
        let host = Host::new();
        // A hidden routine cannot be looked up by name, but a static import of it still works.
        host.engine().hide_routine("EtwSetInformation");
        registered(provider, &host, || assert_eq!(provider.traits_status(), Some(status)));
    }
}

#[test]
fn the_routine_is_imported_from_the_version_that_the_headers_name() {
    use SetInformationMode::{Direct, Lookup};
    assert_eq!([0x0603_FFFF, 0x0604_0000, 0x0604_0001].map(SetInformationMode::for_ntddi), [Lookup, Direct, Direct]);
    assert_eq!([0x0601, 0x0602, 0x0603].map(SetInformationMode::for_winver), [Lookup, Direct, Direct]);
}

#[test]
fn an_unregistered_provider_returns_the_status_of_its_mode() {
    static LOOKUP: Provider = Provider::new(Guid::ZERO, b"\x03\0\0", SetInformationMode::Lookup);
    static DIRECT: Provider = Provider::new(Guid::ZERO, b"\x03\0\0", SetInformationMode::Direct);
    static OFF: Provider = Provider::new(Guid::ZERO, b"\x03\0\0", SetInformationMode::Off);
    let host = Host::new();
    let _here = host.enter();
    assert_eq!(LOOKUP.use_descriptor_type(true), NtStatus::InvalidHandle);
    assert_eq!(DIRECT.use_descriptor_type(true), NtStatus::InvalidHandle);
    assert_eq!(OFF.use_descriptor_type(true), NtStatus::EntryPointNotFound);
    host.engine().hide_routine("EtwSetInformation");
    assert_eq!(LOOKUP.use_descriptor_type(true), NtStatus::NotSupported);
}

#[test]
fn every_operation_returns_the_documented_status() {
    let host = Host::new();
    registered(&CLASSES, &host, || {
        let registration = || host.engine().registrations()[0].clone();
        assert_eq!(CLASSES.use_descriptor_type(false), NtStatus::Success);
        assert!(!registration().uses_descriptor_types);
        assert_eq!(CLASSES.use_descriptor_type(true), NtStatus::Success);
        assert!(registration().uses_descriptor_types);
        for data in [&b""[..], b"\x02", b"\x01\x00"] {
            let status = CLASSES.set_information(EventInfoClass::UseDescriptorType, data);
            assert_eq!(status, NtStatus::InvalidParameter);
        }
        assert_eq!(CLASSES.track_binary(), NtStatus::Success);
        assert!(registration().tracked);
        assert_eq!(CLASSES.set_traits(CLASSES.traits()), NtStatus::Unsuccessful, "set once per registration");
        for class in [EventInfoClass::SetReserved1, EventInfoClass::MaxEventInfo, EventInfoClass::from_int(99)] {
            assert_eq!(CLASSES.set_information(class, b"\0"), NtStatus::InvalidDeviceRequest);
        }
    });
}

/// One static provider per malformed blob.
macro_rules! malformed {
    ($($(#[$meta:meta])* $test:ident: $blob:expr => $status:ident;)*) => {
        $(
            $(#[$meta])*
            #[test]
            fn $test() {
                static PROVIDER: Provider =
                    Provider::new(Guid::from_name(stringify!($test)), $blob, SetInformationMode::Lookup);
                let host = Host::new();
                registered(&PROVIDER, &host, || {
                    assert_eq!(PROVIDER.traits_status(), Some(NtStatus::$status));
                    assert_eq!(host.engine().registrations()[0].traits, None);
                    assert_eq!(PROVIDER.name(), "");
                });
            }
        )*
    };
}

malformed! {
    traits_without_bytes_are_an_invalid_parameter: b"" => InvalidParameter;
    traits_below_three_bytes_are_an_invalid_parameter: b"\x02\x00" => InvalidParameter;
    traits_over_the_kernels_limit_are_an_invalid_parameter: &[0; 0x8000] => InvalidParameter;
    traits_that_claim_more_than_there_is_are_corrupt: b"\x05\x00P\x00" => FileCorruptError;
    traits_that_claim_less_than_there_is_are_corrupt: b"\x03\x00P\x00" => FileCorruptError;
    traits_without_the_end_of_the_name_are_corrupt: b"\x04\x00Px" => FileCorruptError;
    traits_with_a_record_below_its_header_are_corrupt: b"\x07\x00P\x00\x02\x00\x01" => FileCorruptError;
    traits_with_a_record_beyond_the_end_are_corrupt: b"\x07\x00P\x00\x04\x00\x01" => FileCorruptError;
    traits_with_half_a_record_are_corrupt: b"\x06\x00P\x00\x03\x00" => FileCorruptError;
}

#[test]
fn a_failure_to_set_the_traits_is_kept_and_does_not_fail_the_registration() {
    define_provider!(UNLUCKY, "SetInformation.Unlucky");
    let host = Host::new();
    host.engine().fail_next(Routine::SetInformation, NtStatus::InsufficientResources);
    registered(&UNLUCKY, &host, || {
        assert_eq!(UNLUCKY.traits_status(), Some(NtStatus::InsufficientResources));
        assert_eq!(UNLUCKY.set_traits(UNLUCKY.traits()), NtStatus::Success, "it can be repeated");
    });
}

#[test]
fn group_and_custom_traits_reach_the_system() {
    let host = Host::new();
    registered(&GROUPED, &host, || {
        assert_eq!(GROUPED.traits_status(), Some(NtStatus::Success));
        let registration = &host.engine().registrations()[0];
        assert_eq!(registration.group, Some(Guid::parse("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c").unwrap()));
        let traits = etw_types::traits::validate(registration.traits.as_deref().unwrap()).unwrap();
        assert_eq!(traits.name(), b"SetInformation.Grouped");
        let custom = traits.records().last().unwrap();
        assert_eq!(custom.kind.as_int(), 130);
        assert_eq!(custom.data, &b"build 7"[..]);
    });
}
