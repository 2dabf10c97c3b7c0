//! An engine with a clock that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use etw_engine::{Block, Enable, Engine, EventWrite};
use etw_types::{EventDescriptor, Guid, Keyword, Level};

#[test]
fn events_carry_the_time_of_the_clock_that_was_set() {
    let time = Arc::new(AtomicU64::new(5));
    let engine = Engine::new();
    let clock = Arc::clone(&time);
    assert!(engine.set_clock(move || clock.load(Ordering::Relaxed)));
    assert!(!engine.set_clock(|| 0), "only the first counts");

    let provider = Guid::from_name("Clock");
    let handle = engine.register(provider, None, |_| {}).expect("registered");
    let session = engine.start_session("clock");
    session.enable(provider, Enable::default());
    for now in [7, 9] {
        time.store(now, Ordering::Relaxed);
        let event = EventWrite::new(handle, EventDescriptor::new(Level::Error, Keyword::NONE));
        assert!(engine.write(&event, [Block::data(b"")].as_slice()).is_success());
    }
    let stamps: Vec<u64> = session.events().iter().map(|event| event.timestamp).collect();
    assert_eq!(stamps, [7, 9]);
}
