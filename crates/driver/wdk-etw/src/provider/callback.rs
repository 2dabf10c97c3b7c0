//! The driver's enable callback and its parameters.

use core::ffi::c_void;
use core::mem::transmute;
use core::ptr;
use core::slice;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use etw_types::{ControlCode, EventFilterDescriptor, Guid, Keyword, Level};

use super::Provider;
use crate::backend::Mode;

/// A driver's own enable callback.
///
/// It runs inside ETW, possibly inside [`Provider::register`], under a lock of the provider's id: it must be short, must
/// not block, and must not register or unregister a provider of that id (the kernel would deadlock; inside `register`
/// this crate returns "busy" instead). It may write events.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{ControlCode, EnableCallback, EnableRequest, define_provider, write_event};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// const CALLBACK: EnableCallback = on_enable;
///
/// fn on_enable(request: &EnableRequest<'_>) {
///     if request.control() == ControlCode::CaptureState {
///         // Write what a session that starts now should know.
///         write_event!(PROVIDER, "State", opcode(DC_Start), u32("Devices", &1));
///     }
/// }
/// # // SAFETY: nothing else runs.
/// # assert!(unsafe { PROVIDER.register_with_callback(on_enable, 5) }.is_success());
/// # PROVIDER.unregister();
/// ```
///
/// # IRQL
///
/// Called at `PASSIVE_LEVEL` or `APC_LEVEL`.
pub type EnableCallback = fn(&EnableRequest<'_>);

/// The parameters of an enable callback: what a session requests of a provider.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{EnableRequest, define_provider, write_event};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// fn on_enable(request: &EnableRequest<'_>) {
///     write_event!(
///         PROVIDER,
///         "Enable",
///         guid("Source", request.source()),
///         u32("Control", &request.control().as_int()),
///         u8("Level", &request.level().as_int()),
///         u64_hex("Any", &request.match_any().bits()),
///         u64_hex("All", &request.match_all().bits()),
///         usize("Context", &request.context()),
///     );
/// }
/// # // SAFETY: nothing else runs.
/// # assert!(unsafe { PROVIDER.register_with_callback(on_enable, 5) }.is_success());
/// # PROVIDER.unregister();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EnableRequest<'a> {
    source: Guid,
    control: ControlCode,
    level: Level,
    match_any: Keyword,
    match_all: Keyword,
    filter: Option<FilterData<'a>>,
    context: usize,
}

impl<'a> EnableRequest<'a> {
    /// Returns the source id, which the session's controller chose. It is often zero.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn source(&self) -> &Guid {
        &self.source
    }

    /// Returns the reason for the call: enable, disable, or capture state (write a rundown).
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn control(&self) -> ControlCode {
        self.control
    }

    /// Returns the most verbose level that is enabled. 0 and 255 mean every level.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// Returns the any-mask: an event's keyword must have at least one of these bits.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn match_any(&self) -> Keyword {
        self.match_any
    }

    /// Returns the all-mask: an event's keyword must have all of these bits.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn match_all(&self) -> Keyword {
        self.match_all
    }

    /// Returns the filter data for the provider, if the session passed any.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn filter(&self) -> Option<FilterData<'a>> {
        self.filter
    }

    /// Returns the value that was passed to [`Provider::register_with_callback`].
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn context(&self) -> usize {
        self.context
    }
}

/// Filter data that a session passes to a provider. It lives only during the callback.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{EnableRequest, define_provider, write_event};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// fn on_enable(request: &EnableRequest<'_>) {
///     if let Some(filter) = request.filter() {
///         // Its content comes from the controller of the session: check it.
///         let first = filter.bytes().first().copied().unwrap_or_default();
///         write_event!(PROVIDER, "Filter", u32_hex("Kind", &filter.kind()), u8("First", &first));
///     }
/// }
/// # // SAFETY: nothing else runs.
/// # assert!(unsafe { PROVIDER.register_with_callback(on_enable, 5) }.is_success());
/// # PROVIDER.unregister();
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FilterData<'a> {
    kind: u32,
    bytes: &'a [u8],
}

impl<'a> FilterData<'a> {
    /// Returns the type: `EVENT_FILTER_TYPE_*`, or a type that the provider defines.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn kind(&self) -> u32 {
        self.kind
    }

    /// Returns the data. It is untrusted: the session's controller chose it.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// # Safety
    ///
    /// `descriptor` must be null, or valid for `'a` together with the bytes that it describes.
    unsafe fn from_raw(descriptor: *const EventFilterDescriptor) -> Option<Self> {
        // SAFETY: the caller guarantees that the pointer is null or valid.
        let descriptor = unsafe { descriptor.as_ref() }?;
        let bytes = match usize::try_from(descriptor.size) {
            Ok(size) if size != 0 && !descriptor.ptr.is_null() => {
                // SAFETY: ETW passes `size` bytes at `ptr`, which are valid until the callback returns.
                unsafe { slice::from_raw_parts(descriptor.ptr, size) }
            }
            _ => &[],
        };
        Some(Self { kind: descriptor.kind, bytes })
    }
}

/// The driver's callback and its context, replaced at each registration.
#[derive(Debug)]
pub(super) struct CallbackSlot {
    /// An [`EnableCallback`], or null.
    function: AtomicPtr<()>,
    context: AtomicUsize,
}

impl CallbackSlot {
    pub(super) const fn new() -> Self {
        Self { function: AtomicPtr::new(ptr::null_mut()), context: AtomicUsize::new(0) }
    }

    pub(super) fn set(&self, callback: Option<EnableCallback>, context: usize) {
        let function = callback.map_or(ptr::null_mut(), |callback| callback as *mut ());
        self.context.store(context, Ordering::Relaxed);
        self.function.store(function, Ordering::Release);
    }

    fn get(&self) -> Option<(EnableCallback, usize)> {
        let function = self.function.load(Ordering::Acquire);
        // SAFETY: the pointer is null, which is `None`, or was made from an `EnableCallback` in `set`.
        let callback = unsafe { transmute::<*mut (), Option<EnableCallback>>(function) }?;
        Some((callback, self.context.load(Ordering::Relaxed)))
    }
}

/// The callback that ETW calls.
///
/// # Safety
///
/// `context` must be the `&'static Provider<M>` that was registered; `source` and `filter` must be null or valid for
/// the call.
pub(super) unsafe extern "system" fn on_control<M: Mode>(
    source: *const Guid,
    control: u32,
    level: u8,
    match_any: u64,
    match_all: u64,
    filter: *const EventFilterDescriptor,
    context: *mut c_void,
) {
    // SAFETY: guaranteed by the caller; only shared references to the provider exist.
    let Some(provider) = (unsafe { context.cast_const().cast::<Provider<M>>().as_ref() }) else {
        return;
    };
    let control = ControlCode::from_int(control);
    match control {
        ControlCode::DisableProvider => provider.enable.disable(),
        ControlCode::EnableProvider => provider.enable.enable(level, match_any, match_all),
        _ => {}
    }
    let Some((callback, context)) = provider.callback.get() else {
        return;
    };
    // SAFETY: the caller guarantees that the pointer is null or valid.
    let source = unsafe { source.as_ref() }.copied().unwrap_or_default();
    // SAFETY: the caller guarantees that the pointer is null or valid; the reference is not used after the callback.
    let filter = unsafe { FilterData::from_raw(filter) };
    callback(&EnableRequest {
        source,
        control,
        level: Level::from_int(level),
        match_any: Keyword::from_bits(match_any),
        match_all: Keyword::from_bits(match_all),
        filter,
        context,
    });
}
