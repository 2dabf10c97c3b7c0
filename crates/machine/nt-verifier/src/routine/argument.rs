//! The types of arguments, and how they are read from the slots of a call.

use std::marker::PhantomData;

use etw_types::NtStatus;
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, Plain};

use super::Call;
use super::signature::Kind;

/// The slots of a call that have not been read yet, in order.
#[derive(Clone, Copy, Debug)]
pub struct Slots<'a> {
    call: &'a Call,
    next: u64,
}

impl<'a> Slots<'a> {
    /// Returns the slots of a call from `first` on.
    pub const fn new(call: &'a Call, first: u64) -> Self {
        Self { call, next: first }
    }

    /// Returns the next slot without reading it.
    const fn advance(&mut self) -> u64 {
        let index = self.next;
        self.next += 1;
        index
    }

    /// Reads the next slot.
    fn take(&mut self) -> u64 {
        let index = self.advance();
        self.call.slot(index)
    }
}

/// The type of an argument. Width, signedness and number of slots follow from the type, so a declaration cannot read an
/// argument in another way than the driver passed it.
pub trait Argument: Sized {
    /// The kind of each slot that an argument of this type occupies.
    const KINDS: &'static [Kind];

    /// Reads the argument from the next slots.
    fn take(slots: &mut Slots<'_>) -> Self;
}

macro_rules! arguments {
    ($($type:ty: $kind:expr, $slot:ident => $value:expr;)*) => {
        $(
            impl Argument for $type {
                const KINDS: &'static [Kind] = &[$kind];

                fn take(slots: &mut Slots<'_>) -> Self {
                    let $slot = slots.take();
                    $value
                }
            }
        )*
    };
}
arguments! {
    u8: Kind::Unsigned(1), slot => slot as Self;
    u16: Kind::Unsigned(2), slot => slot as Self;
    u32: Kind::Unsigned(4), slot => slot as Self;
    u64: Kind::Unsigned(8), slot => slot;
    i8: Kind::Signed(1), slot => slot as Self;
    i16: Kind::Signed(2), slot => slot as Self;
    i32: Kind::Signed(4), slot => slot as Self;
    i64: Kind::Signed(8), slot => slot.cast_signed();
    // `BOOLEAN`: only the lowest byte is used.
    bool: Kind::Boolean, slot => slot as u8 != 0;
    NtStatus: Kind::Status, slot => Self::from_int(slot as u32);
    Irql: Kind::Unsigned(1), slot => Self(slot as u8);
}

/// `KIRQL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Irql(pub u8);

impl<T> Argument for GuestPtr<T> {
    const KINDS: &'static [Kind] = &[Kind::Pointer];

    fn take(slots: &mut Slots<'_>) -> Self {
        Self::new(slots.take())
    }
}

/// An optional pointer: `None` is NULL.
impl<T> Argument for Option<GuestPtr<T>> {
    const KINDS: &'static [Kind] = &[Kind::Pointer];

    fn take(slots: &mut Slots<'_>) -> Self {
        GuestPtr::take(slots).non_null()
    }
}

/// A counted buffer: a pointer, then a `ULONG` with the number of bytes.
impl Argument for GuestSlice<u8> {
    const KINDS: &'static [Kind] = &[Kind::Pointer, Kind::Unsigned(4)];

    fn take(slots: &mut Slots<'_>) -> Self {
        let start = GuestPtr::take(slots);
        start.array(u32::take(slots).into())
    }
}

/// The place where a routine stores a result. The routine does not read it.
#[derive(Clone, Copy, Debug)]
pub struct Out<T>(GuestPtr<T>);

impl<T: Plain> Out<T> {
    /// Stores the result.
    pub fn set(self, value: T) -> Result<(), Fault> {
        self.0.write(value)
    }

    /// Returns whether the caller passed an address.
    pub const fn is_wanted(self) -> bool {
        !self.0.is_null()
    }

    /// Stores the result, unless the caller passed NULL.
    pub fn set_if_wanted(self, value: T) -> Result<(), Fault> {
        self.0.write_if(value)
    }
}

impl<T> Argument for Out<T> {
    const KINDS: &'static [Kind] = &[Kind::Pointer];

    fn take(slots: &mut Slots<'_>) -> Self {
        Self(GuestPtr::take(slots))
    }
}

/// An argument of type `T` that the host does not use, and does not read.
#[derive(Clone, Copy, Debug)]
pub struct Ignored<T>(PhantomData<fn() -> T>);

impl<T: Argument> Argument for Ignored<T> {
    const KINDS: &'static [Kind] = T::KINDS;

    fn take(slots: &mut Slots<'_>) -> Self {
        for _ in T::KINDS {
            slots.advance();
        }
        Self(PhantomData)
    }
}

/// The variable arguments: the address of the first of them.
#[derive(Clone, Copy, Debug)]
pub struct Rest(pub GuestPtr<u64>);

impl Argument for Rest {
    const KINDS: &'static [Kind] = &[Kind::Rest];

    fn take(slots: &mut Slots<'_>) -> Self {
        Self(slots.call.rest(slots.advance()))
    }
}
