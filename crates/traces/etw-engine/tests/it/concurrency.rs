//! Threads that register, control and write at the same time. No test relies on elapsed time.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::common::{GROUP, OTHER, PROVIDER, register, write};
use etw_engine::{Callback, Enable, Engine, Routine, Target};
use etw_types::{ControlCode, EventInfoClass, Keyword, Level, NtStatus};

const ROUNDS: usize = if cfg!(miri) { 5 } else { 300 };

/// Returns a callback that signals that it is running, and waits for a message before it returns.
fn halting() -> (Callback, Receiver<()>, Sender<()>) {
    let (running, runs) = channel();
    let (go_on, told) = channel();
    let told = Mutex::new(told);
    let callback: Callback = Arc::new(move |_| {
        running.send(()).unwrap();
        told.lock().unwrap().recv().unwrap();
    });
    (callback, runs, go_on)
}

#[test]
fn everything_else_goes_on_while_a_callback_runs() {
    let engine = Engine::new();
    let (callback, runs, go_on) = halting();
    let handle = engine.register(PROVIDER, Some(callback), |_| {}).unwrap();
    let session = engine.start_session("s");
    thread::scope(|scope| {
        scope.spawn(|| session.enable(PROVIDER, Enable::default()));
        runs.recv().unwrap();
        // The callback is running on the other thread, and stays there until it receives a message.
        assert_eq!(write(&engine, handle, Level::Error, 0, b"x"), NtStatus::Success);
        assert!(engine.provider_enabled(handle, Level::Error, Keyword::NONE));
        assert_eq!(engine.set_information(handle, EventInfoClass::UseDescriptorType, &[1]), NtStatus::Success);
        let (other, notes) = register(&engine, OTHER);
        let second = engine.start_session("second");
        assert_eq!(second.enable(OTHER, Enable::default()), NtStatus::Success);
        assert_eq!(notes.take().len(), 1);
        assert_eq!(second.stop(), NtStatus::Success);
        assert_eq!(engine.unregister(other), NtStatus::Success);
        go_on.send(()).unwrap();
    });
    assert_eq!(session.events().len(), 1);
    assert_eq!(engine.findings(), []);
}

#[test]
fn unregister_waits_for_a_callback_on_another_thread() {
    let engine = Engine::new();
    let order = Arc::new(Mutex::new(Vec::new()));
    let (running, runs) = channel();
    let callback: Callback = {
        let engine = engine.downgrade();
        let order = order.clone();
        Arc::new(move |_| {
            running.send(()).unwrap();
            // Stays here until the other thread is inside unregister, and a little longer.
            let engine = engine.upgrade().unwrap();
            let waiting = |engine: &Engine| {
                engine
                    .calls()
                    .iter()
                    .any(|call| call.routine == Routine::Unregister && call.status == NtStatus::Pending)
            };
            while !waiting(&engine) {
                thread::yield_now();
            }
            for _ in 0..100 {
                thread::yield_now();
            }
            order.lock().unwrap().push("callback ends");
        })
    };
    let handle = engine.register(PROVIDER, Some(callback), |_| {}).unwrap();
    let session = engine.start_session("s");
    thread::scope(|scope| {
        scope.spawn(|| session.enable(PROVIDER, Enable::default()));
        runs.recv().unwrap();
        assert_eq!(engine.unregister(handle), NtStatus::Success);
        order.lock().unwrap().push("unregistered");
    });
    assert_eq!(*order.lock().unwrap(), ["callback ends", "unregistered"]);
}

#[test]
fn callbacks_of_a_guid_do_not_overlap_and_the_last_one_tells_the_final_state() {
    let engine = Engine::new();
    let inside = Arc::new(AtomicBool::new(false));
    let last = Arc::new(AtomicU64::new(u64::MAX));
    let callback = || -> Callback {
        let inside = inside.clone();
        let last = last.clone();
        Arc::new(move |notification| {
            assert!(!inside.swap(true, Ordering::AcqRel), "two callbacks at once");
            let any = if notification.control == ControlCode::DisableProvider { 0 } else { notification.any };
            last.store(any, Ordering::Relaxed);
            inside.store(false, Ordering::Release);
        })
    };
    engine.register(PROVIDER, Some(callback()), |_| {}).unwrap();
    engine.register(PROVIDER, Some(callback()), |_| {}).unwrap();
    let sessions: Vec<_> = (0..4).map(|number| engine.start_session(&number.to_string())).collect();
    thread::scope(|scope| {
        for (bit, session) in sessions.iter().enumerate() {
            scope.spawn(move || {
                for _ in 0..ROUNDS {
                    session.enable(PROVIDER, Enable { any: 1 << bit, ..Enable::default() });
                    session.disable(PROVIDER);
                }
                // The even sessions stay enabled.
                if bit % 2 == 0 {
                    session.enable(PROVIDER, Enable { any: 1 << bit, ..Enable::default() });
                }
            });
        }
    });
    assert_eq!(last.load(Ordering::Relaxed), 0b0101);
}

#[test]
fn no_callback_comes_after_unregister() {
    let engine = Engine::new();
    let session = engine.start_session("s");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                session.enable(PROVIDER, Enable::default());
                session.capture_state(PROVIDER);
                session.disable(PROVIDER);
            }
        });
        let workers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let registered = Arc::new(AtomicBool::new(true));
                        let callback: Callback = {
                            let registered = registered.clone();
                            Arc::new(move |_| assert!(registered.load(Ordering::Acquire), "called back too late"))
                        };
                        let handle = engine.register(PROVIDER, Some(callback), |_| {}).unwrap();
                        assert_eq!(engine.unregister(handle), NtStatus::Success);
                        registered.store(false, Ordering::Release);
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert!(engine.registrations().is_empty());
    assert_eq!(engine.findings(), []);
}

#[test]
fn of_two_threads_that_unregister_one_handle_one_succeeds() {
    for _ in 0..ROUNDS {
        let engine = Engine::new();
        let (handle, _) = register(&engine, PROVIDER);
        let (here, there) = thread::scope(|scope| {
            let there = scope.spawn(|| engine.unregister(handle));
            (engine.unregister(handle), there.join().unwrap())
        });
        let mut results = [here, there];
        results.sort_unstable();
        assert_eq!(results, [NtStatus::Success, NtStatus::InvalidHandle]);
        assert_eq!(engine.findings().len(), 1);
    }
}

#[test]
fn a_stopped_session_captures_nothing_more() {
    let engine = Engine::new();
    let (handle, _) = register(&engine, PROVIDER);
    let written = AtomicUsize::new(0);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        assert_eq!(write(&engine, handle, Level::Error, 0, b"x"), NtStatus::Success);
                        written.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        while !writers.iter().all(thread::ScopedJoinHandle::is_finished) {
            let session = engine.start_session("s");
            session.enable(PROVIDER, Enable::default());
            session.stop();
            let captured = session.events().len();
            write(&engine, handle, Level::Error, 0, b"x");
            thread::yield_now();
            assert_eq!(session.events().len(), captured);
        }
    });
    assert_eq!(written.load(Ordering::Relaxed), 2 * ROUNDS);
}

#[test]
fn joining_and_enabling_a_group_at_the_same_time_always_ends_enabled() {
    let mut traits = b"\x17\x00P\x00\x13\x00\x01".to_vec();
    traits.extend_from_slice(&GROUP.to_bytes_le());
    for _ in 0..ROUNDS {
        let engine = Engine::new();
        let (handle, notes) = register(&engine, PROVIDER);
        let (other, other_notes) = register(&engine, OTHER);
        let session = engine.start_session("s");
        thread::scope(|scope| {
            scope.spawn(|| session.enable(Target::Group(GROUP), Enable::default()));
            scope.spawn(|| engine.set_information(handle, EventInfoClass::SetTraits, traits.as_slice()));
            engine.set_information(other, EventInfoClass::SetTraits, traits.as_slice());
        });
        for notes in [notes, other_notes] {
            let notes = notes.take();
            assert_eq!(notes.len(), 1, "told once, by whichever came second: {notes:?}");
            assert_eq!(notes[0].control, ControlCode::EnableProvider);
        }
        assert_eq!(engine.findings(), []);
    }
}
