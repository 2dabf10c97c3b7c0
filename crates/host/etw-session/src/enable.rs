//! Providers of a session: enable, disable, ask for state.

use etw_types::{ControlCode, Guid};

use crate::explain::Call;
use crate::system::EnableRequest;
use crate::{Enable, Error, Filter, Limit, Session};

/// A provider or a provider group on a session.
#[derive(Clone, Copy, Debug)]
pub struct Provider<'a> {
    session: &'a Session,
    guid: Guid,
    property: u32,
}

impl<'a> Provider<'a> {
    pub(crate) const fn new(session: &'a Session, guid: Guid, property: u32) -> Self {
        Self { session, guid, property }
    }

    /// Asks for events. A second request replaces the first, filters included.
    ///
    /// # Errors
    ///
    /// A limit, or what the system answered. After `Timeout` the request stands.
    pub fn enable(&self, enable: &Enable) -> Result<(), Error> {
        self.call(ControlCode::EnableProvider, enable)
    }

    /// Takes the request back.
    ///
    /// # Errors
    ///
    /// What the system answered.
    pub fn disable(&self) -> Result<(), Error> {
        self.call(ControlCode::DisableProvider, &Enable::default())
    }

    /// Asks the provider, which this session must have enabled, to log its state. `enable` is what the callback is told; the
    /// events reach every session.
    ///
    /// # Errors
    ///
    /// What the system answered.
    pub fn capture_with(&self, enable: &Enable) -> Result<(), Error> {
        self.call(ControlCode::CaptureState, enable)
    }

    /// [`capture_with`](Self::capture_with) every level and keyword.
    ///
    /// # Errors
    ///
    /// What the system answered.
    pub fn capture(&self) -> Result<(), Error> {
        self.capture_with(&Enable::default())
    }

    fn call(&self, control: ControlCode, enable: &Enable) -> Result<(), Error> {
        Limit::rule(!self.guid.is_zero(), "a provider needs a GUID that is not zero")?;
        enable.check()?;
        let encode = |filter: &Filter| Ok((filter.kind(), filter.encode()?));
        let filters = enable.filters.iter().map(encode).collect::<Result<Vec<_>, Limit>>()?;
        let request = EnableRequest {
            provider: self.guid,
            control,
            level: enable.level,
            any: enable.any,
            all: enable.all,
            timeout: u32::try_from(enable.timeout.as_millis()).unwrap_or(u32::MAX),
            property: enable.property | self.property,
            source: enable.source,
            filters: &filters,
        };
        let answer = self.session.system().enable_trace(self.session.handle(), &request);
        answer.map_err(Error::from_call(Call::Enable))
    }
}
