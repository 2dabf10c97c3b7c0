//! Classes 11, 15, 19 and 23: a version, a reserved class, and two numbers.

use etw_types::session::{TraceInfoClass, TraceVersionInfo};

use super::wire::exact;
use super::{Information, OfMachine, OfSession, enumerable, queryable};
use crate::Malformed;

/// Declares a class whose data is one number.
macro_rules! number_class {
    ($(#[$meta:meta])* $name:ident = $class:ident, $scope:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub u32);

        impl $crate::info::Information for $name {
            const CLASS: etw_types::session::TraceInfoClass = etw_types::session::TraceInfoClass::$class;
            type Scope = $scope;

            fn encode(&self) -> Vec<u8> {
                self.0.to_le_bytes().to_vec()
            }

            fn decode(data: &[u8]) -> Result<Self, $crate::Malformed> {
                use $crate::info::wire::{Element, exact};
                exact(Self::CLASS, data, 4, u32::read).map(Self)
            }
        }
        $crate::info::queryable!($name, 4);
    };
}
pub(super) use number_class;

/// Class 11: the version of trace processing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessingVersion(pub u32);

impl Information for ProcessingVersion {
    const CLASS: TraceInfoClass = TraceInfoClass::VersionInfo;
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        TraceVersionInfo { processing_version: self.0, reserved: 0 }.to_bytes().to_vec()
    }

    fn decode(data: &[u8]) -> Result<Self, Malformed> {
        let info = exact(Self::CLASS, data, TraceVersionInfo::SIZE, TraceVersionInfo::parse)?;
        Ok(Self(info.processing_version))
    }
}
queryable!(ProcessingVersion, TraceVersionInfo::SIZE);

/// Class 15: reserved. It has no values and can be neither set nor queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserved15 {}

impl Information for Reserved15 {
    const CLASS: TraceInfoClass = TraceInfoClass::InfoReserved15;
    type Scope = OfMachine;

    fn encode(&self) -> Vec<u8> {
        match *self {}
    }

    fn decode(_data: &[u8]) -> Result<Self, Malformed> {
        Err(Malformed { class: Self::CLASS, reason: "the class is reserved" })
    }
}

number_class! {
    /// Class 19: the maximum number of sessions. According to the header it is queried, according to Microsoft Learn it
    /// is enumerated; [`Machine::max_sessions`](crate::Machine::max_sessions) tries both.
    MaxSessions = MaxLoggersQuery, OfMachine
}
enumerable!(MaxSessions);

number_class! {
    /// Class 23: the number of buffer streams of a session: one per processor, or one.
    StreamCount = StreamCount, OfSession
}
