//! The types of results, and how they become a value for rax.

use std::cmp::Ordering;

use etw_types::NtStatus;
use nt_processor::memory::{Fault, GuestPtr};

use super::signature::Kind;
use super::{Failure, Irql, Outcome};

/// The types that a routine's body may return: a value for rax, or a fault for the driver.
pub trait IntoReply {
    /// The kind of the result.
    const KIND: Kind;
    /// The kind of an [`Outcome`] of this type: a routine whose success has no value returns a status.
    const OUTCOME: Kind = Self::KIND;

    /// Returns the value for rax, or the fault.
    fn into_reply(self) -> Result<u64, Fault>;
}

macro_rules! replies {
    ($($type:ty: $kind:expr, $value:ident => $reply:expr;)*) => {
        $(
            impl IntoReply for $type {
                const KIND: Kind = $kind;

                fn into_reply(self) -> Result<u64, Fault> {
                    let $value = self;
                    Ok($reply)
                }
            }
        )*
    };
}
replies! {
    bool: Kind::Boolean, value => value.into();
    u8: Kind::Unsigned(1), value => value.into();
    u16: Kind::Unsigned(2), value => value.into();
    u32: Kind::Unsigned(4), value => value.into();
    u64: Kind::Unsigned(8), value => value;
    i8: Kind::Signed(1), value => value.cast_unsigned().into();
    i16: Kind::Signed(2), value => value.cast_unsigned().into();
    i32: Kind::Signed(4), value => value.cast_unsigned().into();
    i64: Kind::Signed(8), value => value.cast_unsigned();
    NtStatus: Kind::Status, value => value.as_int().into();
    Irql: Kind::Unsigned(1), value => value.0.into();
    Ordering: Kind::Signed(4), value => (value as i32).cast_unsigned().into();
}

impl IntoReply for () {
    const KIND: Kind = Kind::Void;
    const OUTCOME: Kind = Kind::Status;

    fn into_reply(self) -> Result<u64, Fault> {
        Ok(0)
    }
}

impl<T> IntoReply for GuestPtr<T> {
    const KIND: Kind = Kind::Pointer;

    fn into_reply(self) -> Result<u64, Fault> {
        Ok(self.address())
    }
}

/// `None` is NULL.
impl<T> IntoReply for Option<GuestPtr<T>> {
    const KIND: Kind = Kind::Pointer;

    fn into_reply(self) -> Result<u64, Fault> {
        Ok(self.unwrap_or_default().address())
    }
}

impl<R: IntoReply> IntoReply for Result<R, Fault> {
    const KIND: Kind = R::KIND;

    fn into_reply(self) -> Result<u64, Fault> {
        self?.into_reply()
    }
}

impl<R: IntoReply> IntoReply for Outcome<R> {
    const KIND: Kind = R::OUTCOME;

    fn into_reply(self) -> Result<u64, Fault> {
        match self {
            Ok(value) => value.into_reply(),
            Err(Failure::Status(status)) => status.into_reply(),
            Err(Failure::Fault(fault)) => Err(fault),
        }
    }
}
