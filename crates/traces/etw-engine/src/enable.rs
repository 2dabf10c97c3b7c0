//! What a session requests, how the requests of several sessions merge, and which events pass.
//!
//! Only values: nothing here takes a lock or runs a callback.

use etw_types::session::Enable;
use etw_types::{Guid, Keyword, Level};

/// Bits of [`Enable::property`]. The engine adds [`ENABLE_KEYWORD_0`](property::ENABLE_KEYWORD_0) to every request
/// without [`IGNORE_KEYWORD_0`](property::IGNORE_KEYWORD_0): a bit that allows events can be merged in the same way as
/// the masks.
pub use etw_types::session::enable as property;

/// What a session enables: one provider, or every provider of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The registrations of this GUID.
    Provider(Guid),
    /// The registrations whose traits name this group.
    Group(Guid),
}

impl From<Guid> for Target {
    fn from(provider: Guid) -> Self {
        Self::Provider(provider)
    }
}

impl Target {
    /// Returns the target with `property` applied: [`property::PROVIDER_GROUP`] turns a provider into a group.
    pub(crate) const fn with_property(self, property: u32) -> Self {
        match self {
            Self::Provider(guid) if property & property::PROVIDER_GROUP != 0 => Self::Group(guid),
            other => other,
        }
    }
}

/// A request as ETW keeps it, with zeros replaced by the values that they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    level: Level,
    any: u64,
    all: u64,
    property: u32,
    shows_level_0: bool,
    shows_any_0: bool,
}

/// Level and masks as a callback receives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) level: Level,
    pub(crate) any: u64,
    pub(crate) all: u64,
}

const EVERY_LEVEL: Level = Level::from_int(0xFF);

impl Settings {
    /// If `raw` is true, callbacks receive level 0 and mask 0 unchanged.
    pub(crate) const fn new(enable: &Enable, raw: bool) -> Self {
        let no_level = enable.level.as_int() == 0;
        let no_any = enable.any == 0;
        Self {
            level: if no_level { EVERY_LEVEL } else { enable.level },
            any: if no_any { u64::MAX } else { enable.any },
            all: enable.all,
            property: if enable.property & property::IGNORE_KEYWORD_0 == 0 {
                enable.property | property::ENABLE_KEYWORD_0
            } else {
                enable.property & !property::ENABLE_KEYWORD_0
            },
            shows_level_0: raw && no_level,
            shows_any_0: raw && no_any,
        }
    }

    /// Merges two requests: the higher level, the union of the `any` masks, the intersection of the `all` masks.
    pub(crate) fn merge(self, other: Self) -> Self {
        Self {
            level: self.level.max(other.level),
            any: self.any | other.any,
            all: self.all & other.all,
            property: self.property | other.property,
            shows_level_0: self.shows_level_0 || other.shows_level_0,
            shows_any_0: self.shows_any_0 || other.shows_any_0,
        }
    }

    /// The kernel's test of an event against a request.
    #[inline]
    pub(crate) fn passes(&self, level: Level, keyword: Keyword) -> bool {
        self.passes_level(level) && self.passes_keyword(keyword)
    }

    #[inline]
    pub(crate) fn passes_level(&self, level: Level) -> bool {
        level <= self.level || self.level.as_int() == 0
    }

    #[inline]
    pub(crate) const fn passes_keyword(&self, keyword: Keyword) -> bool {
        let keyword = keyword.bits();
        if keyword == 0 {
            self.property & property::ENABLE_KEYWORD_0 != 0
        } else {
            keyword & self.any != 0 && keyword & self.all == self.all
        }
    }

    /// Returns the `any` mask: an event must have at least one of these keywords.
    pub(crate) const fn any(&self) -> u64 {
        self.any
    }

    /// `EVENT_ENABLE_PROPERTY_*`.
    pub(crate) const fn property(&self) -> u32 {
        self.property
    }

    pub(crate) fn shown(&self) -> Shown {
        Shown {
            level: if self.shows_level_0 { Level::LogAlways } else { self.level },
            any: if self.shows_any_0 { 0 } else { self.any },
            all: self.all,
        }
    }
}

#[cfg(test)]
mod tests {
    use etw_types::{Keyword, Level};

    use super::{Enable, Settings, property};

    fn settings(level: u8, any: u64, all: u64) -> Settings {
        Settings::new(&Enable { level: Level::from_int(level), any, all, ..Enable::default() }, false)
    }

    #[test]
    fn zero_level_and_mask_become_everything() {
        let shown = settings(0, 0, 0).shown();
        assert_eq!(shown.level.as_int(), 0xFF);
        assert_eq!(shown.any, u64::MAX);
    }

    #[test]
    fn merging_takes_the_highest_level_any_or_and_all_and() {
        let shown = settings(2, 0b011, 0b110).merge(settings(4, 0b110, 0b011)).shown();
        assert_eq!(shown.level.as_int(), 4);
        assert_eq!(shown.any, 0b111);
        assert_eq!(shown.all, 0b010);
    }

    #[test]
    fn events_pass_by_level_and_by_both_masks() {
        let wanted = settings(3, 0b111, 0b001);
        assert!(wanted.passes(Level::Warning, Keyword::from_bits(0b001)));
        assert!(!wanted.passes(Level::Informational, Keyword::from_bits(0b001)));
        assert!(!wanted.passes(Level::Warning, Keyword::from_bits(0b010)));
        assert!(!wanted.passes(Level::Warning, Keyword::from_bits(0b1000)));
        assert!(wanted.passes(Level::LogAlways, Keyword::NONE));
    }

    #[test]
    fn events_without_keyword_can_be_left_out_and_merging_lets_them_in_again() {
        let without = Settings::new(&Enable { property: property::IGNORE_KEYWORD_0, ..Enable::default() }, false);
        assert!(!without.passes(Level::Error, Keyword::NONE));
        assert!(without.passes(Level::Error, Keyword::from_bits(1)));
        let with = settings(0, 0, 0);
        assert!(without.merge(with).passes(Level::Error, Keyword::NONE));
        assert!(with.merge(with).passes(Level::Error, Keyword::NONE));
    }

    #[test]
    fn a_raw_request_shows_its_zeros_and_still_passes_everything() {
        let raw = Settings::new(&Enable::default(), true);
        let shown = raw.merge(settings(3, 1, 0)).shown();
        assert_eq!(shown.level.as_int(), 0);
        assert_eq!(shown.any, 0);
        assert!(raw.passes(Level::from_int(255), Keyword::from_bits(1 << 63)));
    }
}
