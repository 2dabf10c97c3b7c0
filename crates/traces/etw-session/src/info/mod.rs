//! The information classes: one type for each `TRACE_QUERY_INFO_CLASS`.
//!
//! A type defines which class it is, what it belongs to (a session or the machine, so that the compiler rejects the
//! wrong handle), whether it can be set, queried or enumerated, and how its bytes are read and written. [`facts()`]
//! returns the same as values, with the limits, the lengths and the first version of Windows. Decoding handles any
//! bytes: a result without the layout of its class is an error.

mod capture;
mod context;
mod counters;
mod disallow;
mod facts;
mod groups;
mod lbr;
mod numbers;
mod profile;
mod providers;
mod stacks;
mod system_flags;
mod table;
mod wire;

pub use capture::{BinaryTracking, PeriodicCapture, PeriodicCaptureLimits};
pub use context::ContextRegisters;
pub use counters::{MaxPmcCounters, PmcCounters, PmcEvents, PmcOwners, PmcSession, PmcSessions};
pub use disallow::{DisallowList, DisallowedProviders};
pub use facts::{Facts, Length};
pub use groups::{GROUPS, group_by_name};
pub use lbr::{LBR_BITS, LbrConfiguration, LbrEvents};
pub use numbers::{MaxSessions, ProcessingVersion, Reserved15, StreamCount};
pub use profile::{ProfileSource, ProfileSources, ProfileSourcesInUse, SampleInterval};
pub use providers::{
    GroupInstances, ProcessProviders, ProviderGroups, ProviderInstance, ProviderInstances, RegisteredProviders,
};
// The alias is at the re-export: rustdoc 1.95 drops those of an item that it shows elsewhere.
#[doc(alias("TraceStackTracingInfo", "DisablePagingExecutive", "StackWalk_Event"))]
pub use stacks::StackTracing;
pub use stacks::{StackCaching, UnifiedStackCaching};
pub use system_flags::SystemFlags;
pub use table::{all, facts, find, markdown};

use etw_types::session::TraceInfoClass;

use crate::Malformed;

/// What an information class belongs to.
pub trait Scope: sealed::Sealed {
    /// Whether it is a session.
    const IS_SESSION: bool;
}

/// A session.
#[derive(Clone, Copy, Debug)]
pub struct OfSession;

/// The machine.
#[derive(Clone, Copy, Debug)]
pub struct OfMachine;

impl Scope for OfSession {
    const IS_SESSION: bool = true;
}

impl Scope for OfMachine {
    const IS_SESSION: bool = false;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::OfSession {}
    impl Sealed for super::OfMachine {}
}

/// Whether setting a class needs the profile privilege.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Not needed.
    None,
    /// Not documented, but other tools enable it, so this crate tries to.
    Helps,
    /// Needed.
    Needed,
}

/// A value of an information class.
///
/// ```
/// use etw_session::info::{
///     Enumerable, Information, MaxSessions, OfMachine, OfSession, Privilege, ProviderInstances, Queryable, Scope, Settable,
///     StackTracing, StreamCount,
/// };
/// use etw_types::Guid;
///
/// let sessions = MaxSessions(64);
/// assert_eq!(MaxSessions::decode(&sessions.encode()), Ok(sessions));
/// assert!(MaxSessions::decode(b"abc").is_err(), "three bytes are not a number");
///
/// // What belongs to a session is not asked of the machine: the compiler refuses it.
/// fn belongs_to<S: Scope, T: Information<Scope = S>>() {}
/// belongs_to::<OfMachine, MaxSessions>();
/// belongs_to::<OfSession, StreamCount>();
///
/// assert_eq!(<StackTracing as Settable>::PRIVILEGE, Privilege::Helps);
/// assert_eq!(MaxSessions::buffer(&()).len(), 4);
/// assert_eq!(ProviderInstances::input_bytes(&Guid::from_u128(7)).len(), 16);
/// ```
pub trait Information: Sized {
    /// The class.
    const CLASS: TraceInfoClass;
    /// Whether it belongs to a session or the machine.
    type Scope: Scope;

    /// Encodes the value.
    fn encode(&self) -> Vec<u8>;

    /// Decodes a value.
    ///
    /// # Errors
    ///
    /// If the bytes do not have the layout of the class.
    fn decode(data: &[u8]) -> Result<Self, Malformed>;
}

/// A class for `TraceSetInformation`.
pub trait Settable: Information {
    /// Whether the profile privilege is needed.
    const PRIVILEGE: Privilege = Privilege::None;
}

/// A class for `TraceQueryInformation`.
pub trait Queryable: Information {
    /// The input of the query.
    type Input;

    /// Returns the initial buffer. For two classes it contains the input.
    fn buffer(input: &Self::Input) -> Vec<u8>;
}

/// A class for `EnumerateTraceGuidsEx`.
pub trait Enumerable: Information {
    /// The input of the enumeration.
    type Input;

    /// Encodes the input.
    fn input_bytes(input: &Self::Input) -> Vec<u8>;
}

/// Declares that a class can be queried without input, starting with a buffer of `$first` bytes.
macro_rules! queryable {
    ($name:ty, $first:expr) => {
        impl $crate::info::Queryable for $name {
            type Input = ();

            fn buffer((): &()) -> Vec<u8> {
                vec![0; $first]
            }
        }
    };
}

/// Declares that a class can be enumerated, without input or for a GUID.
macro_rules! enumerable {
    ($name:ty) => {
        impl $crate::info::Enumerable for $name {
            type Input = ();

            fn input_bytes((): &()) -> Vec<u8> {
                Vec::new()
            }
        }
    };
    ($name:ty, Guid) => {
        impl $crate::info::Enumerable for $name {
            type Input = etw_types::Guid;

            fn input_bytes(input: &etw_types::Guid) -> Vec<u8> {
                input.to_bytes_le().to_vec()
            }
        }
    };
}

/// Declares a class whose data is a list of elements of one type.
macro_rules! list_class {
    ($(#[$meta:meta])* $name:ident($element:ty) = $class:ident, $scope:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub Vec<$element>);

        impl $crate::info::Information for $name {
            const CLASS: etw_types::session::TraceInfoClass = etw_types::session::TraceInfoClass::$class;
            type Scope = $crate::info::$scope;

            fn encode(&self) -> Vec<u8> {
                $crate::info::wire::encode_all(&self.0)
            }

            fn decode(data: &[u8]) -> Result<Self, $crate::Malformed> {
                $crate::info::wire::decode_all(Self::CLASS, data).map(Self)
            }
        }
    };
}

use {enumerable, list_class, queryable};
