//! The description of a routine, and how a call reaches it.

mod argument;
mod declare;
mod reply;
mod signature;
#[cfg(test)]
mod tests;

use etw_types::NtStatus;
use nt_processor::memory::{Fault, GuestPtr, MayFault, OrStop as _};
use windows_constants::processor::{APC_LEVEL, DISPATCH_LEVEL, HIGH_LEVEL, PASSIVE_LEVEL};

pub use crate::{functions, routines};
pub use argument::{Argument, Ignored, Irql, Out, Rest, Slots};
pub use reply::IntoReply;
pub use signature::{Kind, Signature};

// The highest IRQLs at which routines may be called.

/// `PASSIVE_LEVEL`, as the highest IRQL at which a routine may be called.
pub const PASSIVE: u8 = PASSIVE_LEVEL;
/// `APC_LEVEL`.
pub const APC: u8 = APC_LEVEL;
/// `DISPATCH_LEVEL`.
pub const DISPATCH: u8 = DISPATCH_LEVEL;
/// `HIGH_LEVEL`: every IRQL.
pub const ANY: u8 = HIGH_LEVEL;

// The modules whose routines this host has, apart from those of the framework.

/// The kernel.
pub const KERNEL: &str = "ntoskrnl.exe";
/// The hardware abstraction layer.
pub const HAL: &str = "hal.dll";
/// The library of WMI.
pub const WMI_LIBRARY: &str = "wmilib.sys";
/// The recorder of WPP messages.
pub const WPP_RECORDER: &str = "wpprecorder.sys";
/// The filter manager.
pub const FILTER_MANAGER: &str = "fltmgr.sys";
/// The Windows Filtering Platform for callout drivers.
pub const FILTERING: &str = "fwpkclnt.sys";
/// The library of network drivers.
pub const NDIS: &str = "ndis.sys";
/// Cryptography API: Next Generation.
pub const CNG: &str = "cng.sys";
/// The HID class driver.
pub const HID_CLASS: &str = "hidclass.sys";
/// It exports the routines of [`CNG`] as well.
pub const SECURITY: &str = "ksecdd.sys";

/// The status with which most routines fail.
pub const NO_RESOURCES: NtStatus = NtStatus::InsufficientResources;

/// How a routine reports failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// It cannot fail.
    Never,
    /// It returns a status: this one, unless a script names another.
    Status(NtStatus),
    /// It returns NULL or FALSE.
    Zero,
}

/// A routine that this host implements.
pub struct Routine {
    /// The name in C.
    pub name: &'static str,
    /// The module that exports it.
    pub module: &'static str,
    /// The source file that declares it, as the compiler was given it.
    pub file: &'static str,
    /// The highest IRQL at which it may be called, whatever its arguments are.
    pub irql: u8,
    /// The highest IRQL for a call with its arguments, if it depends on them.
    limit: Option<fn(&Call) -> u8>,
    /// How it reports failure.
    pub fails: Fails,
    /// Whether a call undoes an earlier one. Failures are not injected into such calls: a driver cannot do more than
    /// make the call, and what stays would look like its leak.
    undoes: Option<fn(&Call) -> bool>,
    /// Whether a call raises [`NO_RESOURCES`] in place of returning NULL.
    raises: Option<fn(&Call) -> bool>,
    /// It always returns the same value and has no state.
    pub fixed: bool,
    /// It creates something that the driver may leak, so the calls that lead to it are recorded.
    pub keeps: bool,
    /// It holds nothing while it accesses the driver's memory, so a handler of the driver may take its faults.
    pub leavable: bool,
    /// Its parameters and result.
    pub signature: Signature,
    /// Called when the routine has failed, also because a script made it fail.
    on_failure: Option<fn(&Call)>,
    /// Reads the arguments, and calls the body.
    run: fn(&Call) -> Result<u64, Fault>,
}

impl Routine {
    /// Describes a routine. It cannot fail unless a method says otherwise. [`routines!`] and [`functions!`] call this.
    pub const fn new(name: &'static str, irql: u8, signature: Signature, run: fn(&Call) -> Result<u64, Fault>) -> Self {
        Self {
            name,
            module: KERNEL,
            file: "",
            irql,
            limit: None,
            fails: Fails::Never,
            undoes: None,
            raises: None,
            fixed: false,
            keeps: false,
            leavable: false,
            on_failure: None,
            signature,
            run,
        }
    }

    /// The routine may return a failure status. A routine that can fail is assumed to create something.
    pub const fn fails(self, status: NtStatus) -> Self {
        Self { fails: Fails::Status(status), keeps: true, ..self }
    }

    /// The routine may return NULL or FALSE. A routine that can fail is assumed to create something.
    pub const fn fails_with_zero(self) -> Self {
        Self { fails: Fails::Zero, keeps: true, ..self }
    }

    /// The highest IRQL of a call depends on its arguments.
    pub const fn limited(self, limit: Option<fn(&Call) -> u8>) -> Self {
        Self { limit, ..self }
    }

    /// Returns the highest IRQL at which this call may be made.
    pub fn limit(&self, call: &Call) -> u8 {
        self.limit.map_or(self.irql, |limit| limit(call))
    }

    /// The calls of the routine for which this returns `true` undo an earlier call, and do not fail.
    pub const fn undoes(self, undoes: Option<fn(&Call) -> bool>) -> Self {
        Self { undoes, ..self }
    }

    /// Returns whether a call can be made to fail.
    pub fn can_fail(&self, call: &Call) -> bool {
        self.fails != Fails::Never && !self.undoes.is_some_and(|undoes| undoes(call))
    }

    /// The calls of the routine for which this returns `true` raise an exception in place of returning NULL.
    pub const fn raises(self, raises: Option<fn(&Call) -> bool>) -> Self {
        Self { raises, ..self }
    }

    /// Returns whether a call that returns this value raises an exception instead.
    pub fn raises_for(&self, call: &Call, value: u64) -> bool {
        value == 0 && self.raises.is_some_and(|raises| raises(call))
    }

    /// It is declared in this file. [`routines!`] and [`functions!`] call this.
    #[must_use]
    pub const fn declared_in(self, file: &'static str) -> Self {
        Self { file, ..self }
    }

    /// Another module than the kernel exports the routine.
    pub const fn module(self, module: &'static str) -> Self {
        Self { module, ..self }
    }

    /// The routine cannot fail, and creates or acquires something that the driver may leak.
    pub const fn keeps(self) -> Self {
        Self { keeps: true, ..self }
    }

    /// The routine can fail, but creates nothing.
    pub const fn keeps_nothing(self) -> Self {
        Self { keeps: false, ..self }
    }

    /// A handler of the driver may take the routine's faults.
    pub const fn leavable(self) -> Self {
        Self { leavable: true, ..self }
    }

    /// This function is called when the routine, which returns a status, has failed.
    pub const fn on_failure(self, on_failure: Option<fn(&Call)>) -> Self {
        Self { on_failure, ..self }
    }

    /// Lets the routine note that a call returned this value, if it is a failure.
    pub fn note_failure(&self, call: &Call, value: u64) {
        if let Some(note) = self.on_failure.filter(|_| NtStatus::from_int(value as u32).is_error()) {
            note(call);
        }
    }

    /// The routine returns a fixed value and may store one.
    pub const fn fixed(self) -> Self {
        Self { fixed: true, ..self }
    }

    /// The routine has this name, which no Rust function can have.
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// Runs the routine.
    pub fn run(&self, call: &Call) -> Result<u64, Fault> {
        (self.run)(call)
    }
}

/// Why a routine failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// An access to the driver's memory faulted.
    Fault(Fault),
    /// The routine returns this status.
    Status(NtStatus),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<NtStatus> for Failure {
    fn from(status: NtStatus) -> Self {
        Self::Status(status)
    }
}

/// The result of a routine or of a part of one.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A status is left, because it is for a caller that is not the driver.
impl MayFault for Failure {
    type Left<T> = Result<T, NtStatus>;

    fn or_stop<T>(result: Outcome<T>) -> Result<T, NtStatus> {
        result.map_err(|failure| match failure {
            Self::Status(status) => status,
            Self::Fault(fault) => Err(fault).or_stop(),
        })
    }
}

/// Returns a success whose error type is [`Failure`].
pub const fn done<T>(value: T) -> Outcome<T> {
    Ok(value)
}

/// Returns a failure with a status.
pub fn fail<T>(status: NtStatus) -> Outcome<T> {
    Err(status.into())
}

/// Returns the status of an outcome, or its fault.
pub fn status_of(outcome: Outcome) -> Result<NtStatus, Fault> {
    match outcome {
        Ok(()) => Ok(NtStatus::Success),
        Err(Failure::Status(status)) => Ok(status),
        Err(Failure::Fault(fault)) => Err(fault),
    }
}

/// A call of a routine.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The arguments, which lie in a row on the stack.
    slots: GuestPtr<u64>,
    /// The address that it returns to, or a number that stands for it: see [`nt_processor::image::site`].
    pub from: u64,
    name: &'static str,
}

impl Call {
    /// Describes a call. `slots` are its arguments, and `from` is its return address.
    pub const fn new(name: &'static str, slots: GuestPtr<u64>, from: u64) -> Self {
        Self { slots, from, name }
    }

    /// Reads a slot, counted from 0. Only the types of arguments do this: the position of an argument follows from the
    /// declaration of the routine.
    #[inline]
    fn slot(&self, index: u64) -> u64 {
        self.slots.at(index).read().or_stop()
    }

    /// Returns the address of the slots from `index` on, for variadic routines.
    const fn rest(&self, index: u64) -> GuestPtr<u64> {
        self.slots.at(index)
    }

    /// Returns the address of the first slot, which is on the stack even if the routine has no parameters.
    pub const fn slots(&self) -> GuestPtr<u64> {
        self.slots
    }

    /// Returns rcx, rdx, r8 and r9 as they were at the call. The entry of all imports stores them in the first slots.
    pub(crate) fn argument_registers(&self) -> [u64; 4] {
        [0, 1, 2, 3].map(|index| self.slot(index))
    }

    /// Returns the name of the routine.
    pub const fn name(&self) -> &'static str {
        self.name
    }
}
