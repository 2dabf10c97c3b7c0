//! A mode with rundown protection: another mode, whose providers wait for their writers when they unregister.

use core::ffi::c_void;
use core::marker::PhantomData;

use etw_types::{EventDataDescriptor, EventDescriptor, Guid};

use super::kernel::Kernel;
use super::{Mode, RawCallback, RegHandle};

/// Kernel or user mode, with rundown protection: [`unregister`](crate::Provider::unregister) waits for the writers, so that
/// registering needs no `unsafe`: [`register_protected`](crate::Provider::register_protected).
///
/// [`define_provider!`](crate::define_provider) makes such a provider with its option `protected()`. A disabled event costs
/// the same as with any provider. An enabled event counts its writer, with two atomic operations more.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{Kernel, Protected, Provider, define_provider};
///
/// define_provider!(PROVIDER, "MyCompany.MyDriver", protected());
/// let provider: &Provider<Protected<Kernel>> = &PROVIDER;
/// assert!(provider.register_protected().is_success());
/// assert!(provider.unregister().is_success());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Protected<M: Mode = Kernel>(PhantomData<fn() -> M>);

impl<M: Mode> Mode for Protected<M> {
    const IS_PROTECTED: bool = true;

    type Status = M::Status;

    unsafe fn register(
        id: *const Guid,
        callback: RawCallback,
        context: *mut c_void,
        handle: *mut RegHandle,
    ) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::register(id, callback, context, handle) }
    }

    unsafe fn unregister(handle: RegHandle) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::unregister(handle) }
    }

    unsafe fn set_information_off(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::set_information_off(handle, class, data, length) }
    }

    unsafe fn set_information_direct(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::set_information_direct(handle, class, data, length) }
    }

    unsafe fn set_information_lookup(handle: RegHandle, class: u32, data: *const c_void, length: u32) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::set_information_lookup(handle, class, data, length) }
    }

    #[inline]
    unsafe fn write_transfer(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::write_transfer(handle, descriptor, activity, related, count, data) }
    }

    unsafe fn write_ex(
        handle: RegHandle,
        descriptor: *const EventDescriptor,
        filter: u64,
        flags: u32,
        activity: *const Guid,
        related: *const Guid,
        count: u32,
        data: *const EventDataDescriptor<'_>,
    ) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::write_ex(handle, descriptor, filter, flags, activity, related, count, data) }
    }

    unsafe fn write_string(
        handle: RegHandle,
        level: u8,
        keyword: u64,
        activity: *const Guid,
        text: *const u16,
    ) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::write_string(handle, level, keyword, activity, text) }
    }

    unsafe fn event_enabled(handle: RegHandle, descriptor: *const EventDescriptor) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { M::event_enabled(handle, descriptor) }
    }

    unsafe fn provider_enabled(handle: RegHandle, level: u8, keyword: u64) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe { M::provider_enabled(handle, level, keyword) }
    }

    unsafe fn create_activity_id(id: *mut Guid) -> M::Status {
        // SAFETY: guaranteed by the caller.
        unsafe { M::create_activity_id(id) }
    }

    fn current_thread() -> usize {
        M::current_thread()
    }

    fn wait() {
        M::wait();
    }
}
