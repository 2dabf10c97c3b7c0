//! The logger.

use core::fmt;
use core::ptr;

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};
use wdk_etw::{Kernel, Keyword, Mode, Protected, Provider, Status};

use crate::event;
use crate::level::{etw_level, follow, wanted};

/// The default keyword of messages. It is also the default keyword of events.
const DEFAULT_KEYWORD: u64 = 1;

/// Writes the messages of `log` as events of a provider. Define it as a `static` next to the provider.
pub struct EtwLogger<M: Mode = Kernel> {
    provider: &'static Provider<M>,
    keyword: Keyword,
}

impl<M: Mode> EtwLogger<M> {
    /// Creates a logger that writes events of `provider`, with keyword 1.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(provider: &'static Provider<M>) -> Self {
        Self { provider, keyword: Keyword::from_bits(DEFAULT_KEYWORD) }
    }

    /// Sets the keyword of messages, so that sessions can enable messages and other events separately.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::define_provider;
    /// use wdk_etw_log::EtwLogger;
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// static LOGGER: EtwLogger = EtwLogger::new(&PROVIDER).with_keyword(0x100);
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn with_keyword(mut self, keyword: u64) -> Self {
        self.keyword = Keyword::from_bits(keyword);
        self
    }

    /// Installs the logger in the `log` crate and registers the provider. From then on, sessions set the maximum level of
    /// `log`.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_ALREADY_REGISTERED` (user mode: `ERROR_ALREADY_REGISTERED`) if `log` has another logger. The
    /// provider is not registered then. Otherwise returns the errors of [`Provider::register`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// The requirements of [`Provider::register`] apply. Messages are events of the provider.
    #[expect(unsafe_code, reason = "the caller fulfils the contract")]
    pub unsafe fn register(&'static self) -> M::Status {
        if self.install().is_err() {
            return M::Status::ALREADY_REGISTERED;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.provider.register_with_callback(follow, 0) }
    }

    /// Stops logging and unregisters the provider. Later messages are dropped.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Provider::unregister`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[expect(clippy::must_use_candidate, reason = "an unload routine cannot do anything about a failure")]
    pub fn unregister(&self) -> M::Status {
        let status = self.provider.unregister();
        if status.is_success() {
            log::set_max_level(LevelFilter::Off);
        }
        status
    }

    /// Installs the logger in the `log` crate without registering the provider. This is for drivers that register the
    /// provider with their own callback and call [`follow`](crate::follow) in it.
    ///
    /// Succeeds if this logger is already installed.
    ///
    /// # Errors
    ///
    /// Fails if `log` has another logger. A logger cannot be replaced until the driver is unloaded.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn install(&'static self) -> Result<(), SetLoggerError> {
        match log::set_logger(self) {
            Err(error) if !ptr::addr_eq(log::logger(), self) => Err(error),
            _ => {
                log::set_max_level(wanted(|level| self.provider.enabled(level, self.keyword)));
                Ok(())
            }
        }
    }

    /// Returns the provider.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// static LOGGER: wdk_etw_log::EtwLogger = wdk_etw_log::EtwLogger::new(&PROVIDER);
    /// assert_eq!(LOGGER.provider().name(), "MyCompany.MyDriver");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn provider(&self) -> &'static Provider<M> {
        self.provider
    }
}

impl<M: Mode> EtwLogger<Protected<M>> {
    /// Does the same as [`register`](Self::register) for a provider with rundown protection: messages can be logged while
    /// the provider is unregistered.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::{Protected, define_provider};
    /// use wdk_etw_log::EtwLogger;
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver", protected());
    /// static LOGGER: EtwLogger<Protected> = EtwLogger::new(&PROVIDER);
    ///
    /// assert!(LOGGER.register_protected().is_success());
    /// log::info!("started");
    /// assert!(LOGGER.unregister().is_success());
    /// ```
    ///
    /// # Errors
    ///
    /// As for `register`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn register_protected(&'static self) -> M::Status {
        if self.install().is_err() {
            return M::Status::ALREADY_REGISTERED;
        }
        self.provider.register_protected_with_callback(follow, 0)
    }
}

impl<M: Mode> Log for EtwLogger<M> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.provider.enabled_at_run_time(etw_level(metadata.level()), self.keyword)
    }

    fn log(&self, record: &Record<'_>) {
        let level = etw_level(record.level());
        if self.provider.enabled_at_run_time(level, self.keyword) {
            // The code that logs must not fail because of a logging error.
            let _ = event::write(self.provider, level, self.keyword, record);
        }
    }

    /// Does nothing: the buffers belong to ETW sessions.
    fn flush(&self) {}
}

impl<M: Mode> fmt::Debug for EtwLogger<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtwLogger").field("provider", self.provider).field("keyword", &self.keyword).finish()
    }
}
