//! Maps levels of `log` to levels of ETW, and sets the maximum level of `log`.

use log::LevelFilter;
use wdk_etw::{ControlCode, EnableRequest, Level};

/// Returns the ETW level of a message.
pub(crate) const fn etw_level(level: log::Level) -> Level {
    match level {
        log::Level::Error => Level::Error,
        log::Level::Warn => Level::Warning,
        log::Level::Info => Level::Informational,
        log::Level::Debug => Level::Verbose,
        // One above the most verbose level that has a name.
        log::Level::Trace => Level::from_int(Level::Verbose.as_int() + 1),
    }
}

/// Returns the most verbose messages that a session with this level receives. 0 and 255 mean every level.
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

/// Returns the most verbose messages for which `enabled` returns true.
pub(crate) fn wanted(enabled: impl Fn(Level) -> bool) -> LevelFilter {
    log::Level::iter()
        .take_while(|level| enabled(etw_level(*level)))
        .last()
        .map_or(LevelFilter::Off, |level| level.to_level_filter())
}

/// Sets the maximum level of `log` to the level of an enable request.
///
/// [`EtwLogger::register`](crate::EtwLogger::register) does this for you. A driver with its own enable callback
/// [installs](crate::EtwLogger::install) the logger, registers the provider with the callback, and calls this function in
/// it.
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
///     // The driver's own code.
/// }
///
/// LOGGER.install().expect("there is no other logger");
/// // SAFETY: the unload routine unregisters the provider after the last message.
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
