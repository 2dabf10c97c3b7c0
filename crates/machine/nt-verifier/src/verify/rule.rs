//! The rules.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $id:literal,)*) => {
        /// The rule that a driver broke. The documentation of each rule says what the driver does.
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
    /// Calls a routine at an IRQL above its limit.
    IrqlTooHigh = "irql-too-high",
    /// Calls a routine at an IRQL below its minimum, raises the IRQL to a lower one, or lowers it to a higher one.
    IrqlTooLow = "irql-too-low",
    /// Returns from a callback at another IRQL than it was called at.
    IrqlChanged = "irql-changed",
    /// Accesses pageable memory at `DISPATCH_LEVEL` or above.
    PageableAtDispatch = "pageable-at-dispatch",
    /// Keeps pool at unload.
    PoolLeak = "pool-leak",
    /// Keeps an ETW registration at unload.
    RegistrationLeak = "registration-leak",
    /// Keeps a device, symbolic link, framework object, or a context, name or port of a minifilter at unload.
    ObjectLeak = "object-leak",
    /// Leaves a timer, DPC or work item pending at unload, or frees the memory of a set timer.
    TimerLeak = "timer-leak",
    /// Keeps a handle open at unload.
    HandleLeak = "handle-leak",
    /// Holds a lock at unload or at the end of a callback.
    LockLeak = "lock-leak",
    /// Leaves a thread running at unload.
    ThreadLeak = "thread-leak",
    /// Frees pool twice.
    DoubleFree = "double-free",
    /// Frees memory that is not pool.
    BadFree = "bad-free",
    /// Frees pool with another tag than it was allocated with.
    WrongTag = "wrong-tag",
    /// Accesses memory before or after an allocation.
    PoolOverrun = "pool-overrun",
    /// Executes memory that is not executable: no-execute or paged pool, a stack, device memory, or data of the image.
    NoExecute = "no-execute",
    /// Uses pool after freeing it, or frees a work item while it is queued.
    UseAfterFree = "use-after-free",
    /// Uses a registration handle after unregistering it.
    StaleRegistration = "stale-registration",
    /// Writes an event while another thread removes its registration.
    WriteRacesUnregister = "write-races-unregister",
    /// Uses ETW in a way that hangs or crashes Windows.
    EtwMisuse = "etw-misuse",
    /// Lets code of the driver run after the driver is unloaded.
    CallbackAfterUnload = "callback-after-unload",
    /// Overflows the kernel stack.
    StackOverflow = "stack-overflow",
    /// Accesses an address that is not mapped or does not allow the access.
    AccessViolation = "access-violation",
    /// Panics in Rust code.
    RustPanic = "rust-panic",
    /// Causes a bug check.
    BugCheck = "bug-check",
    /// Fails a check in its own code, for example of a stack cookie or a list.
    FastFail = "fast-fail",
    /// Executes an instruction that does not exist or that a driver must not use.
    IllegalInstruction = "illegal-instruction",
    /// Completes a request twice.
    RequestTwice = "request-twice",
    /// Never completes a request.
    RequestNever = "request-never",
    /// Handles or completes a request incorrectly.
    RequestMisuse = "request-misuse",
    /// Acquires two locks in one order in one place and in the opposite order in another.
    LockOrder = "lock-order",
    /// Acquires a lock twice, or releases one that the thread does not hold.
    LockMisuse = "lock-misuse",
    /// Passes an invalid argument to a routine.
    BadArgument = "bad-argument",
    /// Calls a routine that this host does not implement.
    NotImplemented = "not-implemented",
    /// Calls a framework function in a way that the framework forbids.
    FrameworkMisuse = "framework-misuse",
    /// Uses the filtering platform in a way that it forbids.
    WfpMisuse = "wfp-misuse",
    /// Does not return.
    Hang = "hang",
    /// Not the driver's mistake: the host itself failed.
    Host = "host",
}

impl Rule {
    pub(crate) fn from_number(number: u16) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::Host)
    }

    /// Returns whether the rule is about something that the driver has not released.
    #[must_use]
    pub const fn is_leak(self) -> bool {
        matches!(
            self,
            Self::PoolLeak
                | Self::RegistrationLeak
                | Self::ObjectLeak
                | Self::TimerLeak
                | Self::HandleLeak
                | Self::ThreadLeak
        )
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
