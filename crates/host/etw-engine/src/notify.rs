//! Calling providers back.
//!
//! What a callback is told is computed under the state lock and delivered after it is released: a callback may write,
//! ask and control whatever does not call it back again. Deliveries happen only while the gate of the provider's GUID is
//! held, so that the last one a provider sees is the newest.

use etw_types::{ControlCode, Guid};

use crate::callback::{Callback, FilterData, Notification};
use crate::enable::Shown;
use crate::state::{Registration, State};

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
    pub(crate) fn deliver(self, filter: Option<&FilterData>) {
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
