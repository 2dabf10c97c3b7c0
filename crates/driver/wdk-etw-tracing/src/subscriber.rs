//! The subscriber, whose methods `tracing-core` calls.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, LevelFilter, Metadata, Subscriber, dispatcher};
use wdk_etw::{
    EventDescriptor, Guid, Kernel, Keyword, Mode, NtStatus, Opcode, Protected, Provider, Status, write_event,
};

use crate::event::{Header, write};
use crate::level::{etw_level, filter, follow, set};
use crate::values::Values;
use crate::{allocator, context, spans};

/// The default keyword. It is also the default keyword of `write_event!`.
const DEFAULT_KEYWORD: u64 = 1;

/// Writes the events and spans of `tracing` as events of a provider. Define it as a `static` next to the provider.
pub struct EtwTracing<M: Mode = Kernel> {
    provider: &'static Provider<M>,
    targets: &'static [(&'static str, u64)],
    keyword: Keyword,
    /// Makes the activity ids of spans unique. 0 until the subscriber is registered.
    salt: AtomicU64,
}

impl<M: Mode> EtwTracing<M> {
    /// Creates a subscriber that writes events of `provider`, with keyword 1.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(provider: &'static Provider<M>) -> Self {
        Self { provider, targets: &[], keyword: Keyword::from_bits(DEFAULT_KEYWORD), salt: AtomicU64::new(0) }
    }

    /// Sets the keyword for targets that [`with_targets`](Self::with_targets) does not list.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn with_keyword(mut self, keyword: u64) -> Self {
        self.keyword = Keyword::from_bits(keyword);
        self
    }

    /// Sets keywords for targets. A target applies to a module and all modules inside it. The first match is used.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::define_provider;
    /// use wdk_etw_tracing::EtwTracing;
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// static TRACING: EtwTracing =
    ///     EtwTracing::new(&PROVIDER).with_targets(&[("my_driver::io", 0x2), ("my_driver", 0x4)]).with_keyword(0x8000);
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn with_targets(mut self, targets: &'static [(&'static str, u64)]) -> Self {
        self.targets = targets;
        self
    }

    /// Installs the subscriber in `tracing` and registers the provider. From then on, sessions set the maximum level of
    /// `tracing`.
    ///
    /// Allocates once; see [`ImageAllocator`](crate::ImageAllocator).
    ///
    /// # Errors
    ///
    /// Returns `STATUS_ALREADY_REGISTERED` (user mode: `ERROR_ALREADY_REGISTERED`) if `tracing` has another subscriber,
    /// or if another processor is installing one. The provider is not registered then. Otherwise returns the errors of
    /// [`Provider::register`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// The requirements of [`Provider::register`] apply. Events and spans of `tracing` are events of the provider.
    pub unsafe fn register(&'static self) -> M::Status {
        if !self.install() {
            return M::Status::ALREADY_REGISTERED;
        }
        // SAFETY: guaranteed by the caller.
        unsafe { self.provider.register_with_callback(follow, 0) }
    }

    /// Stops tracing and unregisters the provider. Later events are dropped.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Provider::unregister`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn unregister(&self) -> M::Status {
        let status = self.provider.unregister();
        if status.is_success() {
            set(0);
        }
        status
    }

    /// Installs the subscriber in `tracing` without registering the provider. This is for drivers that register the
    /// provider with their own callback and call [`follow`](crate::follow) in it. Call `install` before that.
    ///
    /// Returns `true` if this subscriber is installed, and `false` if there is another one, or if another processor is
    /// installing one. A subscriber cannot be replaced until the driver is unloaded.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn install(&'static self) -> bool {
        let is_current =
            |dispatch: &Dispatch| dispatch.downcast_ref::<Handle<M>>().map(|found| core::ptr::eq(found.0, self));
        let install = || {
            if let Some(is_own) = dispatcher::get_default(is_current) {
                return is_own;
            }
            let id = self.provider.new_activity_id();
            self.salt.store(mix(id.to_u128() ^ self.provider.id().to_u128().rotate_left(64)), Ordering::Relaxed);
            dispatcher::set_global_default(Dispatch::new(Handle(self))).is_ok()
        };
        allocator::from_image(install).unwrap_or(false)
    }

    /// Returns the provider.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// static TRACING: wdk_etw_tracing::EtwTracing = wdk_etw_tracing::EtwTracing::new(&PROVIDER);
    /// assert_eq!(TRACING.provider().name(), "MyCompany.MyDriver");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn provider(&self) -> &'static Provider<M> {
        self.provider
    }

    /// Returns the activity id of a span, or `None` if the span is not open. With this id, `write_event!` can write
    /// events that belong to the span.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::{define_provider, write_event};
    /// use wdk_etw_tracing::EtwTracing;
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// static TRACING: EtwTracing = EtwTracing::new(&PROVIDER);
    ///
    /// fn read(span: &tracing::Span) {
    ///     if let Some(activity) = span.id().and_then(|id| TRACING.activity(&id)) {
    ///         write_event!(PROVIDER, "Read", activity_id(&activity));
    ///     }
    /// }
    /// read(&tracing::info_span!("request"));
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn activity(&self, span: &Id) -> Option<Guid> {
        spans::is_open(span).then(|| self.guid(span))
    }

    /// Returns the activity of an event's or a span's parent: the one that it names, otherwise the current span of the
    /// thread, unless it is a root.
    fn parent(&self, named: Option<&Id>, is_contextual: bool) -> Option<Guid> {
        match named {
            Some(parent) => self.activity(parent),
            None if is_contextual => context::current(M::current_thread()).map(|current| self.guid(&current)),
            None => None,
        }
    }

    fn guid(&self, span: &Id) -> Guid {
        Guid::from_u128(u128::from(span.into_u64()) << 64 | u128::from(self.salt.load(Ordering::Relaxed)))
    }

    fn keyword(&self, target: &str) -> Keyword {
        let own = |(module, _): &&(&str, u64)| {
            target.strip_prefix(*module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        self.targets.iter().find(own).map_or(self.keyword, |(_, keyword)| Keyword::from_bits(*keyword))
    }

    /// Returns the descriptor of a call site's events, if a session enabled them.
    fn wanted(&self, metadata: &Metadata<'_>, opcode: Opcode) -> Option<EventDescriptor> {
        let level = etw_level(*metadata.level());
        let keyword = self.keyword(metadata.target());
        let is_wanted = self.provider.enabled_at_run_time(level, keyword);
        is_wanted.then(|| EventDescriptor { opcode, ..EventDescriptor::new(level, keyword) })
    }

    /// Writes an event of a call site, if a session enabled it. `record` adds the values.
    fn write(
        &self,
        site: &'static Metadata<'static>,
        opcode: Opcode,
        activity: Option<&Guid>,
        related: Option<&Guid>,
        record: impl FnOnce(&mut Values<M>),
    ) {
        let Some(descriptor) = self.wanted(site, opcode) else {
            return;
        };
        let mut values = Values::new();
        record(&mut values);
        // The code that traces must not fail because of a tracing error.
        let _ = write(self.provider, &Header { site, descriptor, activity, related }, &values);
    }
}

impl<M: Mode> EtwTracing<Protected<M>> {
    /// Does the same as [`register`](Self::register) for a provider with rundown protection: the driver can trace while
    /// the provider is unregistered.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::{Protected, define_provider};
    /// use wdk_etw_tracing::EtwTracing;
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver", protected());
    /// static TRACING: EtwTracing<Protected> = EtwTracing::new(&PROVIDER);
    ///
    /// assert!(TRACING.register_protected().is_success());
    /// tracing::info!("started");
    /// assert!(TRACING.unregister().is_success());
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
        if !self.install() {
            return M::Status::ALREADY_REGISTERED;
        }
        self.provider.register_protected_with_callback(follow, 0)
    }
}

/// Defines a provider, registers it, and writes all events and spans of `tracing` as its events.
///
/// The argument is the provider's name; the options of [`define_provider!`](wdk_etw::define_provider) can follow. The
/// result is the status of [`EtwTracing::register_protected`]. [`stop`](crate::stop) ends it. As without this macro, the
/// driver's global allocator is an [`ImageAllocator`](crate::ImageAllocator).
///
/// ```
/// # use etw_symbols as _;
/// // In DriverEntry.
/// let status = wdk_etw_tracing::init!("MyCompany.MyDriver");
/// assert!(status.is_success());
///
/// // Anywhere in the driver, and in the crates that it links.
/// tracing::warn!(device = 3, "not ready");
///
/// // In the unload routine.
/// assert!(wdk_etw_tracing::stop().is_success());
/// ```
///
/// # IRQL
///
/// `PASSIVE_LEVEL`.
#[macro_export]
macro_rules! init {
    ($name:literal $($options:tt)*) => {{
        $crate::__private::define_provider!(__WDK_ETW_TRACING_PROVIDER, $name, protected() $($options)*);
        static __WDK_ETW_TRACING: $crate::EtwTracing<$crate::__private::Protected> =
            $crate::EtwTracing::new(&__WDK_ETW_TRACING_PROVIDER);
        __WDK_ETW_TRACING.register_protected()
    }};
}

/// Unregisters what [`init!`](crate::init) registered. Later events are dropped. Does nothing and returns success if nothing is
/// registered.
///
/// ```
/// # use etw_symbols as _;
/// let status = wdk_etw_tracing::init!("MyCompany.MyDriver");
/// assert!(status.is_success());
/// assert!(wdk_etw_tracing::stop().is_success());
/// ```
///
/// # Errors
///
/// Returns the errors of [`EtwTracing::unregister`].
///
/// # IRQL
///
/// `PASSIVE_LEVEL`.
#[expect(clippy::must_use_candidate, reason = "an unload routine cannot do anything about a failure")]
pub fn stop() -> NtStatus {
    dispatcher::get_default(|dispatch| {
        let started = dispatch.downcast_ref::<Handle<Protected>>();
        started.map_or(NtStatus::Success, |handle| handle.0.unregister())
    })
}

/// Mixes all bits of a GUID into 64 bits.
fn mix(value: u128) -> u64 {
    let [low, high] = [value, value >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or_default());
    let mixed = (high ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ low;
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 29)
}

/// The value that `tracing-core` stores.
struct Handle<M: Mode>(&'static EtwTracing<M>);

const _: () = assert!(size_of::<Handle<Kernel>>() == size_of::<usize>(), "the memory in the image is for this size");

impl<M: Mode> Subscriber for Handle<M> {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // `follow` makes `tracing-core` call this again when sessions change. A call site that is registered at the
        // same time may get the old state, so the result must not be final: after `sometimes`, `tracing-core` calls
        // `enabled`; after `always`, `event` checks again.
        if self.0.wanted(metadata, Opcode::Info).is_some() { Interest::always() } else { Interest::sometimes() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.0.wanted(metadata, Opcode::Info).is_some()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(filter())
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let metadata = attributes.metadata();
        let Some(id) = spans::open(metadata) else {
            let provider = self.0.provider;
            write_event!(provider, "SpanLost", level(Warning), str8("name", metadata.name()));
            return spans::lost();
        };
        let activity = self.0.guid(&id);
        let related = self.0.parent(attributes.parent(), attributes.is_contextual());
        self.0.write(metadata, Opcode::Start, Some(&activity), related.as_ref(), |values| attributes.record(values));
        id
    }

    fn record(&self, span: &Id, record: &Record<'_>) {
        let Some(metadata) = spans::metadata(span) else {
            return;
        };
        self.0.write(metadata, Opcode::Info, Some(&self.0.guid(span)), None, |values| record.record(values));
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        let (Some(metadata), related) = (spans::metadata(span), self.0.activity(follows)) else {
            return;
        };
        self.0.write(metadata, Opcode::Info, Some(&self.0.guid(span)), related.as_ref(), |_| ());
    }

    fn event(&self, event: &Event<'_>) {
        let activity = self.0.parent(event.parent(), event.is_contextual());
        self.0.write(event.metadata(), Opcode::Info, activity.as_ref(), None, |values| event.record(values));
    }

    fn enter(&self, span: &Id) {
        if context::enter(M::current_thread(), span) {
            return;
        }
        let provider = self.0.provider;
        let id = self.0.guid(span);
        write_event!(provider, "SpanContextLost", level(Warning), activity_id(&id));
    }

    fn exit(&self, span: &Id) {
        context::exit(M::current_thread(), span);
    }

    fn current_span(&self) -> Current {
        let current = context::current(M::current_thread());
        let known = current.and_then(|id| spans::metadata(&id).map(|metadata| Current::new(id, metadata)));
        known.unwrap_or_else(Current::none)
    }

    fn clone_span(&self, id: &Id) -> Id {
        spans::clone(id);
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let activity = self.0.activity(&id);
        let Some(metadata) = spans::close(&id) else {
            return false;
        };
        self.0.write(metadata, Opcode::Stop, activity.as_ref(), None, |_| ());
        true
    }
}

impl<M: Mode> fmt::Debug for EtwTracing<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtwTracing")
            .field("provider", self.provider)
            .field("targets", &self.targets)
            .field("keyword", &self.keyword)
            .finish_non_exhaustive()
    }
}
