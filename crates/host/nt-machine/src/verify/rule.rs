//! The rules.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// The rule that a driver broke.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        #[repr(u16)]
        pub enum Rule {
            $($(#[$doc])* $name,)*
        }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the rule's name in reports, which stays the same between versions.
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
    /// A routine was called at an IRQL below its minimum, or the IRQL was raised to a lower or lowered to a higher one.
    IrqlTooLow = "irql-too-low",
    /// A callback returned at a different IRQL than the one it was called at.
    IrqlChanged = "irql-changed",
    /// Pageable memory was accessed at `DISPATCH_LEVEL` or above.
    PageableAtDispatch = "pageable-at-dispatch",
    /// Pool that was not freed at unload.
    PoolLeak = "pool-leak",
    /// An ETW registration that was not removed at unload.
    RegistrationLeak = "registration-leak",
    /// A device, symbolic link or framework object that still existed at unload.
    ObjectLeak = "object-leak",
    /// A timer, DPC or work item that was pending at unload, or a set timer in memory that was freed.
    TimerLeak = "timer-leak",
    /// A handle that was not closed at unload.
    HandleLeak = "handle-leak",
    /// A lock that was held at unload or at the end of a callback.
    LockLeak = "lock-leak",
    /// A thread of the driver that was running at unload.
    ThreadLeak = "thread-leak",
    /// Pool was freed twice.
    DoubleFree = "double-free",
    /// Memory was freed that is not pool.
    BadFree = "bad-free",
    /// Pool was freed with a different tag than it was allocated with.
    WrongTag = "wrong-tag",
    /// Memory after or before an allocation was accessed.
    PoolOverrun = "pool-overrun",
    /// Memory was executed that is not executable: no-execute or paged pool, a stack, device memory, or data of the
    /// image.
    NoExecute = "no-execute",
    /// Pool was used after it was freed, or a work item was freed while it was queued.
    UseAfterFree = "use-after-free",
    /// A registration handle was used after it was unregistered.
    StaleRegistration = "stale-registration",
    /// An event was written while another thread removed its registration.
    WriteRacesUnregister = "write-races-unregister",
    /// ETW was used in a way that hangs or crashes Windows.
    EtwMisuse = "etw-misuse",
    /// Code of the driver ran, or would have run, after the driver was unloaded.
    CallbackAfterUnload = "callback-after-unload",
    /// The kernel stack overflowed.
    StackOverflow = "stack-overflow",
    /// An address was accessed that is not mapped or does not allow the access.
    AccessViolation = "access-violation",
    /// Rust code panicked.
    RustPanic = "rust-panic",
    /// The driver caused a bug check.
    BugCheck = "bug-check",
    /// A check in the driver itself ended it, for example a stack cookie or a corrupt list.
    FastFail = "fast-fail",
    /// An instruction that does not exist or that a driver must not use.
    IllegalInstruction = "illegal-instruction",
    /// A request was completed twice.
    RequestTwice = "request-twice",
    /// A request was never completed.
    RequestNever = "request-never",
    /// A request was handled or completed incorrectly.
    RequestMisuse = "request-misuse",
    /// Locks were acquired in one order in one place and in the opposite order in another.
    LockOrder = "lock-order",
    /// A lock was acquired twice, or released by a thread that did not hold it.
    LockMisuse = "lock-misuse",
    /// A routine was called with an invalid argument.
    BadArgument = "bad-argument",
    /// A routine was called that this host does not implement.
    NotImplemented = "not-implemented",
    /// A framework function was called in a way that the framework forbids.
    FrameworkMisuse = "framework-misuse",
    /// The driver did not return.
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
