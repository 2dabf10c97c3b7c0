//! Which events are enabled: levels, keywords, and several sessions.

use etw_engine::Enable;
use etw_symbols::Host;
use wdk_etw::{EventDescriptor, Keyword, Level, NtStatus, Provider, define_provider, write_event};

define_provider!(LEVEL_0, "Enabled.Level0");
define_provider!(LEVEL_255, "Enabled.Level255");
define_provider!(MASKS, "Enabled.Masks");
define_provider!(MERGED, "Enabled.Merged");
define_provider!(SYSTEM, "Enabled.System");

/// Every level, or only a few of them under Miri.
const LEVELS: std::ops::RangeInclusive<u8> = if cfg!(miri) { 0..=8 } else { 0..=255 };

fn write_every_level(provider: &'static Provider) {
    let write =
        |level: u8| provider.write(&EventDescriptor::new(Level::from_int(level), Keyword::NONE), None, None, &[]);
    for level in LEVELS {
        assert_eq!(write(level), NtStatus::Success);
    }
}

/// A session at level 0 gets every event. With `raw`, the engine passes the 0 to the provider's callback unchanged; the
/// kernel would replace it with 255. A provider has to understand both.
#[test]
fn a_session_at_level_0_receives_every_event() {
    for raw in [true, false] {
        let host = Host::new();
        let _here = host.enter();
        let session = host.engine().start_session("level 0");
        // SAFETY: unregistered below, by the only thread.
        assert_eq!(unsafe { LEVEL_0.register() }, NtStatus::Success);
        let everything = Enable { level: Level::LogAlways, any: u64::MAX, ..Enable::default() };
        let _ =
            if raw { session.enable_raw(*LEVEL_0.id(), everything) } else { session.enable(*LEVEL_0.id(), everything) };
        write_event!(LEVEL_0, "AlwaysK0", level(LogAlways), keyword(0));
        write_event!(LEVEL_0, "CriticalK1", level(Critical), keyword(1));
        write_event!(LEVEL_0, "VerboseK0", level(Verbose), keyword(0));
        write_event!(LEVEL_0, "VerboseK5", level(Verbose), keyword(5));
        write_event!(LEVEL_0, "OwnLevel", level(200), keyword(1));
        assert_eq!(session.events().len(), 5, "raw: {raw}");
        write_every_level(&LEVEL_0);
        assert_eq!(session.events().len(), 5 + LEVELS.count());
        LEVEL_0.unregister();
    }
}

#[test]
fn a_session_at_level_255_receives_every_event_and_one_at_4_receives_five_levels() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("level 255");
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { LEVEL_255.register() }, NtStatus::Success);
    session.enable(*LEVEL_255.id(), Enable { level: Level::from_int(255), ..Enable::default() });
    write_every_level(&LEVEL_255);
    assert_eq!(session.take_events().len(), LEVELS.count());
    session.enable(*LEVEL_255.id(), Enable { level: Level::Informational, ..Enable::default() });
    for level in LEVELS {
        let is_enabled = level <= Level::Informational.as_int();
        let level = Level::from_int(level);
        assert_eq!(LEVEL_255.enabled(level, 1), is_enabled, "{level}");
        assert_eq!(LEVEL_255.enabled_at_run_time(level, Keyword::from_bits(1)), is_enabled, "{level}");
    }
    write_every_level(&LEVEL_255);
    assert_eq!(session.take_events().len(), 5);
    session.stop();
    write_every_level(&LEVEL_255);
    assert!(!LEVEL_255.enabled(Level::LogAlways, 0));
    LEVEL_255.unregister();
}

/// Every combination of small masks and keywords, compared with the documented rule.
#[test]
fn keywords_follow_the_documented_rule_for_every_mask() {
    let host = Host::new();
    let _here = host.enter();
    let session = host.engine().start_session("masks");
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { MASKS.register() }, NtStatus::Success);
    let limit = if cfg!(miri) { 4 } else { 16 };
    for any in 0..limit {
        for all in 0..limit {
            session.enable_raw(*MASKS.id(), Enable { any, all, ..Enable::default() });
            for keyword in 0..limit {
                let documented = keyword == 0 || (keyword & any != 0 && keyword & all == all);
                assert_eq!(MASKS.enabled(Level::Verbose, keyword), documented, "{any:#x} {all:#x} {keyword:#x}");
                let at_run_time = MASKS.enabled_at_run_time(Level::Verbose, Keyword::from_bits(keyword));
                assert_eq!(at_run_time, documented, "{any:#x} {all:#x} {keyword:#x}");
            }
        }
    }
    MASKS.unregister();
}

#[test]
fn sessions_are_merged_and_each_receives_its_own() {
    let host = Host::new();
    let _here = host.enter();
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { MERGED.register() }, NtStatus::Success);
    let errors = host.engine().start_session("errors");
    let storage = host.engine().start_session("storage");
    errors.enable(*MERGED.id(), Enable { level: Level::Error, any: 0x1, ..Enable::default() });
    storage.enable(*MERGED.id(), Enable { level: Level::Verbose, any: 0x2, ..Enable::default() });
    write_event!(MERGED, "NetworkError", level(Error), keyword(0x1));
    write_event!(MERGED, "StorageDetail", level(Verbose), keyword(0x2));
    write_event!(MERGED, "NetworkDetail", level(Verbose), keyword(0x1));
    assert_eq!(errors.events().len(), 1);
    assert_eq!(storage.events().len(), 1);
    storage.disable(*MERGED.id());
    assert!(!MERGED.enabled(Level::Verbose, 0x2));
    assert!(MERGED.enabled(Level::Error, 0x1));
    MERGED.unregister();
}

#[test]
fn the_system_can_be_queried_instead() {
    let host = Host::new();
    let _here = host.enter();
    let detail = EventDescriptor::new(Level::Verbose, Keyword::from_bits(4));
    assert!(!SYSTEM.query_event_enabled(&detail));
    assert!(!SYSTEM.query_enabled(Level::Critical, 0));
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { SYSTEM.register() }, NtStatus::Success);
    let session = host.engine().start_session("system");
    session.enable(*SYSTEM.id(), Enable { any: 4, ..Enable::default() });
    assert!(SYSTEM.query_event_enabled(&detail));
    assert!(SYSTEM.query_enabled(Level::Verbose, 4));
    assert!(!SYSTEM.query_enabled(Level::Verbose, 8));
    SYSTEM.unregister();
}

#[test]
fn fields_of_a_disabled_event_are_not_evaluated() {
    define_provider!(QUIET, "Enabled.Quiet");
    let host = Host::new();
    let _here = host.enter();
    let mut evaluated = 0;
    let mut next = || {
        evaluated += 1;
        evaluated
    };
    write_event!(QUIET, "Unregistered", u32("Field", &next()));
    // SAFETY: unregistered below, by the only thread.
    assert_eq!(unsafe { QUIET.register() }, NtStatus::Success);
    let session = host.engine().start_session("quiet");
    session.enable(*QUIET.id(), Enable { level: Level::Warning, any: 2, ..Enable::default() });
    write_event!(QUIET, "TooVerbose", level(Informational), keyword(2), u32("Field", &next()));
    write_event!(QUIET, "OtherKeyword", level(Error), keyword(1), u32("Field", &next()));
    write_event!(QUIET, "OtherKeywords", level(Error), keyword(5), u32("Field", &next()));
    write_event!(QUIET, "Wanted", level(Error), keyword(2), u32("Field", &next()));
    QUIET.unregister();
    assert_eq!(evaluated, 1);
    assert_eq!(session.events().len(), 1);
}
