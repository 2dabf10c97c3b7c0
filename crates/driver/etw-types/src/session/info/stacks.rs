//! Classes 3, 24 and 26: which events get a stack, and whether stacks are cached.

use std::vec;
use std::vec::Vec;

use super::codec::exact;
use super::{Information, Length, Malformed, OfSession, Settable, View, Words, list_class, queryable};
use crate::session::{ClassicEventId, MAX_STACK_TRACING_EVENTS, StackCachingInfo, TraceInfoClass};

list_class! {
    /// Class 3: system events that get a stack. A list replaces the previous one; an empty list turns stacks off.
    ///
    /// Microsoft Learn documents that a query returns the list, since Windows 8. The header documents only that the
    /// class can be set, and the authors of Tracy observed `ERROR_NOT_SUPPORTED` on Windows. A query returns whatever
    /// the system returns. On 64-bit Windows the kernel part of a stack cannot always be walked. The documentation of
    /// `TraceSetInformation` says to set the registry value `DisablePagingExecutive` to 1 for as long as that is
    /// needed.
    StackTracing(ClassicEventId) = StackTracingInfo, OfSession,
    set Events, Helps, 0..=MAX_STACK_TRACING_EVENTS, "events with stacks"
}

impl StackTracing {
    /// Turns stacks off.
    #[must_use]
    pub const fn off() -> Self {
        Self(Vec::new())
    }
}

queryable!(StackTracing, 0);

/// Declares one of the two stack caching classes, which have the same data.
macro_rules! caching {
    ($(#[$meta:meta])* $name:ident = $class:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            /// Whether stacks are cached.
            pub enabled: bool,
            /// The size of the cache in bytes; 0 lets the system choose.
            pub cache_size: u32,
            /// The number of buckets of the cache; 0 lets the system choose.
            pub bucket_count: u32,
        }

        impl $name {
            /// A cache with sizes chosen by the system.
            pub const ON: Self = Self { enabled: true, cache_size: 0, bucket_count: 0 };
            /// No cache.
            pub const OFF: Self = Self { enabled: false, cache_size: 0, bucket_count: 0 };
        }

        impl Information for $name {
            const CLASS: TraceInfoClass = TraceInfoClass::$class;
            const LENGTH: Length = Length::exactly(StackCachingInfo::SIZE);
            type Scope = OfSession;

            fn encode(&self) -> Vec<u8> {
                let Self { enabled, cache_size, bucket_count } = *self;
                let info = StackCachingInfo { enabled: enabled.into(), cache_size, bucket_count, ..Default::default() };
                info.to_bytes().to_vec()
            }

            fn decode(data: &[u8]) -> Result<Self, Malformed> {
                let StackCachingInfo { enabled, cache_size, bucket_count, .. } = exact(Self::CLASS, data)?;
                Ok(Self { enabled: enabled != 0, cache_size, bucket_count })
            }

            fn view(&self) -> View {
                View::Record(vec![
                    ("enabled", self.enabled.into()),
                    ("cache_size", self.cache_size.into()),
                    ("bucket_count", self.bucket_count.into()),
                ])
            }

            fn examples() -> Vec<Self> {
                vec![Self::ON, Self { enabled: true, cache_size: 4096, bucket_count: 16 }]
            }
        }

        impl Settable for $name {
            const WORDS: Words = Words::Switch(|is_on| if is_on { Self::ON } else { Self::OFF }.encode());
        }
    };
}

caching! {
    /// Class 24: the stacks of system events are written once and referenced by a key.
    StackCaching = StackCachingInfo
}
caching! {
    /// Class 26: the stacks of all events are written once and referenced by a key. Consumers then receive keys.
    UnifiedStackCaching = UnifiedStackCachingInfo
}
