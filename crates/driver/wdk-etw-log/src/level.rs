//! Levels of `log` and of ETW, and how the first follow the second.

use log::LevelFilter;
use wdk_etw::{ControlCode, EnableRequest, Level};

/// The ETW level of messages of `level`.
pub(crate) const fn etw_level(level: log::Level) -> Level {
    match level {
        log::Level::Error => Level::Error,
        log::Level::Warn => Level::Warning,
        log::Level::Info => Level::Informational,
        log::Level::Debug => Level::Verbose,
        // One more than the most verbose that has a name.
        log::Level::Trace => Level::from_int(Level::Verbose.as_int() + 1),
    }
}

/// The most verbose messages that a session of `level` wants. 0 and 255 stand for every level.
const fn filter(level: Level) -> LevelFilter {
    match level.as_int() {
        1 => LevelFilter::Off,
        2 => LevelFilter::Error,
        3 => LevelFilter::Warn,
        4 => LevelFilter::Info,
        5 => LevelFilter::Debug,
        _ => LevelFilter::Trace,
    }
}

/// The most verbose messages that `enabled` says are wanted.
pub(crate) fn wanted(enabled: impl Fn(Level) -> bool) -> LevelFilter {
    log::Level::iter()
        .take_while(|level| enabled(etw_level(*level)))
        .last()
        .map_or(LevelFilter::Off, |level| level.to_level_filter())
}

/// Sets `log`'s maximum level to what a session asks for.
///
/// [`EtwLogger::register`](crate::EtwLogger::register) has this done. A driver with an enable callback of its own registers its
/// provider with that, calls this in it, and [installs](crate::EtwLogger::install) the logger.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{EnableRequest, define_provider};
/// use wdk_etw_log::EtwLogger;
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
/// static LOGGER: EtwLogger = EtwLogger::new(&PROVIDER);
///
/// fn on_enable(request: &EnableRequest<'_>) {
///     wdk_etw_log::follow(request);
///     // And what the driver does itself.
/// }
///
/// LOGGER.install().expect("there is no other logger");
/// // SAFETY: the unload routine unregisters, when nothing logs any more.
/// let status = unsafe { PROVIDER.register_with_callback(on_enable, 0) };
/// # assert!(status.is_success());
/// # PROVIDER.unregister();
/// ```
///
/// # IRQL
///
/// Any.
pub fn follow(request: &EnableRequest<'_>) {
    match request.control() {
        ControlCode::EnableProvider => log::set_max_level(filter(request.level())),
        ControlCode::DisableProvider => log::set_max_level(LevelFilter::Off),
        _ => {}
    }
}
