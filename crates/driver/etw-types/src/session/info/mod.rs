//! The information classes: one type for each `TRACE_QUERY_INFO_CLASS`.
//!
//! A type defines what it belongs to (a session or the machine, so that the compiler rejects the wrong handle), how its
//! bytes are read and written, its limits, and how a command line writes and shows it. [`facts()`] returns the same as
//! values, with the functions that accept the class and the first version of Windows. Decoding handles any bytes: data
//! without the layout of its class is an error.
//!
//! Controllers and implementations of `TraceSetInformation`, `TraceQueryInformation` and `EnumerateTraceGuidsEx` use
//! the same types.

mod capture;
mod codec;
mod context;
mod counters;
mod disallow;
mod facts;
mod groups;
mod lbr;
mod malformed;
mod numbers;
mod profile;
mod providers;
mod stacks;
mod system_flags;
mod table;
mod text;
pub mod windows;

// The types of the classes, family by family: a new one needs no line here.
pub use capture::*;
pub use context::*;
pub use counters::*;
pub use disallow::*;
pub use lbr::*;
pub use numbers::*;
pub use profile::*;
pub use providers::*;
pub use stacks::*;
// The alias is at the re-export: rustdoc 1.95 drops those of an item that it shows elsewhere.
#[doc(alias("TraceStackTracingInfo", "DisablePagingExecutive", "StackWalk_Event"))]
pub use stacks::StackTracing;
pub use system_flags::*;

pub use facts::{Enumeration, Facts, HandleKind, Length, Query, Refused, Setting};
pub use groups::{GROUPS, group_by_name};
pub use malformed::Malformed;
pub use table::{all, facts, find, markdown};
pub use text::{Cell, Record, View, Words};

pub(super) use facts::{enumerate, query, set};

use std::vec::Vec;

use super::TraceInfoClass;
use super::limit::Limit;
use crate::Guid;

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
    /// Not documented, but other tools enable it, so this project tries to.
    Helps,
    /// Needed.
    Needed,
}

/// A value of an information class.
///
/// ```
/// use etw_types::Guid;
/// use etw_types::session::info::{
///     Enumerable, Information, MaxSessions, OfMachine, OfSession, Privilege, ProviderInstances, Queryable, Scope, Settable,
///     StackTracing, StreamCount, View,
/// };
///
/// let sessions = MaxSessions(64);
/// assert_eq!(MaxSessions::decode(&sessions.encode()), Ok(sessions));
/// assert!(MaxSessions::decode(b"abc").is_err(), "three bytes are not a number");
/// assert_eq!(sessions.view(), View::Record(vec![("value", 64_u32.into())]));
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
    /// The lengths that its data can have.
    const LENGTH: Length;
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

    /// Shows the value to people and programs.
    fn view(&self) -> View;

    /// Returns valid values, for tests and probes.
    fn examples() -> Vec<Self>;
}

/// A class for `TraceSetInformation`.
pub trait Settable: Information {
    /// Whether the profile privilege is needed.
    const PRIVILEGE: Privilege = Privilege::None;
    /// The lengths of data that is set, if they are not those of a result.
    const SET_LENGTH: Length = Self::LENGTH;
    /// The words of a command line that make a value.
    const WORDS: Words;

    /// Decodes data that is set.
    ///
    /// # Errors
    ///
    /// If the bytes do not have the layout of the class.
    fn decode_set(data: &[u8]) -> Result<Self, Malformed> {
        Self::decode(data)
    }

    /// Checks the limits that do not depend on the machine.
    ///
    /// # Errors
    ///
    /// The limit that the value exceeds.
    fn check(&self) -> Result<(), Limit> {
        Ok(())
    }

    /// Returns the value if it is within its limits.
    ///
    /// # Errors
    ///
    /// The limit that the value exceeds.
    fn checked(self) -> Result<Self, Limit> {
        self.check().map(|()| self)
    }
}

/// A class for `TraceQueryInformation`.
pub trait Queryable: Information {
    /// The input of the query.
    type Input: QueryInput;

    /// Returns the initial buffer. For two classes it contains the input.
    fn buffer(input: &Self::Input) -> Vec<u8>;
}

/// A class for `EnumerateTraceGuidsEx`.
pub trait Enumerable: Information {
    /// The input of the enumeration.
    type Input: EnumerationInput;

    /// Encodes the input.
    fn input_bytes(input: &Self::Input) -> Vec<u8> {
        input.bytes()
    }
}

/// The input of a query: nothing, or a number.
pub trait QueryInput {
    /// Whether the query needs an input.
    const IS_NEEDED: bool;
    /// Makes an input of a number.
    fn from_number(number: u32) -> Self;
}

impl QueryInput for () {
    const IS_NEEDED: bool = false;
    fn from_number(_: u32) {}
}

impl QueryInput for u32 {
    const IS_NEEDED: bool = true;
    fn from_number(number: u32) -> Self {
        number
    }
}

/// The input of an enumeration: nothing, or a GUID.
pub trait EnumerationInput {
    /// Whether the enumeration needs a GUID.
    const IS_NEEDED: bool;
    /// Encodes the input.
    fn bytes(&self) -> Vec<u8>;
}

impl EnumerationInput for () {
    const IS_NEEDED: bool = false;
    fn bytes(&self) -> Vec<u8> {
        Vec::new()
    }
}

impl EnumerationInput for Guid {
    const IS_NEEDED: bool = true;
    fn bytes(&self) -> Vec<u8> {
        self.to_bytes_le().to_vec()
    }
}

/// Declares that a class can be queried without input, starting with a buffer of `$first` bytes.
macro_rules! queryable {
    ($name:ty, $first:expr) => {
        impl $crate::session::info::Queryable for $name {
            type Input = ();

            fn buffer((): &()) -> std::vec::Vec<u8> {
                std::vec![0; $first]
            }
        }
    };
}

/// Declares that a class can be enumerated, without input or for a GUID.
macro_rules! enumerable {
    ($name:ty, $input:ty) => {
        impl $crate::session::info::Enumerable for $name {
            type Input = $input;
        }
    };
}

/// Declares a class whose data is a list of elements of one type. With `set`, it can be set to lists of some lengths.
macro_rules! list_class {
    ($(#[$meta:meta])* $name:ident($element:ty) = $class:ident, $scope:ident) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub std::vec::Vec<$element>);

        impl $crate::session::info::Information for $name {
            const CLASS: $crate::session::TraceInfoClass = $crate::session::TraceInfoClass::$class;
            const LENGTH: $crate::session::info::Length = $crate::session::info::Length::list(0, size_of::<$element>());
            type Scope = $crate::session::info::$scope;

            fn encode(&self) -> std::vec::Vec<u8> {
                $crate::session::info::codec::encode_all(&self.0)
            }

            fn decode(data: &[u8]) -> Result<Self, $crate::session::info::Malformed> {
                $crate::session::info::codec::decode_all(Self::CLASS, data).map(Self)
            }

            fn view(&self) -> $crate::session::info::View {
                $crate::session::info::text::list(&self.0)
            }

            fn examples() -> std::vec::Vec<Self> {
                use $crate::session::info::text::ListElement;
                std::vec![Self(std::vec![<$element>::EXAMPLE]), Self(std::vec![<$element>::EXAMPLE; 2])]
            }
        }
    };
    (
        $(#[$meta:meta])* $name:ident($element:ty) = $class:ident, $scope:ident,
        set $words:ident, $privilege:ident, $range:expr, $what:literal
    ) => {
        list_class! { $(#[$meta])* $name($element) = $class, $scope }

        impl $name {
            /// Returns a list, if it is neither too short nor too long for the class.
            ///
            /// # Errors
            ///
            /// The limit that the length exceeds.
            pub fn new(list: std::vec::Vec<$element>) -> Result<Self, $crate::session::Limit> {
                $crate::session::info::Settable::checked(Self(list))
            }
        }

        impl $crate::session::info::Settable for $name {
            const PRIVILEGE: $crate::session::info::Privilege = $crate::session::info::Privilege::$privilege;
            const SET_LENGTH: $crate::session::info::Length =
                $crate::session::info::Length::list(*$range.start() * size_of::<$element>(), size_of::<$element>());
            const WORDS: $crate::session::info::Words =
                $crate::session::info::Words::$words(|list| Self::new(list).map(|value| {
                    $crate::session::info::Information::encode(&value)
                }));

            fn check(&self) -> Result<(), $crate::session::Limit> {
                $crate::session::Limit::at_least($what, self.0.len(), *$range.start())?;
                $crate::session::Limit::at_most($what, self.0.len(), *$range.end())
            }
        }
    };
}

use {enumerable, list_class, queryable};
