//! Calling providers back.
//!
//! What a callback is told is computed under the state lock and delivered after it is released: a callback may write,
//! ask and control whatever does not call it back again. Deliveries happen only while the gate of the provider's GUID is
//! held, so that the last one a provider sees is the newest.

use std::sync::Arc;

use etw_types::{ControlCode, Guid, Level};

use crate::enable::{Filter, Shown};
use crate::state::{Registration, State};

/// What ETW tells a provider about the sessions that listen.
#[derive(Clone, Copy, Debug)]
pub struct Notification<'a> {
    /// The registration's GUID.
    pub provider: Guid,
    /// The registration that is called back.
    pub handle: u64,
    /// Who asks; zero when ETW reports, while registering or joining a group, what was enabled before.
    pub source: Guid,
    /// What happened.
    pub control: ControlCode,
    /// The most verbose level wanted.
    pub level: Level,
    /// The keyword bits of which an event needs one.
    pub any: u64,
    /// The keyword bits of which an event needs all.
    pub all: u64,
    /// Filter data of the session whose request caused this.
    pub filter: Option<&'a Filter>,
}

/// A provider's enable callback.
pub type Callback = Arc<dyn Fn(&Notification<'_>) + Send + Sync>;

/// A callback that is due.
pub(crate) struct Delivery {
    callback: Callback,
    provider: Guid,
    handle: u64,
    control: ControlCode,
    shown: Shown,
    source: Guid,
}

impl Delivery {
    /// Tells a registration what all sessions together want now: enabled with the merged request, or disabled.
    pub(crate) fn of_merged(state: &State, handle: u64, registration: &Registration, source: Guid) -> Option<Self> {
        let merged = state.merged(registration);
        Some(Self {
            callback: registration.callback.clone()?,
            provider: registration.provider,
            handle,
            control: match merged {
                Some(_) => ControlCode::EnableProvider,
                None => ControlCode::DisableProvider,
            },
            shown: merged.map_or_else(Shown::default, |settings| settings.shown()),
            source,
        })
    }

    /// Asks a registration for its state, with the values of the one session that wants it.
    pub(crate) fn of_capture(handle: u64, registration: &Registration, shown: Shown, source: Guid) -> Option<Self> {
        Some(Self {
            callback: registration.callback.clone()?,
            provider: registration.provider,
            handle,
            control: ControlCode::CaptureState,
            shown,
            source,
        })
    }

    /// Calls back. No lock but the gate may be held.
    pub(crate) fn deliver(self, filter: Option<&Filter>) {
        (self.callback)(&Notification {
            provider: self.provider,
            handle: self.handle,
            source: self.source,
            control: self.control,
            level: self.shown.level,
            any: self.shown.any,
            all: self.shown.all,
            filter,
        });
    }
}
