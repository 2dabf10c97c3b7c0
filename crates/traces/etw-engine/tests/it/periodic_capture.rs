//! Periodic capture state, driven by the engine's clock.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::common::{OTHER, PROVIDER, register};
use etw_engine::info::{PeriodicCapture, PeriodicCaptureLimits};
use etw_engine::{Enable, Engine, EngineOptions};
use etw_types::{ControlCode, Guid};

const SECOND: u64 = 10_000_000;

/// Creates an engine with a clock that the test advances.
fn hosted(options: EngineOptions) -> (Engine, Arc<AtomicU64>) {
    let engine = Engine::with_options(options);
    let time = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&time);
    assert!(engine.set_clock(move || clock.load(Ordering::SeqCst)));
    (engine, time)
}

/// A value of class 16, whatever the limits of the machine are.
fn periodic(seconds: u32, providers: Vec<Guid>) -> PeriodicCapture {
    PeriodicCapture::new(seconds, providers, PeriodicCaptureLimits { least_seconds: 0, most_providers: 99 }).unwrap()
}

#[test]
fn a_provider_is_called_whenever_the_period_has_passed() {
    let (engine, time) = hosted(EngineOptions::default());
    let (_, notes) = register(&engine, PROVIDER);
    let (_, others) = register(&engine, OTHER);
    let session = engine.start_session("periodic");
    session.enable(PROVIDER, Enable::default());
    session.enable(OTHER, Enable::default());
    assert_eq!(engine.run_timers(), None, "nothing is due, ever");
    session.set_information(&periodic(60, vec![PROVIDER])).unwrap();
    let asked_at = |seconds: u64| {
        time.store(seconds * SECOND, Ordering::SeqCst);
        notes.take();
        let due = engine.run_timers();
        let asked = notes.take().iter().filter(|note| note.control == ControlCode::CaptureState).count();
        (asked, due.map(|due| due / SECOND))
    };
    assert_eq!(asked_at(59), (0, Some(60)));
    assert_eq!(asked_at(60), (1, Some(120)));
    assert_eq!(asked_at(61), (0, Some(120)));
    assert_eq!(asked_at(300), (1, Some(360)), "missed periods cause one request");
    assert!(others.take().iter().all(|note| note.control != ControlCode::CaptureState), "it is not in the list");

    session.set_information(&periodic(90, vec![PROVIDER])).unwrap();
    assert_eq!(asked_at(360), (0, Some(390)), "a new list counts from when it is set");
    session.set_information(&PeriodicCapture::off()).unwrap();
    assert_eq!(asked_at(1000), (0, None), "cleared");
    session.set_information(&periodic(60, vec![PROVIDER])).unwrap();
    session.stop();
    assert_eq!(asked_at(2000), (0, None), "a stopped session sends no requests");
}

#[test]
fn every_session_has_its_own_period() {
    let (engine, time) = hosted(EngineOptions::default());
    let (_, notes) = register(&engine, PROVIDER);
    for seconds in [60, 100] {
        let session = engine.start_session("periodic");
        session.enable(PROVIDER, Enable::default());
        session.set_information(&periodic(seconds, vec![PROVIDER])).unwrap();
    }
    notes.take();
    let mut asked = Vec::new();
    let mut due = engine.run_timers();
    while let Some(next) = due.filter(|due| *due <= 240 * SECOND) {
        time.store(next, Ordering::SeqCst);
        due = engine.run_timers();
        asked.extend(notes.take().iter().map(|_| next / SECOND));
    }
    assert_eq!(asked, [60, 100, 120, 180, 200, 240]);
}

/// A callback that panics on the first request for the state, and then records the requests.
fn panics_once(engine: &Engine, provider: Guid) -> mpsc::Receiver<()> {
    let (tell, told) = mpsc::channel();
    let is_first = AtomicBool::new(true);
    let callback = move |notification: &etw_engine::Notification<'_>| {
        if notification.control == ControlCode::CaptureState {
            assert!(!is_first.swap(false, Ordering::SeqCst), "the callback of a test panics");
            let _ = tell.send(());
        }
    };
    engine.register(provider, Some(Arc::new(callback)), |_| {}).unwrap();
    told
}

#[test]
fn a_callback_that_panics_stops_neither_the_others_nor_the_timers() {
    let (engine, time) = hosted(EngineOptions::default());
    let told = panics_once(&engine, PROVIDER);
    let (_, notes) = register(&engine, OTHER);
    for _ in 0..2 {
        let session = engine.start_session("periodic");
        session.enable(PROVIDER, Enable::default());
        session.enable(OTHER, Enable::default());
        session.set_information(&periodic(60, vec![PROVIDER, OTHER])).unwrap();
    }
    notes.take();
    time.store(60 * SECOND, Ordering::SeqCst);
    assert!(catch_unwind(AssertUnwindSafe(|| engine.run_timers())).is_err(), "the panic reaches the caller");
    assert_eq!(told.try_iter().count(), 1, "all other requests were made");
    assert_eq!(notes.take().len(), 2, "all other requests were made");
    time.store(120 * SECOND, Ordering::SeqCst);
    assert_eq!(engine.run_timers(), Some(180 * SECOND));
    assert_eq!(told.try_iter().count(), 2);
    assert_eq!(notes.take().len(), 2);
}

#[test]
fn a_callback_that_panics_does_not_end_the_thread_of_the_engine() {
    let engine = Engine::with_options(EngineOptions { periodic_seconds: 1, ..EngineOptions::default() });
    let told = panics_once(&engine, PROVIDER);
    let session = engine.start_session("periodic");
    session.enable(PROVIDER, Enable::default());
    session.set_information(&periodic(1, vec![PROVIDER])).unwrap();
    // The timeout only limits a failing test. The request after the panic arrives after two seconds.
    told.recv_timeout(Duration::from_secs(50)).expect("another request");
}

#[test]
fn without_a_host_a_thread_of_the_engine_asks() {
    let engine = Engine::with_options(EngineOptions { periodic_seconds: 1, ..EngineOptions::default() });
    let (tell, told) = mpsc::channel();
    let callback = move |notification: &etw_engine::Notification<'_>| {
        let _ = tell.send(notification.control);
    };
    engine.register(PROVIDER, Some(Arc::new(callback)), |_| {}).unwrap();
    let session = engine.start_session("periodic");
    session.enable(PROVIDER, Enable::default());
    session.set_information(&periodic(1, vec![PROVIDER])).unwrap();
    // The timeout only limits a failing test. The request arrives after one second.
    let asked = |control: ControlCode| control == ControlCode::CaptureState;
    let mut received = std::iter::from_fn(|| told.recv_timeout(Duration::from_secs(50)).ok());
    assert!(received.any(asked));
}
