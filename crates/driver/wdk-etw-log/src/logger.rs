//! The logger.

use core::fmt;
use core::ptr;

use log::{LevelFilter, Log, Metadata, Record, SetLoggerError};
use wdk_etw::{Kernel, Keyword, Mode, Provider, Status};

use crate::event;
use crate::level::{etw_level, follow, wanted};

/// The keyword of messages if none is chosen: that of events without one.
const DEFAULT_KEYWORD: u64 = 1;

/// Writes the messages of `log` as events of a provider. A `static` beside the provider's.
pub struct EtwLogger<M: Mode = Kernel> {
    provider: &'static Provider<M>,
    keyword: Keyword,
}

impl<M: Mode> EtwLogger<M> {
    /// A logger that writes through `provider`, with keyword 1.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(provider: &'static Provider<M>) -> Self {
        Self { provider, keyword: Keyword::from_bits(DEFAULT_KEYWORD) }
    }

    /// The same with another keyword, so that sessions can choose messages apart from events.
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

    /// Registers the provider, becomes the logger of the `log` crate, and has its maximum level follow the sessions.
    ///
    /// # Errors
    ///
    /// `STATUS_ALREADY_REGISTERED` (user mode: `ERROR_ALREADY_REGISTERED`) if `log` has another logger; the provider is not
    /// registered then. Otherwise as for [`Provider::register`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// As for [`Provider::register`]; messages are events of the provider.
    #[expect(unsafe_code, reason = "the contract is handed on")]
    pub unsafe fn register(&'static self) -> M::Status {
        if self.install().is_err() {
            return M::Status::ALREADY_REGISTERED;
        }
        // SAFETY: the same contract.
        unsafe { self.provider.register_with_callback(follow, 0) }
    }

    /// Stops logging, and unregisters the provider. The messages that come later go nowhere.
    ///
    /// # Errors
    ///
    /// As for [`Provider::unregister`].
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

    /// Becomes the logger of the `log` crate, without registering anything: for drivers that register their provider with a
    /// callback of their own, in which they call [`follow`](crate::follow).
    ///
    /// Success if it is the logger already.
    ///
    /// # Errors
    ///
    /// If there is another logger: `log` has one for the life of an image.
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

    /// The provider.
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

impl<M: Mode> Log for EtwLogger<M> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.provider.enabled_at_run_time(etw_level(metadata.level()), self.keyword)
    }

    fn log(&self, record: &Record<'_>) {
        let level = etw_level(record.level());
        if self.provider.enabled_at_run_time(level, self.keyword) {
            // A failure to log is not the failure of what logs.
            let _ = event::write(self.provider, level, self.keyword, record);
        }
    }

    /// ETW's buffers are the session's: there is nothing to flush.
    fn flush(&self) {}
}

impl<M: Mode> fmt::Debug for EtwLogger<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtwLogger").field("provider", self.provider).field("keyword", &self.keyword).finish()
    }
}
