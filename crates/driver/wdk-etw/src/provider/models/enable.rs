//! The enable state: a callback changes it while other threads read it.

use loom::sync::Arc;
use loom::thread;

use crate::provider::state::EnableState;

const VERBOSE: u8 = 5;

fn disabled() -> Arc<EnableState> {
    Arc::new(EnableState::new())
}

struct Setting {
    level: u8,
    any: u64,
    all: u64,
}

/// Masks that an event with keyword 0b110 passes, whichever of them applies.
const SETTINGS: [Setting; 3] = [
    Setting { level: 5, any: 0b100, all: 0b010 },
    Setting { level: 0, any: 0b010, all: 0b110 },
    Setting { level: 200, any: u64::MAX, all: 0 },
];

#[test]
fn an_event_wanted_before_and_after_a_change_is_wanted_throughout() {
    for (first, second) in [(0, 1), (1, 2), (2, 0)] {
        loom::model(move || {
            let state = disabled();
            let Setting { level, any, all } = SETTINGS[first];
            state.enable(level, any, all);
            let callback = {
                let state = state.clone();
                thread::spawn(move || {
                    let Setting { level, any, all } = SETTINGS[second];
                    state.enable(level, any, all);
                })
            };
            assert!(state.wants(VERBOSE, 0b110));
            callback.join().unwrap();
            assert!(state.wants(VERBOSE, 0b110));
        });
    }
}

#[test]
fn a_keyword_of_one_bit_wanted_before_and_after_a_change_is_wanted_throughout() {
    loom::model(|| {
        let state = disabled();
        state.enable(5, 0b011, 0b010);
        let callback = {
            let state = state.clone();
            thread::spawn(move || state.enable(0, 0b110, 0))
        };
        assert!(state.wants(VERBOSE, 0b010));
        callback.join().unwrap();
        assert!(state.wants(VERBOSE, 0b010));
    });
}

/// Events without a keyword depend only on the level, so they never see a mixture of old and new masks.
#[test]
fn an_event_without_keyword_follows_the_level_alone() {
    loom::model(|| {
        let state = disabled();
        state.enable(3, 0, 0);
        let callback = {
            let state = state.clone();
            thread::spawn(move || state.disable())
        };
        assert!(!state.wants(VERBOSE, 0));
        callback.join().unwrap();
        assert!(!state.wants(1, 0));
    });
}

#[test]
fn after_the_last_callback_every_thread_agrees() {
    loom::model(|| {
        let state = disabled();
        let enable = {
            let state = state.clone();
            thread::spawn(move || state.enable(0, 1, 0))
        };
        let _ = state.wants(VERBOSE, 1);
        enable.join().unwrap();
        assert!(state.wants(255, 1));
        assert!(!state.wants(VERBOSE, 2));
        state.disable();
        assert!(!state.wants(0, 0));
    });
}
