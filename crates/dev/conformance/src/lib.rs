//! Writes the same event with `wdk-etw` and with Microsoft's `tracelogging`, and compares what reaches ETW.
//!
//! Both crates call the kernel's routines, which `etw-symbols` provides here, so one engine captures both. The
//! comparison covers the routine that was called, the descriptor, the activity ids, the provider's traits, the metadata
//! and the payload. It does not cover the number of data descriptors: `wdk-etw` needs at most as many, because adjacent
//! fixed-size values share one.
//!
//! `tests/it/differences.rs` tests intentional differences.

use std::sync::{Mutex, MutexGuard, PoisonError};

use etw_engine::{CapturedEvent, Enable, Routine, Session};
use etw_symbols::{Entered, Host};
use etw_types::{Guid, Level, NtStatus};

pub use {tracelogging, wdk_etw};

/// The name that both providers have.
pub const NAME: &str = "Conformance.Provider";

tracelogging::define_provider!(THEIRS_STATIC, "Conformance.Provider");
wdk_etw::define_provider!(
    /// The provider of `wdk-etw`.
    pub OURS,
    "Conformance.Provider"
);

/// The provider of `tracelogging`.
pub static THEIRS: &tracelogging::Provider = &THEIRS_STATIC;

/// Providers are static, so only one comparison can run at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Both providers, registered with one new engine, and a session that has everything enabled.
pub struct Fixture {
    session: Session,
    host: Host,
    _entered: Entered,
    _alone: MutexGuard<'static, ()>,
}

impl Fixture {
    /// Registers both providers with a session that enables this level and every keyword.
    ///
    /// # Panics
    ///
    /// Panics if the engine returns an error.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self::with(|session, provider| session.enable(provider, Enable { level, any: u64::MAX, ..Enable::default() }))
    }

    /// Registers both providers with a session that `enable` configures.
    ///
    /// # Panics
    ///
    /// Panics if the engine returns an error.
    #[must_use]
    pub fn with(enable: impl FnOnce(&Session, Guid) -> NtStatus) -> Self {
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let host = Host::new();
        let entered = host.enter();
        let session = host.engine().start_session("conformance");
        assert!(enable(&session, *OURS.id()).is_success());
        // SAFETY: both are unregistered when the fixture is dropped, and this program is not a driver that could be
        // unloaded.
        let theirs = unsafe { THEIRS.register() };
        // SAFETY: as above.
        let ours = unsafe { OURS.register() };
        assert!(theirs == 0 && ours.is_success());
        Self { session, host, _entered: entered, _alone: alone }
    }

    /// Returns the events that were captured since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<CapturedEvent> {
        self.session.take_events()
    }

    /// Checks that every event so far was written with the routine that Microsoft's code calls.
    ///
    /// # Panics
    ///
    /// Panics if one was not.
    #[track_caller]
    pub fn assert_same_routine(&self) {
        let calls = self.host.engine().calls();
        let is_write = |routine: &Routine| {
            matches!(routine, Routine::Write | Routine::WriteTransfer | Routine::WriteEx | Routine::WriteString)
        };
        let writes: Vec<Routine> = calls.iter().map(|call| call.routine).filter(is_write).collect();
        assert_eq!(writes, [Routine::WriteTransfer; 2]);
    }

    /// Returns the traits that each registration has set, theirs first.
    #[must_use]
    pub fn registered_traits(&self) -> Vec<Option<Vec<u8>>> {
        self.host.engine().registrations().into_iter().map(|registration| registration.traits).collect()
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = OURS.unregister();
        let _ = THEIRS.unregister();
    }
}

/// The data that both crates must agree on.
#[derive(Debug, PartialEq, Eq)]
pub struct Wire {
    provider: Guid,
    descriptor: etw_types::EventDescriptor,
    activity: Guid,
    related: Option<Guid>,
    traits: Option<Vec<u8>>,
    metadata: Option<Vec<u8>>,
    payload: Vec<u8>,
}

impl From<&CapturedEvent> for Wire {
    fn from(event: &CapturedEvent) -> Self {
        Self {
            provider: event.provider,
            descriptor: event.descriptor,
            activity: event.activity,
            related: event.related,
            traits: event.traits.clone(),
            metadata: event.metadata.clone(),
            payload: event.payload.clone(),
        }
    }
}

/// Compares the two captured events, theirs first.
///
/// # Panics
///
/// Panics if they differ, or if there are not exactly two.
#[expect(clippy::panic, reason = "an assertion")]
#[track_caller]
pub fn assert_same(events: &[CapturedEvent]) {
    let [theirs, ours] = events else {
        panic!("expected one event of each crate, captured {}", events.len());
    };
    assert!(theirs.metadata.is_some() && theirs.traits.is_some());
    assert_eq!(Wire::from(ours), Wire::from(theirs));
    assert!(ours.descriptors <= theirs.descriptors, "{} > {}", ours.descriptors, theirs.descriptors);
}

/// Writes one event with both crates and compares them. In the arguments, `tlg` is the crate that writes.
#[macro_export]
macro_rules! same {
    ($name:tt $(, $($rest:tt)*)?) => {{
        let fixture = $crate::Fixture::new($crate::wdk_etw::Level::from_int(255));
        $crate::write_both!($name $(, $($rest)*)?);
        $crate::assert_same(&fixture.take());
        fixture.assert_same_routine();
    }};
}

/// Writes one event with `tracelogging`, then with `wdk-etw`.
#[macro_export]
macro_rules! write_both {
    ($name:tt $(, $($rest:tt)*)?) => {{
        {
            #[allow(unused_imports, reason = "few events need the crate's types")]
            use $crate::tracelogging as tlg;
            use $crate::THEIRS;
            let status = $crate::tracelogging::write_event!(THEIRS, $name $(, $($rest)*)?);
            assert_eq!(status, 0);
        }
        {
            #[allow(unused_imports, reason = "few events need the crate's types")]
            use $crate::wdk_etw as tlg;
            let status = $crate::wdk_etw::write_event!($crate::OURS, $name $(, $($rest)*)?);
            assert!(status.is_success(), "{status}");
        }
    }};
}
