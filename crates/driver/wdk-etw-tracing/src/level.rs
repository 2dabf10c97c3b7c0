//! Levels of `tracing` and of ETW, and how the first follow the second.

use core::sync::atomic::{AtomicU8, Ordering};

use tracing_core::{LevelFilter, callsite};
use wdk_etw::{ControlCode, EnableRequest, Level};

/// The most verbose level that sessions want, as an ETW level; 0 for none.
static WANTED: AtomicU8 = AtomicU8::new(0);

/// The ETW level of `TRACE`: one more than the most verbose that has a name.
const TRACE: u8 = Level::Verbose.as_int() + 1;

/// The ETW level of events of `level`.
pub(crate) fn etw_level(level: tracing_core::Level) -> Level {
    match level {
        tracing_core::Level::ERROR => Level::Error,
        tracing_core::Level::WARN => Level::Warning,
        tracing_core::Level::INFO => Level::Informational,
        tracing_core::Level::DEBUG => Level::Verbose,
        tracing_core::Level::TRACE => Level::from_int(TRACE),
    }
}

/// The most verbose events that are wanted.
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

/// Sets the maximum level of `tracing` to what a session asks for.
///
/// [`EtwTracing::register`](crate::EtwTracing::register) has this done. A driver with an enable callback of its own registers its
/// provider with that, calls this in it, and [installs](crate::EtwTracing::install) the subscriber before.
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
///     // And what the driver does itself.
/// }
///
/// assert!(TRACING.install());
/// // SAFETY: the unload routine unregisters, when nothing traces any more.
/// let status = unsafe { PROVIDER.register_with_callback(on_enable, 0) };
/// # assert!(status.is_success());
/// # PROVIDER.unregister();
/// ```
///
/// # IRQL
///
/// Any. It visits every call site that was traced so far.
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

/// Sets the most verbose level that is wanted; 0 for none.
pub(crate) fn set(level: u8) {
    WANTED.store(level, Ordering::Relaxed);
    callsite::rebuild_interest_cache();
}
