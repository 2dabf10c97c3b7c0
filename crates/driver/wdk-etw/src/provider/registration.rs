//! Registering, unregistering, and a registration that ends with its scope.

use core::fmt;
use core::ptr;

use etw_types::EventInfoClass;

use super::Provider;
use super::callback::{EnableCallback, on_control};
use super::state::Refusal;
use crate::backend::protected::Protected;
use crate::backend::{Mode, Status};

/// # Registration
///
/// `register` and `unregister` are a pair. [`register_scoped`](Self::register_scoped) returns a value that unregisters
/// when it is dropped. They can be called from any thread and in any order: a call that is not possible returns an
/// error status.
impl<M: Mode> Provider<M> {
    /// Registers the provider with ETW and sets its traits.
    ///
    /// Returns the status of the registration. Setting the traits can fail although the registration succeeds, for
    /// example on a Windows without `EtwSetInformation`. Events are written in this case too;
    /// [`traits_status`](Self::traits_status) returns the status of setting the traits.
    ///
    /// ETW can call the enable callback before this returns: if a session is waiting for this provider, its events are
    /// enabled from that moment on.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// // SAFETY: unregistered below, when nothing writes any more.
    /// let status = unsafe { PROVIDER.register() };
    /// assert!(status.is_success());
    /// assert!(PROVIDER.unregister().is_success());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `STATUS_ALREADY_REGISTERED` (user mode: `ERROR_ALREADY_REGISTERED`) if it is already registered;
    /// `STATUS_DEVICE_BUSY` (`ERROR_BUSY`) while another call registers or unregisters it; otherwise the error of ETW.
    /// After an error of ETW the provider is not registered.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// 1. The provider is unregistered before the image that contains it is unloaded: ETW keeps calling into it.
    /// 2. While [`unregister`](Self::unregister) runs, nothing else uses the registration: no other thread, interrupt or
    ///    callback writes through this provider, stops one of its activities, sets information on it, or asks
    ///    [`query_enabled`](Self::query_enabled) or [`query_event_enabled`](Self::query_event_enabled). Each of them passes
    ///    the handle to ETW, which frees the registration without waiting for them. In a driver, unregister in the unload
    ///    routine, when its devices, timers and threads are gone.
    ///
    ///    [`enabled`](Self::enabled), [`is_registered`](Self::is_registered) and the functions that return the id, the name
    ///    or a status read only the provider itself, so they may run at any time.
    #[doc(alias("TraceLoggingRegister", "EtwRegister", "EventRegister"))]
    pub unsafe fn register(&'static self) -> M::Status {
        self.register_inner(None, 0, || ())
    }

    /// Registers the provider like [`register`](Self::register), with an enable callback of the driver.
    ///
    /// `context` is passed to each call. The callback can run before this returns.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::{EnableRequest, define_provider};
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver");
    ///
    /// fn on_enable(request: &EnableRequest<'_>) {
    ///     assert_eq!(request.context(), 5);
    /// }
    ///
    /// // SAFETY: unregistered below, when nothing writes any more.
    /// let status = unsafe { PROVIDER.register_with_callback(on_enable, 5) };
    /// assert!(status.is_success());
    /// assert!(PROVIDER.unregister().is_success());
    /// ```
    ///
    /// # Errors
    ///
    /// As for `register`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    ///
    /// # Safety
    ///
    /// As for `register`.
    #[doc(alias = "TraceLoggingRegisterEx")]
    pub unsafe fn register_with_callback(&'static self, callback: EnableCallback, context: usize) -> M::Status {
        self.register_inner(Some(callback), context, || ())
    }

    /// Registers the provider until the returned value is dropped.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// // SAFETY: the registration is dropped when nothing writes any more.
    /// let registration = unsafe { PROVIDER.register_scoped() }?;
    /// assert!(PROVIDER.is_registered());
    /// drop(registration);
    /// assert!(!PROVIDER.is_registered());
    /// # Ok::<(), wdk_etw::NtStatus>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`register`](Self::register).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`, here and where the registration is dropped.
    ///
    /// # Safety
    ///
    /// The requirements of `register` apply. Dropping the registration has the effect of `unregister`.
    pub unsafe fn register_scoped(&'static self) -> Result<Registration<M>, M::Status> {
        let status = self.register_inner(None, 0, || ());
        if status.is_success() { Ok(Registration { provider: self }) } else { Err(status) }
    }

    /// Does the same as [`register_scoped`](Self::register_scoped), with an enable callback of the driver.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// // SAFETY: the registration is dropped when nothing writes any more.
    /// let registration = unsafe { PROVIDER.register_scoped_with_callback(|_request| {}, 0) }?;
    /// assert!(PROVIDER.is_registered());
    /// # Ok::<(), wdk_etw::NtStatus>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`register`](Self::register).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`, here and where the registration is dropped.
    ///
    /// # Safety
    ///
    /// As for `register_scoped`.
    pub unsafe fn register_scoped_with_callback(
        &'static self,
        callback: EnableCallback,
        context: usize,
    ) -> Result<Registration<M>, M::Status> {
        let status = self.register_inner(Some(callback), context, || ());
        if status.is_success() { Ok(Registration { provider: self }) } else { Err(status) }
    }

    /// Ends the registration. Does nothing and returns success if the provider is not registered.
    ///
    /// If the provider is [`Protected`], waits until all writers have left. Otherwise the contract of
    /// [`register`](Self::register) says that there are none.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// // A second call has no effect.
    /// assert!(PROVIDER.unregister().is_success());
    /// assert!(PROVIDER.unregister().is_success());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns `STATUS_DEVICE_BUSY` (user mode: `ERROR_BUSY`) while another call registers or unregisters the provider,
    /// even if that call is further up the stack of this thread and this is called from its callback. Otherwise returns
    /// the error of ETW; the provider then stays registered, so that the call can be repeated.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`. Do not call it from the provider's own enable callback: the kernel holds a lock there that this
    /// needs.
    #[doc(alias("TraceLoggingUnregister", "EtwUnregister", "EventUnregister"))]
    pub fn unregister(&self) -> M::Status {
        match self.lifecycle.begin_unregister() {
            Ok(()) => {}
            Err(Refusal::NothingToDo) => return M::Status::SUCCESS,
            Err(Refusal::Busy) => return M::Status::BUSY,
        }
        self.enable.disable();
        if M::IS_PROTECTED {
            self.rundown.run_down(M::wait);
        }
        let handle = self.lifecycle.take_handle();
        // SAFETY: the handle came from a successful registration and is released only once, because only this call
        // passed `begin_unregister`.
        let status = unsafe { M::unregister(handle) };
        if status.is_success() {
            // A callback that ran just before the end may have enabled the provider again.
            self.enable.disable();
            self.lifecycle.end_idle();
        } else {
            self.lifecycle.restore_handle(handle);
            self.rundown.open();
            self.lifecycle.end_registered();
        }
        status
    }

    /// Returns the status of setting the traits in the last successful registration; `None` before the first, and for
    /// the provider of a manifest.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// use wdk_etw::NtStatus;
    ///
    /// assert_eq!(PROVIDER.traits_status(), None);
    /// # // SAFETY: nothing else runs.
    /// # unsafe { PROVIDER.register() };
    /// assert_eq!(PROVIDER.traits_status(), Some(NtStatus::Success));
    /// # PROVIDER.unregister();
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    pub fn traits_status(&self) -> Option<M::Status> {
        self.traits_status.get().map(M::Status::from_code)
    }

    /// Registers the provider like `register_with_callback`. `prepare` sets what the callback needs: it runs before the first
    /// callback, and only if this call is the one that registers the provider.
    ///
    /// # Safety
    ///
    /// As for `register`.
    pub(crate) unsafe fn register_prepared(
        &'static self,
        callback: EnableCallback,
        context: usize,
        prepare: impl FnOnce(),
    ) -> M::Status {
        self.register_inner(Some(callback), context, prepare)
    }

    fn register_inner(
        &'static self,
        callback: Option<EnableCallback>,
        context: usize,
        prepare: impl FnOnce(),
    ) -> M::Status {
        match self.lifecycle.begin_register() {
            Ok(()) => {}
            Err(Refusal::NothingToDo) => return M::Status::ALREADY_REGISTERED,
            Err(Refusal::Busy) => return M::Status::BUSY,
        }
        prepare();
        self.callback.set(callback, context);
        // The callback can write events before `register` returns.
        self.rundown.open();
        // SAFETY: the id and the address for the handle are valid as long as this static provider lives. The callback
        // takes exactly this context, and the contract of `register` ends the registration before the image is
        // unloaded. ETW writes the handle with one aligned store; other threads read it as an atomic.
        let status = unsafe {
            M::register(
                &raw const self.id,
                on_control::<M>,
                ptr::from_ref(self).cast_mut().cast(),
                self.lifecycle.handle_address(),
            )
        };
        if status.is_success() {
            if self.sets_traits {
                let traits = self.set_information(EventInfoClass::SetTraits, self.traits());
                self.traits_status.set(traits.code());
            }
            self.lifecycle.end_registered();
        } else {
            self.enable.disable();
            self.lifecycle.end_idle();
        }
        status
    }
}

/// # Registration without `unsafe`
///
/// A [`Protected`] provider counts the callers that use its registration, and `unregister` waits for them. So nothing has
/// to be promised about writers: they can run at any time, on any processor and at any IRQL, also while the provider is
/// unregistered. Their events are written or, once `unregister` has begun, dropped.
///
/// The provider is unregistered before its image is unloaded, as everything else that the driver has started must have
/// ended by then. Who lets the image be unloaded promises that: the `unsafe` code that sets `DriverUnload`, and a
/// `DriverEntry` that returns an error. Nothing else unloads an image.
impl<M: Mode> Provider<Protected<M>> {
    /// Registers the provider like [`register`](Self::register). Nothing has to be promised about writers.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// use wdk_etw::{define_provider, write_event};
    ///
    /// define_provider!(PROVIDER, "MyCompany.MyDriver", protected());
    ///
    /// assert!(PROVIDER.register_protected().is_success());
    /// let writer = std::thread::spawn(|| {
    ///     write_event!(PROVIDER, "Working");
    /// });
    /// // It does not matter whether the thread still writes.
    /// assert!(PROVIDER.unregister().is_success());
    /// # writer.join().unwrap();
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
        self.register_inner(None, 0, || ())
    }

    /// Does the same as [`register_protected`](Self::register_protected), with an enable callback of the driver.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver", protected());
    ///
    /// assert!(PROVIDER.register_protected_with_callback(|_request| {}, 0).is_success());
    /// # PROVIDER.unregister();
    /// ```
    ///
    /// # Errors
    ///
    /// As for `register`.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn register_protected_with_callback(&'static self, callback: EnableCallback, context: usize) -> M::Status {
        self.register_inner(Some(callback), context, || ())
    }
}

/// A registration that ends when it is dropped.
///
/// [`Provider::register_scoped`] creates it. Its contract says when the registration may be dropped.
///
/// ```
/// # use etw_symbols as _;
/// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
/// use wdk_etw::Registration;
///
/// /// The state of a loaded driver.
/// struct Driver {
///     tracing: Registration<wdk_etw::Kernel>,
/// }
/// # // SAFETY: dropped at the end.
/// # let driver = Driver { tracing: unsafe { PROVIDER.register_scoped() }.unwrap() };
/// # assert!(driver.tracing.provider().is_registered());
/// ```
#[must_use = "the provider is unregistered when this is dropped"]
pub struct Registration<M: Mode> {
    provider: &'static Provider<M>,
}

impl<M: Mode> Registration<M> {
    /// Returns the provider.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// // SAFETY: the registration is dropped when nothing writes any more.
    /// let registration = unsafe { PROVIDER.register_scoped() }?;
    /// assert_eq!(registration.provider().name(), "MyCompany.MyDriver");
    /// # Ok::<(), wdk_etw::NtStatus>(())
    /// ```
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub fn provider(&self) -> &'static Provider<M> {
        self.provider
    }

    /// Ends the registration now and returns the result. If that fails, dropping the registration tries again.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// // SAFETY: the registration ends when nothing writes any more.
    /// let registration = unsafe { PROVIDER.register_scoped() }?;
    /// assert!(registration.end().is_ok());
    /// # Ok::<(), wdk_etw::NtStatus>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the status of [`Provider::unregister`], and the registration.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn end(self) -> Result<(), (M::Status, Self)> {
        let status = self.provider.unregister();
        if status.is_success() { Ok(()) } else { Err((status, self)) }
    }
}

impl<M: Mode> Drop for Registration<M> {
    fn drop(&mut self) {
        let _ = self.provider.unregister();
    }
}

impl<M: Mode> fmt::Debug for Registration<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registration").field(self.provider).finish()
    }
}
