//! Classes 11, 15, 19 and 23: a version, a reserved class, and two numbers.

use std::vec;
use std::vec::Vec;

use super::codec::exact;
use super::{Information, Length, Malformed, OfMachine, View, enumerable, queryable};
use crate::session::{TraceInfoClass, TraceVersionInfo};

/// Declares a class that is queried and whose data is one number.
macro_rules! number_class {
    ($(#[$meta:meta])* $name:ident = $class:ident, $scope:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl $crate::session::info::Information for $name {
            const CLASS: $crate::session::TraceInfoClass = $crate::session::TraceInfoClass::$class;
            const LENGTH: $crate::session::info::Length = $crate::session::info::Length::exactly(size_of::<u32>());
            type Scope = $crate::session::info::$scope;

            fn encode(&self) -> std::vec::Vec<u8> {
                self.0.to_le_bytes().to_vec()
            }

            fn decode(data: &[u8]) -> Result<Self, $crate::session::info::Malformed> {
                $crate::session::info::codec::exact(Self::CLASS, data).map(Self)
            }

            fn view(&self) -> $crate::session::info::View {
                $crate::session::info::View::number(self.0)
            }

            fn examples() -> std::vec::Vec<Self> {
                std::vec![Self(64)]
            }
        }
        $crate::session::info::queryable!($name, size_of::<u32>());
    };
}
pub(super) use number_class;

/// Class 11: the version of trace processing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessingVersion(pub u32);

impl Information for ProcessingVersion {
    const CLASS: TraceInfoClass = TraceInfoClass::VersionInfo;
    const LENGTH: Length = Length::exactly(TraceVersionInfo::SIZE);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        TraceVersionInfo { processing_version: self.0, reserved: 0 }.to_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        exact(Self::CLASS, data).map(|info: TraceVersionInfo| Self(info.processing_version))
    }

    fn view(&self) -> View {
        View::number(self.0)
    }

    fn examples() -> Vec<Self> {
        vec![Self(1)]
    }
}
queryable!(ProcessingVersion, TraceVersionInfo::SIZE);

/// Class 15: reserved. It has no values and can be neither set nor queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved15 {}

impl Information for Reserved15 {
    const CLASS: TraceInfoClass = TraceInfoClass::InfoReserved15;
    const LENGTH: Length = Length::exactly(0);
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        match *self {}
    }

    fn decode(_data: &[u8]) -> Result<Self, Malformed> {
        Err(Malformed { class: Self::CLASS, reason: "the class is reserved" })
    }

    fn view(&self) -> View {
        match *self {}
    }

    fn examples() -> Vec<Self> {
        Vec::new()
    }
}

number_class! {
    /// Class 19: the maximum number of sessions. According to the header it is queried, according to Microsoft Learn it
    /// is enumerated; a controller tries both.
    MaxSessions = MaxLoggersQuery, OfMachine
}
enumerable!(MaxSessions, ());

number_class! {
    /// Class 23: the number of buffer streams of a session: one per processor, or one.
    StreamCount = StreamCount, OfSession
}
