//! Maps levels of `tracing` to levels of ETW, and sets the maximum level of `tracing`.

use core::sync::atomic::{AtomicU8, Ordering};

use tracing_core::{LevelFilter, callsite};
use wdk_etw::{ControlCode, EnableRequest, Level};

/// The most verbose ETW level that a session enabled. 0 if no session enabled the provider.
static WANTED: AtomicU8 = AtomicU8::new(0);

/// The ETW level of `TRACE`: one above the most verbose level that has a name.
const TRACE: u8 = Level::Verbose.as_int() + 1;

/// Returns the ETW level of an event.
pub(crate) fn etw_level(level: tracing_core::Level) -> Level {
    match level {
        tracing_core::Level::ERROR => Level::Error,
        tracing_core::Level::WARN => Level::Warning,
        tracing_core::Level::INFO => Level::Informational,
        tracing_core::Level::DEBUG => Level::Verbose,
        tracing_core::Level::TRACE => Level::from_int(TRACE),
    }
}

/// Returns the most verbose events that are enabled.
pub(crate) fn filter() -> LevelFilter {
    match WANTED.load(Ordering::Relaxed) {
        0 | 1 => LevelFilter::OFF,
        2 => LevelFilter::ERROR,
        3 => LevelFilter::WARN,
        4 => LevelFilter::INFO,
        5 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    }
}

/// Sets the maximum level of `tracing` to the level of an enable request.
///
/// [`EtwTracing::register`](crate::EtwTracing::register) does this for you. A driver with its own enable callback first
/// [installs](crate::EtwTracing::install) the subscriber. Then it registers the provider with the callback, and calls
/// this function in it.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{EnableRequest, define_provider};
/// use wdk_etw_tracing::EtwTracing;
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
/// static TRACING: EtwTracing = EtwTracing::new(&PROVIDER);
///
/// fn on_enable(request: &EnableRequest<'_>) {
///     wdk_etw_tracing::follow(request);
///     // The driver's own code.
/// }
///
/// assert!(TRACING.install());
/// // SAFETY: the unload routine unregisters the provider after the last event.
/// let status = unsafe { PROVIDER.register_with_callback(on_enable, 0) };
/// # assert!(status.is_success());
/// # PROVIDER.unregister();
/// ```
///
/// # IRQL
///
/// Any. The function visits every call site that was used so far.
pub fn follow(request: &EnableRequest<'_>) {
    match request.control() {
        ControlCode::EnableProvider => set(match request.level().as_int() {
            0 => u8::MAX,
            level => level,
        }),
        ControlCode::DisableProvider => set(0),
        _ => {}
    }
}

/// Sets the most verbose level that is enabled; 0 disables all events.
pub(crate) fn set(level: u8) {
    WANTED.store(level, Ordering::Relaxed);
    callsite::rebuild_interest_cache();
}
