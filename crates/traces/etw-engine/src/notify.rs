//! Runs the enable callbacks of providers.
//!
//! The arguments of a callback are computed under the state lock and delivered after it is released. A callback may
//! therefore write, query, and control everything that does not run the same callback again. Deliveries happen only
//! inside the gate of the provider's GUID, so that the last one that a provider sees is the newest.

use etw_types::{ControlCode, Guid};

use crate::callback::{Callback, FilterData, Notification};
use crate::enable::Shown;
use crate::state::{Registration, State};

/// A callback that is to run.
pub(crate) struct Delivery {
    callback: Callback,
    provider: Guid,
    handle: u64,
    control: ControlCode,
    shown: Shown,
    source: Guid,
}

impl Delivery {
    /// Reports the merged request of all sessions to a registration: enabled with that request, or disabled. Returns
    /// `None` if the registration has no callback.
    pub(crate) fn for_merged(state: &State, handle: u64, registration: &Registration, source: Guid) -> Option<Self> {
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

    /// Requests the state of a registration, with the level and masks of the requesting session. Returns `None` if the
    /// registration has no callback.
    pub(crate) fn for_capture(handle: u64, registration: &Registration, shown: Shown, source: Guid) -> Option<Self> {
        Some(Self {
            callback: registration.callback.clone()?,
            provider: registration.provider,
            handle,
            control: ControlCode::CaptureState,
            shown,
            source,
        })
    }

    /// Runs the callback. The caller must hold no lock except the gate.
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
