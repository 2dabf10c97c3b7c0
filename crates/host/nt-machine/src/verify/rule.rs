//! The rules.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// What a driver did wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The rule's name in reports; stays the same between versions.
            #[must_use]
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => $id,)*
                }
            }
        }
    };
}

rules! {
    /// A routine was called at an IRQL above its limit.
    IrqlTooHigh = "irql-too-high",
    /// A routine was called at an IRQL below what it needs, or the IRQL was lowered upwards.
    IrqlTooLow = "irql-too-low",
    /// A callback returned at another IRQL than it was called at.
    IrqlChanged = "irql-changed",
    /// Paged memory was used at `DISPATCH_LEVEL` or above.
    PageableAtDispatch = "pageable-at-dispatch",
    /// Pool that was not freed at unload.
    PoolLeak = "pool-leak",
    /// An ETW registration that was there at unload.
    RegistrationLeak = "registration-leak",
    /// A device, symbolic link or framework object that was there at unload.
    ObjectLeak = "object-leak",
    /// A timer or deferred call that was pending at unload.
    TimerLeak = "timer-leak",
    /// A handle that was not closed at unload.
    HandleLeak = "handle-leak",
    /// A lock that was held at unload or at the end of a callback.
    LockLeak = "lock-leak",
    /// A thread of the driver that was running at unload.
    ThreadLeak = "thread-leak",
    /// Pool was freed twice.
    DoubleFree = "double-free",
    /// Something was freed that is no pool.
    BadFree = "bad-free",
    /// Pool was freed with another tag than it was allocated with.
    WrongTag = "wrong-tag",
    /// Memory behind or before an allocation was used.
    PoolOverrun = "pool-overrun",
    /// Pool was used after it was freed.
    UseAfterFree = "use-after-free",
    /// A registration handle was used after it was unregistered.
    StaleRegistration = "stale-registration",
    /// An event was written while its registration was given up on another thread.
    WriteRacesUnregister = "write-races-unregister",
    /// ETW was used in a way that hangs or stops Windows.
    EtwMisuse = "etw-misuse",
    /// Code of the driver ran, or was to run, after it was unloaded.
    CallbackAfterUnload = "callback-after-unload",
    /// The kernel stack was used up.
    StackOverflow = "stack-overflow",
    /// An address was used that nothing is mapped at.
    AccessViolation = "access-violation",
    /// Rust code panicked.
    RustPanic = "rust-panic",
    /// The driver stopped the machine.
    BugCheck = "bug-check",
    /// The driver's own checks ended it: a stack cookie, a corrupt list.
    FastFail = "fast-fail",
    /// An instruction that the processor does not know or the driver may not use.
    IllegalInstruction = "illegal-instruction",
    /// A request was completed twice.
    RequestTwice = "request-twice",
    /// A request was never completed.
    RequestNever = "request-never",
    /// A request was completed in the wrong way.
    RequestMisuse = "request-misuse",
    /// Locks were taken in one order here and in the other there.
    LockOrder = "lock-order",
    /// A lock was taken twice, or released by who did not hold it.
    LockMisuse = "lock-misuse",
    /// A routine got an argument that it cannot work with.
    BadArgument = "bad-argument",
    /// A routine was called that this host does not have.
    NotImplemented = "not-implemented",
    /// A framework function was called in a way that the framework forbids.
    FrameworkMisuse = "framework-misuse",
    /// The driver did not come back.
    Hang = "hang",
    /// The host itself failed.
    Host = "host",
}

impl Rule {
    pub(crate) fn from_number(number: u16) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Host)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::Rule;

    #[test]
    fn numbers_lead_back_to_their_rules() {
        for rule in Rule::ALL {
            assert_eq!(Rule::from_number(*rule as u16), *rule);
        }
        assert_eq!(Rule::from_number(u16::MAX), Rule::Host);
    }
}
