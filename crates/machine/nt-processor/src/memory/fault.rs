//! An access to guest memory that the processor refused.

use std::fmt;

use crate::layer_state::LayerState;

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read, or the fetch of an instruction.
    Read,
    /// A write.
    Write,
}

/// A failed access: no memory is mapped at the address, or its pages do not allow the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The address that the processor reported; the start of the access if the address is not canonical.
    pub address: u64,
    /// The kind of the access.
    pub access: Access,
}

impl Fault {
    /// Returns whether the address is canonical: its upper 17 bits are equal.
    pub const fn is_canonical(self) -> bool {
        is_canonical(self.address)
    }
}

/// The registers with which a thread continues after its access faulted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// New rip.
    pub target: u64,
    /// New rax.
    pub address: u64,
    /// New rdx.
    pub fault: u64,
}

/// Returns whether the upper 17 bits of an address are equal.
pub const fn is_canonical(address: u64) -> bool {
    matches!(address >> 47, 0 | 0x1_FFFF)
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_canonical() {
            return f.write_str("uses an address that is not canonical");
        }
        let verb = match self.access {
            Access::Read => "reads",
            Access::Write => "writes to",
        };
        write!(f, "{verb} {:#x}", self.address)
    }
}

/// The function that is called for a fault that nothing handles.
pub struct Unhandled(pub fn(Fault) -> !);

static STOP: LayerState<Unhandled> = LayerState::new();

/// Sets the function that is called for a fault that nothing handles. Later calls have no effect.
pub fn on_unhandled(stop: &'static Unhandled) {
    STOP.attach(stop);
}

/// Extends the results of accesses that fail only if the driver or the host made a mistake that ends the run.
pub trait OrStop {
    /// The value, or what else is left if the access did not fault.
    type Left;

    /// Returns what is left, or ends the run if the access faulted.
    fn or_stop(self) -> Self::Left;
}

/// An error that is a fault, or can be one.
pub trait MayFault: Sized {
    /// What is left of a result that is not a fault.
    type Left<T>;

    /// Returns what is left of a result, or ends the run if it is a fault.
    fn or_stop<T>(result: Result<T, Self>) -> Self::Left<T>;
}

impl<T, E: MayFault> OrStop for Result<T, E> {
    type Left = E::Left<T>;

    fn or_stop(self) -> E::Left<T> {
        E::or_stop(self)
    }
}

impl MayFault for Fault {
    type Left<T> = T;

    #[expect(clippy::panic, reason = "a fault before a machine was started is a mistake of the host")]
    fn or_stop<T>(result: Result<T, Self>) -> T {
        result.unwrap_or_else(|fault| match STOP.find() {
            Some(Unhandled(stop)) => stop(fault),
            None => panic!("the host {fault}"),
        })
    }
}
