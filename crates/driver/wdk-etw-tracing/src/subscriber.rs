//! The subscriber: what `tracing-core` calls.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::subscriber::Interest;
use tracing_core::{Dispatch, Event, LevelFilter, Metadata, Subscriber, dispatcher};
use wdk_etw::{EventDescriptor, Guid, Kernel, Keyword, Mode, Opcode, Provider, Status, write_event};

use crate::event::{Header, write};
use crate::level::{etw_level, filter, follow, set};
use crate::values::Values;
use crate::{allocator, spans};

/// The keyword of events if none is chosen: that of events without one.
const DEFAULT_KEYWORD: u64 = 1;

/// Writes the events and spans of `tracing` as events of a provider. A `static` beside the provider's.
pub struct EtwTracing<M: Mode = Kernel> {
    provider: &'static Provider<M>,
    targets: &'static [(&'static str, u64)],
    keyword: Keyword,
    /// Makes the activity ids of spans unique. 0 until the subscriber is registered.
    salt: AtomicU64,
}

impl<M: Mode> EtwTracing<M> {
    /// A subscriber that writes through `provider`, with keyword 1.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new(provider: &'static Provider<M>) -> Self {
        Self { provider, targets: &[], keyword: Keyword::from_bits(DEFAULT_KEYWORD), salt: AtomicU64::new(0) }
    }

    /// The same with another keyword for targets that have none of their own.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn with_keyword(mut self, keyword: u64) -> Self {
        self.keyword = Keyword::from_bits(keyword);
        self
    }

    /// The same with keywords for targets: of a module and all below it. The first that matches counts.
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

    /// Becomes the subscriber of `tracing`, registers the provider, and has the maximum level follow the sessions.
    ///
    /// Allocates once; see [`ImageAllocator`](crate::ImageAllocator).
    ///
    /// # Errors
    ///
    /// `STATUS_ALREADY_REGISTERED` (user mode: `ERROR_ALREADY_REGISTERED`) if `tracing` has another subscriber; the provider is
    /// not registered then. Otherwise as for [`Provider::register`].
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// As for [`Provider::register`]; events and spans of `tracing` are events of the provider.
    pub unsafe fn register(&'static self) -> M::Status {
        if !self.install() {
            return M::Status::ALREADY_REGISTERED;
        }
        // SAFETY: the same contract.
        unsafe { self.provider.register_with_callback(follow, 0) }
    }

    /// Stops tracing, and unregisters the provider. The events that come later go nowhere.
    ///
    /// # Errors
    ///
    /// As for [`Provider::unregister`].
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

    /// Becomes the subscriber of `tracing`, without registering anything: for drivers that register their provider with a callback
    /// of their own, in which they call [`follow`](crate::follow). Call it before that.
    ///
    /// Returns whether it is the subscriber: `false` if there is another, as `tracing` has one for the life of an image.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn install(&'static self) -> bool {
        let is_current =
            |dispatch: &Dispatch| dispatch.downcast_ref::<Handle<M>>().map(|found| core::ptr::eq(found.0, self));
        if let Some(is_own) = dispatcher::get_default(is_current) {
            return is_own;
        }
        let id = self.provider.new_activity_id();
        self.salt.store(mix(id.to_u128() ^ self.provider.id().to_u128().rotate_left(64)), Ordering::Relaxed);
        let dispatch = allocator::from_image(|| Dispatch::new(Handle(self)));
        dispatcher::set_global_default(dispatch).is_ok()
    }

    /// The provider.
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

    /// The activity id of a span's events, for events of `wdk-etw` that belong to it; `None` for a span that is not open.
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

    fn guid(&self, span: &Id) -> Guid {
        Guid::from_u128(u128::from(span.into_u64()) << 64 | u128::from(self.salt.load(Ordering::Relaxed)))
    }

    fn keyword(&self, target: &str) -> Keyword {
        let own = |(module, _): &&(&str, u64)| {
            target.strip_prefix(*module).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        self.targets.iter().find(own).map_or(self.keyword, |(_, keyword)| Keyword::from_bits(*keyword))
    }

    /// The descriptor of a call site's events, if a session wants them.
    fn wanted(&self, metadata: &Metadata<'_>, opcode: Opcode) -> Option<EventDescriptor> {
        let (level, keyword) = (etw_level(*metadata.level()), self.keyword(metadata.target()));
        let is_wanted = self.provider.enabled_at_run_time(level, keyword);
        is_wanted.then(|| EventDescriptor { opcode, ..EventDescriptor::new(level, keyword) })
    }

    /// Writes an event of a call site with the values that `record` puts in, if a session wants it.
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
        // A failure to trace is not the failure of what traces.
        let _ = write(self.provider, &Header { site, descriptor, activity, related }, &values);
    }
}

/// Bits of a GUID in 64 that look like none of them.
fn mix(value: u128) -> u64 {
    let [low, high] = [value, value >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)).unwrap_or_default());
    let mixed = (high ^ 0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9) ^ low;
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 29)
}

/// What `tracing-core` keeps.
struct Handle<M: Mode>(&'static EtwTracing<M>);

const _: () = assert!(size_of::<Handle<Kernel>>() == size_of::<usize>(), "the image's memory is for this size");

impl<M: Mode> Subscriber for Handle<M> {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        // Asked again whenever sessions change (`follow`). A call site that is new while they do may be told the older state, which must
        // not be final: after `sometimes` it asks `enabled`, after `always` `event` looks once more.
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
        let related = attributes.parent().and_then(|parent| self.0.activity(parent));
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
        let activity = event.parent().and_then(|parent| self.0.activity(parent));
        self.0.write(event.metadata(), Opcode::Info, activity.as_ref(), None, |values| event.record(values));
    }

    /// There is no current span in the kernel: events name the one they belong to.
    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn current_span(&self) -> Current {
        Current::none()
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
