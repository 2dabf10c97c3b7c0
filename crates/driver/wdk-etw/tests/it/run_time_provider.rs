//! Providers whose names are known only at run time.

use etw_engine::Enable;
use etw_symbols::Host;
use wdk_etw::{Guid, NtStatus, ProviderBuffer, write_event};

const GROUP: Guid = Guid::from_u128(0xfaaf_2f61_9b26_4591_9bb1_b9b8_bae2_d34c);

#[test]
fn a_provider_made_at_run_time_is_what_the_macro_makes() {
    static BUFFER: ProviderBuffer<32> = ProviderBuffer::new();
    wdk_etw::define_provider!(CONSTANT, "MyProvider", group_id("faaf2f61-9b26-4591-9bb1-b9b8bae2d34c"));
    assert!(BUFFER.get().is_none());
    let name = String::from("My") + "Provider";
    let provider = BUFFER.define(&name, Some(&GROUP)).expect("it fits exactly");
    drop(name);
    assert_eq!(provider.id(), CONSTANT.id());
    assert_eq!(provider.traits(), CONSTANT.traits());
    assert_eq!(provider.name(), "MyProvider");
    assert_eq!(BUFFER.define("Second", None).err(), Some(NtStatus::AlreadyRegistered));
    assert!(BUFFER.get().is_some_and(|found| std::ptr::eq(found, provider)));
    assert_eq!(format!("{BUFFER:?}"), "ProviderBuffer { state: 2, .. }");

    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { provider.register() }, NtStatus::Success);
    assert_eq!(provider.traits_status(), Some(NtStatus::Success));
    let session = host.engine().start_session("run time");
    session.enable(*provider.id(), Enable::default());
    write_event!(provider, "Event", u32("Value", &7));
    assert_eq!(provider.unregister(), 0, "statuses compare with integers");
    let events = session.events();
    assert_eq!(events[0].payload, 7_u32.to_le_bytes());
}

#[test]
fn a_name_that_does_not_fit_leaves_the_buffer_empty() {
    static BUFFER: ProviderBuffer<8> = ProviderBuffer::new();
    assert_eq!(BUFFER.define("Longer", None).err(), Some(NtStatus::BufferTooSmall));
    assert_eq!(BUFFER.define("A\0B", None).err(), Some(NtStatus::InvalidParameter));
    assert_eq!(BUFFER.define("A", Some(&GROUP)).err(), Some(NtStatus::BufferTooSmall));
    assert_eq!(BUFFER.define("Short", None).map(wdk_etw::Provider::name), Ok("Short"));
}
