//! Providers of a session: enable, disable, ask for state.

use std::time::Duration;

use etw_types::session::{enable as property, filter::MAX_FILTERS};
use etw_types::{ControlCode, Guid, Keyword, Level};

use crate::explain::Call;
use crate::system::EnableRequest;
use crate::{Error, Filter, Limit, Session};

/// What a session asks of a provider. The default asks for everything and waits five seconds for the callbacks.
///
/// ```
/// use etw_session::{Enable, Filter, Listed};
/// use etw_types::Level;
///
/// let enable = Enable::new(Level::Warning).any(0x2).filter(Filter::EventIds(Listed::Pass, vec![1, 2]));
/// assert!(enable.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enable {
    /// The most verbose level; 0 for every level.
    pub level: Level,
    /// An event's keyword needs one of these bits; 0 for every event. For WPP and MOF providers 0 means nothing: use all ones.
    pub any: u64,
    /// An event's keyword needs all of these bits.
    pub all: u64,
    /// `EVENT_ENABLE_PROPERTY_*`.
    pub property: u32,
    /// Who asks, as the callback is told.
    pub source: Guid,
    /// How long to wait for the callbacks; zero does not wait.
    pub timeout: Duration,
    /// The filters.
    pub filters: Vec<Filter>,
}

impl Default for Enable {
    fn default() -> Self {
        Self {
            level: Level::LogAlways,
            any: 0,
            all: 0,
            property: 0,
            source: Guid::ZERO,
            timeout: Duration::from_secs(5),
            filters: Vec::new(),
        }
    }
}

impl Enable {
    /// Events up to this level.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self { level, ..Self::default() }
    }

    /// Events with one of these keywords.
    #[must_use]
    pub fn any(mut self, keyword: impl Into<Keyword>) -> Self {
        self.any = keyword.into().bits();
        self
    }

    /// Events with all of these keywords.
    #[must_use]
    pub fn all(mut self, keyword: impl Into<Keyword>) -> Self {
        self.all = keyword.into().bits();
        self
    }

    /// Adds bits of `EVENT_ENABLE_PROPERTY_*`.
    #[must_use]
    pub const fn property(mut self, bits: u32) -> Self {
        self.property |= bits;
        self
    }

    /// The GUID is a provider group's.
    #[must_use]
    pub const fn group(self) -> Self {
        self.property(property::PROVIDER_GROUP)
    }

    /// Adds a call stack to every event.
    #[must_use]
    pub const fn stacks(self) -> Self {
        self.property(property::STACK_TRACE)
    }

    /// Adds a filter. A filter about stacks asks for stacks.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        if filter.is_about_stacks() {
            self.property |= property::STACK_TRACE;
        }
        self.filters.push(filter);
        self
    }

    /// How long to wait for the callbacks.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// The first limit that is exceeded.
    pub fn check(&self) -> Result<(), Limit> {
        self.encode_filters().map(drop)
    }

    fn encode_filters(&self) -> Result<Vec<(u32, Vec<u8>)>, Limit> {
        Limit::at_most("filters of a request", self.filters.len(), MAX_FILTERS)?;
        let mut encoded: Vec<(u32, Vec<u8>)> = Vec::new();
        for filter in &self.filters {
            let kind = filter.kind();
            Limit::rule(encoded.iter().all(|(other, _)| *other != kind), "a request has one filter of each kind")?;
            Limit::rule(
                !filter.is_about_stacks() || self.property & property::STACK_TRACE != 0,
                "a filter about stacks needs the property that asks for stacks",
            )?;
            encoded.push((kind, filter.encode()?));
        }
        Ok(encoded)
    }
}

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
        let filters = enable.encode_filters()?;
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

#[cfg(test)]
mod tests {
    use etw_types::Level;

    use super::Enable;
    use crate::{Filter, Listed};

    #[test]
    fn each_kind_of_filter_once_and_at_most_thirteen() {
        let twice = Enable::default().filter(Filter::ProcessIds(vec![1])).filter(Filter::ProcessIds(vec![2]));
        assert_eq!(twice.check().unwrap_err().to_string(), "a request has one filter of each kind");
        let many = (0..14).fold(Enable::default(), |enable, kind| enable.filter(Filter::Other(kind, vec![])));
        assert_eq!(many.check().unwrap_err().to_string(), "14 filters of a request: at most 13 are possible");
    }

    #[test]
    fn a_filter_about_stacks_asks_for_stacks() {
        let mut enable = Enable::new(Level::Error).filter(Filter::StackEventIds(Listed::Pass, vec![1]));
        assert_eq!(enable.property, 4);
        assert_eq!(enable.check(), Ok(()));
        enable.property = 0;
        assert!(enable.check().is_err());
    }
}
