//! The API of Microsoft's `tracelogging` 1.2, for porting code.
//!
//! Replace `use tracelogging as tlg;` with `use wdk_etw::compat as tlg;`, and most code compiles. Do not use this
//! module in new code: like `tracelogging`, it returns statuses as integers.
//!
//! ```
//! # use etw_symbols as _;
//! use wdk_etw::compat as tlg;
//!
//! tlg::define_provider!(MY_PROVIDER, "MyCompany.MyDriver");
//!
//! // The type is `tlg::ProviderEnableCallback`.
//! fn on_enable(_source: &tlg::Guid, _code: u32, _level: tlg::Level, _any: u64, _all: u64, _filter: usize, context: usize) {
//!     assert_eq!(context, 12345);
//! }
//!
//! // SAFETY: unregistered below, when nothing writes any more.
//! let status = unsafe { MY_PROVIDER.register_with_callback(on_enable, 12345) };
//! assert_eq!(status, 0);
//! assert!(MY_PROVIDER.raw_meta().ends_with(b"MyCompany.MyDriver\0"));
//! let activity = tlg::Provider::create_activity_id();
//! if tlg::provider_enabled!(MY_PROVIDER, tlg::Level::Verbose, 0x10) {
//!     // Work that only a verbose event needs. New code calls `MY_PROVIDER.enabled(…)`.
//! }
//! let before = tlg::Provider::set_current_thread_activity_id(&activity);
//! assert_eq!(tlg::Provider::current_thread_activity_id(), activity);
//! tlg::write_event!(MY_PROVIDER, "Started", activity_id(activity.as_bytes_raw()));
//! tlg::Provider::set_current_thread_activity_id(&before);
//! tlg::write_event!(MY_PROVIDER, "MyEvent", u32("Value", &5), related_id(tlg::Provider::guid_from_name("Other").as_bytes_raw()));
//! assert_eq!(MY_PROVIDER.unregister(), 0);
//! ```
//!
//! # Differences
//!
//! | `tracelogging` | here |
//! |---|---|
//! | `Guid::new()`, a random GUID by a library of user mode | [`Provider::create_activity_id`], unique until the machine restarts |
//! | an event without `activity_id(…)` has the thread's id | in kernel mode it may have an id of zero: pass [`Provider::current_thread_activity_id`] |
//! | `NativeImplementation`, `NATIVE_IMPLEMENTATION` | the mode is a type: [`Kernel`], [`User`](crate::User) |
//! | a status of `write_event!` as `u32` | an [`NtStatus`](crate::NtStatus), which compares with integers; `.as_int()` |
//! | `register` twice panics | returns `STATUS_ALREADY_REGISTERED` |
//! | the feature `kernel_mode` | nothing: kernel mode is the default; `mode(User)` in [`define_provider!`](crate::define_provider) |
//! | `_internal` | not an API |

use core::fmt;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use etw_types::EventFilterDescriptor;

pub use crate::__compat_define_provider as define_provider;
pub use crate::__compat_provider_enabled as provider_enabled;
pub use crate::{Channel, Guid, InType, Level, Opcode, OutType};
pub use crate::{win_filetime_from_systemtime, write_event};

use crate::{EnableRequest, Kernel};

/// A callback with the signature of `tracelogging`: source, control code, level, match-any, match-all, address of the
/// `EVENT_FILTER_DESCRIPTOR` or 0, context.
///
/// # IRQL
///
/// Called at `PASSIVE_LEVEL` or `APC_LEVEL`.
pub type ProviderEnableCallback = fn(&Guid, u32, Level, u64, u64, usize, usize);

/// A provider with the methods of `tracelogging`. It derefs to [`wdk_etw::Provider`](crate::Provider), so it
/// can be used with the macros and has all other methods.
pub struct Provider {
    inner: &'static crate::Provider<Kernel>,
    /// A [`ProviderEnableCallback`], or null.
    callback: AtomicPtr<()>,
    context: AtomicUsize,
}

impl Provider {
    /// For [`define_provider!`].
    #[doc(hidden)]
    #[must_use]
    pub const fn new(provider: &'static crate::Provider<Kernel>) -> Self {
        Self { inner: provider, callback: AtomicPtr::new(ptr::null_mut()), context: AtomicUsize::new(0) }
    }

    /// Creates an activity id.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn create_activity_id() -> Guid {
        crate::backend::new_activity_id::<Kernel>()
    }

    /// Returns the activity id of the current thread: [`thread_activity_id`](crate::thread_activity_id). Zero if it has none,
    /// as a system thread.
    ///
    /// # IRQL
    ///
    /// At most `APC_LEVEL`.
    #[must_use]
    pub fn current_thread_activity_id() -> Guid {
        crate::thread_activity_id().unwrap_or(Guid::ZERO)
    }

    /// Sets the activity id of the current thread, and returns the previous one:
    /// [`set_thread_activity_id`](crate::set_thread_activity_id). Returns `value` if the thread cannot have one.
    ///
    /// # IRQL
    ///
    /// At most `APC_LEVEL`.
    #[expect(clippy::must_use_candidate, reason = "it is called for its effect, as in `tracelogging`")]
    pub fn set_current_thread_activity_id(value: &Guid) -> Guid {
        crate::set_thread_activity_id(value).unwrap_or(*value)
    }

    /// Returns the id of the provider called `name`: [`Guid::from_name`].
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn guid_from_name(name: &str) -> Guid {
        Guid::from_name(name)
    }

    /// Returns the provider's traits: [`traits`](crate::Provider::traits).
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw_meta(&self) -> &'static [u8] {
        self.inner.traits()
    }

    /// Registers the provider. Returns the status as an integer; 0 is success.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// As for [`wdk_etw::Provider::register`](crate::Provider::register).
    pub unsafe fn register(&'static self) -> u32 {
        // SAFETY: this function has the same contract.
        unsafe { self.inner.register() }.as_int()
    }

    /// Registers the provider with a callback that has the signature of `tracelogging`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// As for [`wdk_etw::Provider::register`](crate::Provider::register).
    pub unsafe fn register_with_callback(&'static self, callback: ProviderEnableCallback, context: usize) -> u32 {
        let this = ptr::from_ref(self).expose_provenance();
        // Only now: a call that is refused must not replace the callback of the registration that exists.
        let prepare = || {
            self.context.store(context, Ordering::Relaxed);
            self.callback.store(callback as *mut (), Ordering::Release);
        };
        // SAFETY: this function has the same contract.
        unsafe { self.inner.register_prepared(on_enable, this, prepare) }.as_int()
    }

    /// Ends the registration. Returns the status as an integer; 0 is success.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn unregister(&self) -> u32 {
        self.inner.unregister().as_int()
    }
}

/// Passes a request on with the signature that `tracelogging` uses.
fn on_enable(request: &EnableRequest<'_>) {
    let provider = ptr::with_exposed_provenance::<Provider>(request.context());
    // SAFETY: the context is the static provider that was registered with this callback.
    let Some(provider) = (unsafe { provider.as_ref() }) else {
        return;
    };
    let callback = provider.callback.load(Ordering::Acquire);
    // SAFETY: null is `None`; any other value was a callback of this type.
    let callback = unsafe { core::mem::transmute::<*mut (), Option<ProviderEnableCallback>>(callback) };
    let Some(callback) = callback else {
        return;
    };
    let filter = request.filter().map(|filter| EventFilterDescriptor {
        ptr: filter.bytes().as_ptr(),
        size: u32::try_from(filter.bytes().len()).unwrap_or(u32::MAX),
        kind: filter.kind(),
    });
    callback(
        request.source(),
        request.control().as_int(),
        request.level(),
        request.match_any().bits(),
        request.match_all().bits(),
        filter.as_ref().map_or(0, |filter| ptr::from_ref(filter).expose_provenance()),
        provider.context.load(Ordering::Relaxed),
    );
}

impl Deref for Provider {
    type Target = crate::Provider<Kernel>;

    fn deref(&self) -> &Self::Target {
        self.inner
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Defines a static [`Provider`](crate::compat::Provider); the arguments after the symbol are those of
/// [`wdk_etw::define_provider!`](crate::define_provider).
#[doc(hidden)]
#[macro_export]
macro_rules! __compat_define_provider {
    ($(#[$attribute:meta])* $visibility:vis $symbol:ident, $($rest:tt)+) => {
        $(#[$attribute])*
        $visibility static $symbol: $crate::compat::Provider = {
            $crate::define_provider!(__WDK_ETW_PROVIDER, $($rest)+);
            $crate::compat::Provider::new(&__WDK_ETW_PROVIDER)
        };
    };
}

/// `provider_enabled!(PROVIDER, level, keyword)` with constants:
/// [`wdk_etw::Provider::enabled`](crate::Provider::enabled).
#[doc(hidden)]
#[macro_export]
macro_rules! __compat_provider_enabled {
    ($provider:path, $level:expr, $keyword:expr $(,)?) => {{
        const __WDK_ETW_LEVEL: $crate::Level = $level;
        const __WDK_ETW_KEYWORD: ::core::primitive::u64 = $keyword;
        $provider.enabled(__WDK_ETW_LEVEL, __WDK_ETW_KEYWORD)
    }};
}
