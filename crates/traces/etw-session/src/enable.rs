//! The providers of a session: enable, disable, capture state.

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

    /// Enables the provider. A second request replaces the first, including its filters.
    ///
    /// # Errors
    ///
    /// A limit that the request exceeds, or any error that the system returns. After `Timeout` the request remains in
    /// effect.
    pub fn enable(&self, enable: &Enable) -> Result<(), Error> {
        self.call(ControlCode::EnableProvider, enable)
    }

    /// Disables the provider.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn disable(&self) -> Result<(), Error> {
        self.call(ControlCode::DisableProvider, &Enable::default())
    }

    /// Requests the state of the provider, which this session must have enabled. The callback receives the values of
    /// `enable`; the events go to every session.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
    pub fn capture_with(&self, enable: &Enable) -> Result<(), Error> {
        self.call(ControlCode::CaptureState, enable)
    }

    /// [`capture_with`](Self::capture_with) for every level and keyword.
    ///
    /// # Errors
    ///
    /// Any error that the system returns.
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
        let result = self.session.system().enable_trace(self.session.handle(), &request);
        result.map_err(Error::from_call(Call::Enable))
    }
}
