//! A provider: a static that a driver registers, queries for enabled events, and writes events with.

mod buffer;
mod callback;
mod information;
#[cfg(loom)]
#[cfg(test)]
mod models;
mod registration;
mod rundown;
mod state;
mod sync;

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

use etw_types::{EventDataDescriptor, Guid, Keyword, Level, traits};

use crate::backend::kernel::Kernel;
use crate::backend::{Mode, SetInformationFn};
use callback::CallbackSlot;
use rundown::Rundown;
use state::{EnableState, Lifecycle};
use sync::const_fn;

pub use buffer::ProviderBuffer;
pub use callback::{EnableCallback, EnableRequest, FilterData};
pub use information::{SetInformationMode, set_information_in_kernel, set_information_in_user};
pub use registration::Registration;

/// An ETW provider, usually a `static` made by [`define_provider!`](crate::define_provider).
///
/// Initially it is not registered. While it is not registered, it does nothing: [`enabled`](Self::enabled) returns
/// `false`, events are not written (and their fields are not evaluated), and [`unregister`](Self::unregister) has no
/// effect.
///
/// All methods take `&self`; all state is atomic; nothing locks, allocates or panics.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{Guid, Level, Provider, SetInformationMode};
///
/// // `define_provider!(PROVIDER, "MyProvider")` expands to this.
/// static PROVIDER: Provider =
///     Provider::new(Guid::from_name("MyProvider"), b"\x0d\0MyProvider\0", SetInformationMode::Lookup);
/// assert!(!PROVIDER.enabled(Level::Critical, 0));
/// assert_eq!(PROVIDER.name(), "MyProvider");
/// ```
pub struct Provider<M: Mode = Kernel> {
    enable: EnableState,
    lifecycle: Lifecycle,
    /// The traits, ready to be the first descriptor of an event.
    traits: EventDataDescriptor<'static>,
    set_information: SetInformationFn<M::Status>,
    traits_blob: &'static [u8],
    id: Guid,
    traits_status: LastStatus,
    /// Whether registration sets the traits.
    sets_traits: bool,
    callback: CallbackSlot,
    /// Used in a [`Protected`](crate::Protected) mode only.
    rundown: Rundown,
    mode: PhantomData<fn() -> M>,
}

// SAFETY: everything that changes is atomic. Only the descriptor of the traits is not `Sync` by itself: it never
// changes, and it points at `'static` bytes that never change.
unsafe impl<M: Mode> Sync for Provider<M> {}

// SAFETY: as above; nothing belongs to a particular thread.
unsafe impl<M: Mode> Send for Provider<M> {}

impl<M: Mode> Provider<M> {
    const_fn! {
        /// Creates a provider. Prefer [`define_provider!`](crate::define_provider), which checks and encodes the
        /// traits.
        ///
        /// `traits` is a provider traits blob ([`etw_types::traits`]). It is not checked here: ETW returns
        /// `STATUS_FILE_CORRUPT_ERROR` if it is malformed, which [`traits_status`](Self::traits_status) reports.
        ///
        /// `mode` determines what the image imports: only [`SetInformationMode::Direct`] imports `EtwSetInformation`.
        ///
        /// ```
        /// # use etw_symbols as _;
        /// use wdk_etw::{Guid, Provider, SetInformationMode};
        ///
        /// static PROVIDER: Provider =
        ///     Provider::new(Guid::from_name("MyProvider"), b"\x0d\0MyProvider\0", SetInformationMode::Lookup);
        /// ```
        ///
        /// # IRQL
        ///
        /// Any.
        #[must_use]
        pub fn new(id: Guid, traits: &'static [u8], mode: SetInformationMode) -> Self {
            Self {
                enable: EnableState::new(),
                lifecycle: Lifecycle::new(),
                traits: EventDataDescriptor::provider_traits(traits),
                set_information: match mode {
                    SetInformationMode::Off => M::set_information_off,
                    SetInformationMode::Direct => M::set_information_direct,
                    SetInformationMode::Lookup => M::set_information_lookup,
                },
                traits_blob: traits,
                id,
                traits_status: LastStatus::new(),
                sets_traits: true,
                callback: CallbackSlot::new(),
                rundown: Rundown::new(),
                mode: PhantomData,
            }
        }
    }

    const_fn! {
        /// Creates the provider of an instrumentation manifest. Code that `etw-manifest` generates calls this.
        ///
        /// Registration does not set the traits, because the registered manifest has the name, and code that Microsoft's
        /// compiler generates does not set them either. `EtwSetInformation` is looked up at run time, for
        /// [`track_binary`](Self::track_binary). `name` is a traits blob with the provider's name.
        ///
        /// ```
        /// # use etw_symbols as _;
        /// use wdk_etw::{Guid, Provider};
        ///
        /// static PROVIDER: Provider = Provider::for_manifest(Guid::from_u128(1), b"\x0e\0My-Manifest\0");
        /// # // SAFETY: nothing else runs.
        /// assert!(unsafe { PROVIDER.register() }.is_success());
        /// assert_eq!(PROVIDER.traits_status(), None);
        /// assert!(PROVIDER.track_binary().is_success());
        /// # PROVIDER.unregister();
        /// ```
        ///
        /// # IRQL
        ///
        /// Any.
        #[must_use]
        pub fn for_manifest(id: Guid, name: &'static [u8]) -> Self {
            let provider = Self::new(id, name, SetInformationMode::Lookup);
            Self { sets_traits: false, ..provider }
        }
    }

    /// Returns the provider's id (its control GUID).
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::Guid;
    ///
    /// assert_eq!(*PROVIDER.id(), Guid::from_name("MyCompany.MyDriver"));
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn id(&self) -> &Guid {
        &self.id
    }

    /// Returns the provider's name from its traits. It is empty if they are malformed or the name is not UTF-8.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// assert_eq!(PROVIDER.name(), "MyCompany.MyDriver");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn name(&self) -> &'static str {
        traits::validate(self.traits_blob)
            .ok()
            .and_then(|traits| core::str::from_utf8(traits.name()).ok())
            .unwrap_or_default()
    }

    /// Returns the provider's traits blob.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// assert_eq!(PROVIDER.traits(), b"\x15\0MyCompany.MyDriver\0");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn traits(&self) -> &'static [u8] {
        self.traits_blob
    }

    /// Returns whether the provider is registered, that is, whether it has a handle.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # // SAFETY: nothing else runs.
    /// # unsafe { PROVIDER.register() };
    /// assert!(PROVIDER.is_registered());
    /// # PROVIDER.unregister();
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn is_registered(&self) -> bool {
        self.lifecycle.handle() != 0
    }

    /// Returns whether a session has events of this level and keyword enabled. `false` if the provider is not
    /// registered.
    ///
    /// A session with level 0 (or 255) receives every level. An event without a keyword passes every mask; any other
    /// event must have at least one bit of the session's any-mask and all bits of its all-mask. ETW merges the requests
    /// of several sessions, so this can be true for an event that no single session receives. ETW then drops the event.
    ///
    /// [`write_event!`](crate::write_event) performs this test itself. With constant arguments it costs a load, a
    /// compare and a branch if the level is not enabled, and one more load for a keyword with one bit.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::Level;
    ///
    /// if PROVIDER.enabled(Level::Verbose, 0x10) {
    ///     // Collect what a verbose event would need.
    /// }
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[inline(always)]
    pub fn enabled(&self, level: Level, keyword: impl Into<Keyword>) -> bool {
        self.enable.wants(level.as_int(), keyword.into().bits())
    }

    /// [`enabled`](Self::enabled) for a level and a keyword that are known only at run time.
    #[doc(hidden)]
    pub fn enabled_at_run_time(&self, level: Level, keyword: Keyword) -> bool {
        self.enable.wants_at_run_time(level.as_int(), keyword.bits())
    }

    /// The first descriptor of a TraceLogging event.
    #[doc(hidden)]
    #[inline(always)]
    pub fn traits_descriptor(&self) -> EventDataDescriptor<'static> {
        self.traits
    }

    /// Calls `body` with the registration handle, which is 0 if there is none. In a protected mode, unregistering waits for
    /// the end of this, and once it has begun, `body` does not run and the result is `otherwise`.
    #[inline(always)]
    pub(crate) fn with_handle<R>(&self, otherwise: R, body: impl FnOnce(u64) -> R) -> R {
        if !M::IS_PROTECTED {
            return body(self.lifecycle.handle());
        }
        if !self.rundown.acquire() {
            return otherwise;
        }
        let result = body(self.lifecycle.handle());
        self.rundown.release();
        result
    }
}

impl<M: Mode> fmt::Debug for Provider<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("name", &self.name())
            .field("id", &self.id)
            .field("registered", &self.is_registered())
            .field("traits_status", &self.traits_status())
            .finish_non_exhaustive()
    }
}

/// The last status, or none.
struct LastStatus(AtomicU64);

impl LastStatus {
    /// A value above every code.
    const NONE: u64 = 1 << 32;

    const fn new() -> Self {
        Self(AtomicU64::new(Self::NONE))
    }

    fn set(&self, code: u32) {
        self.0.store(u64::from(code), Ordering::Relaxed);
    }

    fn get(&self) -> Option<u32> {
        u32::try_from(self.0.load(Ordering::Relaxed)).ok()
    }
}
