//! The shortest start: a macro that defines and registers a provider and its logger, and a function that ends them.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use wdk_etw::{NtStatus, Protected};

use crate::EtwLogger;

/// The logger that [`init!`](crate::init) started, or null.
static STARTED: AtomicPtr<EtwLogger<Protected>> = AtomicPtr::new(ptr::null_mut());

/// Defines a provider, registers it, and writes all messages of `log` as its events.
///
/// The argument is the provider's name; the options of [`define_provider!`](wdk_etw::define_provider) can follow. The
/// result is the status of [`EtwLogger::register_protected`]. [`stop`](crate::stop) ends it.
///
/// ```
/// # use etw_symbols as _;
/// // In DriverEntry.
/// let status = wdk_etw_log::init!("MyCompany.MyDriver");
/// assert!(status.is_success());
///
/// // Anywhere in the driver, and in the crates that it links.
/// let device = 3;
/// log::warn!(device; "not ready");
///
/// // In the unload routine.
/// wdk_etw_log::stop();
/// ```
///
/// # IRQL
///
/// `PASSIVE_LEVEL`.
#[macro_export]
macro_rules! init {
    ($name:literal $($options:tt)*) => {{
        $crate::__private::define_provider!(__WDK_ETW_LOG_PROVIDER, $name, protected() $($options)*);
        static __WDK_ETW_LOGGER: $crate::EtwLogger<$crate::__private::Protected> =
            $crate::EtwLogger::new(&__WDK_ETW_LOG_PROVIDER);
        $crate::__private::start(&__WDK_ETW_LOGGER)
    }};
}

/// Registers the logger of `init!`.
#[must_use]
pub fn start(logger: &'static EtwLogger<Protected>) -> NtStatus {
    let status = logger.register_protected();
    if status.is_success() {
        STARTED.store(ptr::from_ref(logger).cast_mut(), Ordering::Release);
    }
    status
}

/// Unregisters what [`init!`](crate::init) registered. Messages can still be logged, and are dropped. Does nothing and returns
/// success if nothing is registered.
///
/// ```
/// # use etw_symbols as _;
/// let status = wdk_etw_log::init!("MyCompany.MyDriver");
/// assert!(status.is_success());
/// assert!(wdk_etw_log::stop().is_success());
/// ```
///
/// # Errors
///
/// Returns the errors of [`EtwLogger::unregister`].
///
/// # IRQL
///
/// `PASSIVE_LEVEL`.
#[expect(unsafe_code, reason = "a pointer to a static is read")]
pub fn stop() -> NtStatus {
    // SAFETY: null, or made from a `&'static` in `start`.
    let started = unsafe { STARTED.load(Ordering::Acquire).as_ref() };
    started.map_or(NtStatus::Success, EtwLogger::unregister)
}
