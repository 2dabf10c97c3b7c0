//! The parameters with which a session enables a provider.

use std::time::Duration;
use std::vec::Vec;

use super::{Filter, rules};
use crate::session::{Limit, enable as property};
use crate::{Guid, Keyword, Level};

/// The parameters with which a session enables a provider. The default requests all events and waits five seconds for
/// the enable callbacks.
///
/// ```
/// use etw_types::Level;
/// use etw_types::session::{Enable, Filter, Listed};
///
/// let enable = Enable::new(Level::Warning).any(0x2).filter(Filter::EventIds(Listed::Pass, vec![1, 2]));
/// assert!(enable.check().is_ok());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enable {
    /// The most verbose level. 0 means every level.
    pub level: Level,
    /// An event's keyword must have at least one of these bits. 0 means every event, except for WPP and MOF providers,
    /// where it means no event: use all ones for them.
    pub any: u64,
    /// An event's keyword must have all of these bits.
    pub all: u64,
    /// `EVENT_ENABLE_PROPERTY_*`.
    pub property: u32,
    /// The source id that the enable callback receives.
    pub source: Guid,
    /// How long to wait for the enable callbacks. Zero means not to wait.
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
    /// Requests events up to this level.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self { level, ..Self::default() }
    }

    /// Requests events that have at least one of these keywords.
    #[must_use]
    pub fn any(mut self, keyword: impl Into<Keyword>) -> Self {
        self.any = keyword.into().bits();
        self
    }

    /// Requests events that have all of these keywords.
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

    /// The GUID to enable is that of a provider group.
    #[must_use]
    pub const fn group(self) -> Self {
        self.property(property::PROVIDER_GROUP)
    }

    /// Records a call stack with every event.
    #[must_use]
    pub const fn stacks(self) -> Self {
        self.property(property::STACK_TRACE)
    }

    /// Adds a filter. A filter for stacks also enables stacks.
    #[must_use]
    pub fn filter(mut self, filter: Filter) -> Self {
        if filter.is_about_stacks() {
            self.property |= property::STACK_TRACE;
        }
        self.filters.push(filter);
        self
    }

    /// Sets how long to wait for the enable callbacks.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Checks every limit and rule.
    ///
    /// # Errors
    ///
    /// Returns the first one that is violated.
    pub fn check(&self) -> Result<(), Limit> {
        rules::check_enable(self, |_| true)
    }

    /// Checks the limits, and the rules that `EnableTraceEx2` enforces.
    ///
    /// # Errors
    ///
    /// Returns the first one that is violated.
    pub fn check_enforced(&self) -> Result<(), Limit> {
        rules::check_enable(self, |rule| rule.is_enforced)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;
    use std::time::Duration;
    use std::vec;

    use super::{Enable, property};
    use crate::session::{Filter, Listed};
    use crate::{Guid, Level};

    #[test]
    fn each_filter_type_is_allowed_once_and_there_are_at_most_thirteen() {
        let twice = Enable::default().filter(Filter::ProcessIds(vec![1])).filter(Filter::ProcessIds(vec![2]));
        assert_eq!(twice.check().unwrap_err().to_string(), "a request can have only one filter of each kind");
        assert_eq!(twice.check_enforced(), twice.check());
        let many = (0..14).fold(Enable::default(), |enable, kind| enable.filter(Filter::Other(kind, vec![])));
        assert_eq!(many.check().unwrap_err().to_string(), "14 filters of a request: the maximum is 13");
    }

    #[test]
    fn a_builder_sets_its_part_and_keeps_the_others() {
        let other = Filter::ProcessIds(vec![1]);
        let enable = Enable::new(Level::Warning).any(2_u64).all(3_u64).property(property::SID).stacks().group();
        let expected = Enable {
            level: Level::Warning,
            any: 2,
            all: 3,
            property: property::SID | property::STACK_TRACE | property::PROVIDER_GROUP,
            source: Guid::ZERO,
            timeout: Duration::from_millis(7),
            filters: vec![other.clone()],
        };
        assert_eq!(enable.filter(other).timeout(Duration::from_millis(7)), expected);
    }

    #[test]
    fn a_stack_filter_enables_stacks() {
        assert_eq!(Enable::default().filter(Filter::EventIds(Listed::Pass, vec![1])).property, 0);
        let mut enable = Enable::new(Level::Error).filter(Filter::StackEventIds(Listed::Pass, vec![1]));
        assert_eq!(enable.property, 4);
        assert_eq!(enable.check(), Ok(()));
        enable.property = 0;
        assert!(enable.check().is_err());
        assert_eq!(enable.check_enforced(), Ok(()), "it has no effect");
    }
}
