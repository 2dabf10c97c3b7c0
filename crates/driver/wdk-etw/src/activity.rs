//! Activities: ids that connect the events of one operation.
//!
//! In kernel mode, an event without an id gets a zero GUID, even if its thread has an activity id
//! ([`thread_activity_id`](crate::thread_activity_id)). Therefore the driver must pass the id to each event. A scope
//! contains the id.

use core::fmt;

use etw_types::{Guid, HResult, NtStatus};

use crate::backend::kernel::Kernel;
use crate::backend::{Mode, Status, new_activity_id};
use crate::event::Event;
use crate::event::packed::value_descriptor;
use crate::provider::Provider;

impl<M: Mode> Provider<M> {
    /// Creates an activity id, unique on this machine until it restarts.
    ///
    /// Returns the zero GUID if the system returns an error, which it does not do for this operation. The provider does
    /// not have to be registered.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// let id = PROVIDER.new_activity_id();
    /// assert!(!id.is_zero());
    /// assert_ne!(id, PROVIDER.new_activity_id());
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn new_activity_id(&self) -> Guid {
        new_activity_id::<M>()
    }
}

/// The result that a scope can store for its stop event: `()`, a status or a number.
///
/// [`start_activity!`](crate::start_activity) chooses it by its option `result`. This trait is sealed.
///
/// ```
/// use wdk_etw::{ActivityResult, NtStatus};
///
/// // The result of a scope that is dropped before its result is set.
/// assert_eq!(<NtStatus as ActivityResult>::INITIAL, NtStatus::Unsuccessful);
/// ```
pub trait ActivityResult: sealed::Payload + Copy + fmt::Debug + Send + Sync + 'static {
    /// The result of a scope that ends without one, for example by an early return: a failure status, or 0 for a
    /// number.
    const INITIAL: Self;
}

mod sealed {
    use crate::event::packed::Scalar;

    /// The payload of a stop event's result.
    pub trait Payload {
        /// The bytes.
        type Bytes: Scalar;

        /// The value as bytes.
        fn bytes(self) -> Self::Bytes;
    }
}

/// Declares the types of results.
macro_rules! results {
    ($($kind:ty as $bytes:ty = $initial:expr, $value:ident => $code:expr;)*) => {
        $(
            impl ActivityResult for $kind {
                const INITIAL: Self = $initial;
            }

            impl sealed::Payload for $kind {
                type Bytes = $bytes;

                #[inline(always)]
                fn bytes(self) -> $bytes {
                    let $value = self;
                    $code
                }
            }
        )*
    };
}

results! {
    () as () = (), _nothing => ();
    NtStatus as u32 = NtStatus::Unsuccessful, status => status.as_int();
    HResult as u32 = HResult::Fail, status => status.as_int();
    u32 as u32 = 0, value => value;
    u64 as u64 = 0, value => value;
}

/// An activity in progress. [`start_activity!`](crate::start_activity) creates it and writes the start event.
///
/// Pass [`id`](Self::id) to the events of the activity (`activity_id(scope.id())`) and to the start of nested ones
/// (`related_id(scope.id())`). The activity ends once, with an event of the same name, level and keyword and opcode
/// `Stop`:
///
/// - [`stop_activity!`](crate::stop_activity) writes it with fields,
/// - [`stop`](Self::stop) and [`finish`](Self::finish) write it with the scope's result if there is one,
/// - dropping the scope does the same, also after an early return.
///
/// If the start event was not enabled, the scope is inactive: its id is the zero GUID and its end writes nothing, even
/// if a session enables the provider in between. A trace never shows the stop of an activity whose start it does not
/// have.
///
/// A scope can be moved to another thread, into the context of a request for example, and end there.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{ActivityScope, define_provider, start_activity, stop_activity};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// /// The state of a request that is completed later.
/// struct Pending {
///     activity: ActivityScope,
/// }
///
/// fn begin(code: u32) -> Pending {
///     Pending { activity: start_activity!(PROVIDER, "Request", level(Informational), u32_hex("Code", &code)) }
/// }
///
/// // Runs on the thread that completes the request.
/// fn complete(pending: Pending, bytes: u64) {
///     stop_activity!(pending.activity, u64("Bytes", &bytes));
/// }
/// # complete(begin(1), 2);
/// ```
///
/// # IRQL
///
/// Any for all methods.
#[must_use = "the activity ends when this is dropped"]
pub struct ActivityScope<M: Mode = Kernel, R: ActivityResult = ()> {
    provider: &'static Provider<M>,
    stop: Option<&'static Event>,
    id: Guid,
    result: R,
}

/// The parts of a scope that are needed to write its stop event.
#[doc(hidden)]
#[derive(Debug)]
pub struct Stop<M: Mode, B> {
    pub provider: &'static Provider<M>,
    pub event: &'static Event,
    pub id: [u8; 16],
    pub result: B,
}

impl<M: Mode, R: ActivityResult> ActivityScope<M, R> {
    /// Creates an active scope with a new id. `stop` is the event that its end writes.
    #[doc(hidden)]
    pub fn active(provider: &'static Provider<M>, stop: &'static Event) -> Self {
        Self { provider, stop: Some(stop), id: provider.new_activity_id(), result: R::INITIAL }
    }

    /// Creates an inactive scope, which does nothing.
    #[doc(hidden)]
    pub fn inactive(provider: &'static Provider<M>) -> Self {
        Self { provider, stop: None, id: Guid::ZERO, result: R::INITIAL }
    }

    /// Returns the activity's id, or the zero GUID if the scope is inactive.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use wdk_etw::start_activity;
    /// let scope = start_activity!(PROVIDER, "Read");
    /// // No session enabled the provider, so there is no activity.
    /// assert!(scope.id().is_zero());
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn id(&self) -> &Guid {
        &self.id
    }

    /// Returns whether the start event was enabled.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use wdk_etw::start_activity;
    /// let scope = start_activity!(PROVIDER, "Read");
    /// assert!(!scope.is_active(), "no session enabled the provider");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.stop.is_some()
    }

    /// Ends the activity now. Returns the status of the stop event, or success if nothing was written.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use wdk_etw::start_activity;
    /// let scope = start_activity!(PROVIDER, "Read");
    /// assert!(scope.stop().is_success());
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn stop(mut self) -> M::Status {
        self.write_stop()
    }

    /// Ends the scope without a stop event and returns the id, for work whose end another component traces. Returns
    /// `None` if the scope is inactive.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use wdk_etw::start_activity;
    /// let scope = start_activity!(PROVIDER, "Read");
    /// assert_eq!(scope.into_id(), None, "no session enabled the provider");
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn into_id(mut self) -> Option<Guid> {
        self.stop.take().map(|_| self.id)
    }

    /// Returns whether `stop_activity!` has an event to write.
    #[doc(hidden)]
    #[inline]
    pub fn wants_stop(&self) -> bool {
        self.stop.is_some_and(|stop| is_wanted(self.provider, stop))
    }

    /// Ends a scope that has nothing to write.
    #[doc(hidden)]
    #[inline]
    pub fn leave(mut self) -> M::Status {
        self.stop = None;
        M::Status::SUCCESS
    }

    /// Returns what `stop_activity!` needs to write the stop event.
    #[doc(hidden)]
    #[inline]
    pub fn into_stop(mut self) -> Option<Stop<M, R::Bytes>> {
        let provider = self.provider;
        let event = self.stop.take()?;
        Some(Stop { provider, event, id: self.id.to_bytes_le(), result: self.result.bytes() })
    }

    #[inline]
    fn write_stop(&mut self) -> M::Status {
        match self.stop.take() {
            Some(stop) => write_stop(self.provider, stop, &self.id, self.result),
            None => M::Status::SUCCESS,
        }
    }
}

/// Returns whether a session has the stop event enabled. The event is known only at run time, so this test cannot use
/// constants. It is not inlined, because most scopes are inactive.
#[cold]
#[inline(never)]
fn is_wanted<M: Mode>(provider: &Provider<M>, stop: &Event) -> bool {
    let descriptor = stop.descriptor();
    provider.enabled_at_run_time(descriptor.level, descriptor.keyword)
}

/// Writes a stop event without fields.
#[cold]
#[inline(never)]
fn write_stop<M: Mode, R: ActivityResult>(
    provider: &Provider<M>,
    stop: &'static Event,
    id: &Guid,
    result: R,
) -> M::Status {
    let result = result.bytes();
    let data = [provider.traits_descriptor(), stop.metadata(), value_descriptor(&result)];
    let [without_result @ .., _] = &data;
    let data = if size_of::<R::Bytes>() == 0 { without_result } else { data.as_slice() };
    provider.write(stop.descriptor(), Some(id), None, data)
}

/// # Results
///
/// For scopes that were started with `result(ntstatus("Status"))` or another type of [`ActivityResult`]. Until a result
/// is set, it is [`ActivityResult::INITIAL`]. For a status that is a failure, so an early return does not look like a
/// success.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{NtStatus, define_provider, start_activity};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver");
///
/// fn read(length: usize) -> Result<usize, NtStatus> {
///     let mut scope = start_activity!(PROVIDER, "Read", level(Informational), result(ntstatus("Status")));
///     if length == 0 {
///         scope.set_result(NtStatus::InvalidParameter);
///         // The stop event has this status.
///         return Err(scope.result());
///     }
///     // Stops with the status of what it is given, and hands that on.
///     scope.finish(Ok(length))
/// }
/// # assert_eq!(read(0), Err(NtStatus::InvalidParameter));
/// # assert_eq!(read(1), Ok(1));
/// ```
impl<M: Mode, R: ActivityResult> ActivityScope<M, R> {
    /// Returns the result that the stop event will have.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn result(&self) -> R {
        self.result
    }

    /// Sets the result that the stop event will have.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::start_activity;
    ///
    /// let mut scope = start_activity!(PROVIDER, "Read", result(u64("Bytes")));
    /// scope.set_result(512);
    /// assert_eq!(scope.result(), 512);
    /// // When the scope is dropped, also after an early return, the stop event has the number of bytes.
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn set_result(&mut self, result: R) {
        self.result = result;
    }

    /// Ends the activity with this result. Returns the status of the stop event.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::start_activity;
    ///
    /// let scope = start_activity!(PROVIDER, "Read", result(u64("Bytes")));
    /// assert!(scope.stop_with(512).is_success());
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn stop_with(mut self, result: R) -> M::Status {
        self.result = result;
        self.write_stop()
    }
}

impl<M: Mode, R: ActivityResult + Status> ActivityScope<M, R> {
    /// Ends the activity with the status of `outcome`, and returns `outcome`.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # use wdk_etw::start_activity;
    /// use wdk_etw::NtStatus;
    ///
    /// let scope = start_activity!(PROVIDER, "Read", result(ntstatus("Status")));
    /// let outcome: Result<u32, NtStatus> = scope.finish(Err(NtStatus::NoMemory));
    /// assert_eq!(outcome, Err(NtStatus::NoMemory));
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of `outcome`. A failure to write the stop event is ignored.
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn finish<T>(mut self, outcome: Result<T, R>) -> Result<T, R> {
        self.result = match &outcome {
            Ok(_) => R::SUCCESS,
            Err(status) => *status,
        };
        outcome
    }
}

impl<M: Mode, R: ActivityResult> Drop for ActivityScope<M, R> {
    fn drop(&mut self) {
        let _ = self.write_stop();
    }
}

impl<M: Mode, R: ActivityResult> fmt::Debug for ActivityScope<M, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ActivityScope")
            .field("id", &self.id)
            .field("active", &self.is_active())
            .field("result", &self.result)
            .finish_non_exhaustive()
    }
}
