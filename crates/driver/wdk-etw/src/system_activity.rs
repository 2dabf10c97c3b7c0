//! Activity ids that Windows keeps: that of the current thread, and that of an I/O request (IRP).
//!
//! ETW does not use either by itself for a kernel-mode event: a driver reads the id and passes it to its events.

use core::ffi::c_void;
use core::fmt;
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use etw_types::{Guid, NtStatus};

use crate::backend::kernel::{activity_id_control, system_routine};
use crate::backend::{GET_ID, GET_SET_ID, wide};

static GET_NAME: [u16; 18] = wide(b"IoGetActivityIdIrp");
static SET_NAME: [u16; 18] = wide(b"IoSetActivityIdIrp");

type GetFn = unsafe extern "system" fn(*mut c_void, *mut Guid) -> NtStatus;
type SetFn = unsafe extern "system" fn(*mut c_void, *const Guid) -> NtStatus;

/// Returns the activity id of the current thread (`EtwActivityIdControl`), which is zero until one is set.
///
/// A thread of a process has an id. A system thread has none; then this returns `STATUS_NOT_SUPPORTED`. Windows'
/// documentation says that an event without `activity_id` gets the thread's id. Public analysis of the kernel says that it
/// gets zero. So pass the id.
///
/// ```
/// # use etw_symbols as _;
/// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
/// use wdk_etw::{Guid, thread_activity_id, write_event};
///
/// let id = thread_activity_id().unwrap_or(Guid::ZERO);
/// write_event!(PROVIDER, "Open", activity_id(&id));
/// ```
///
/// # Errors
///
/// Returns the error of `EtwActivityIdControl`.
///
/// # IRQL
///
/// At most `APC_LEVEL`.
pub fn thread_activity_id() -> Result<Guid, NtStatus> {
    let mut id = Guid::ZERO;
    result(activity_id_control(GET_ID, &mut id), id)
}

/// Sets the activity id of the current thread, and returns the id that it had. Restore that one before the thread
/// returns to code that is not part of the activity.
///
/// ```
/// # use etw_symbols as _;
/// use wdk_etw::{Guid, set_thread_activity_id, thread_activity_id};
///
/// let id = Guid::from_u128(1);
/// let before = set_thread_activity_id(&id)?;
/// assert_eq!(thread_activity_id(), Ok(id));
/// assert_eq!(set_thread_activity_id(&before), Ok(id));
/// # Ok::<(), wdk_etw::NtStatus>(())
/// ```
///
/// # Errors
///
/// Returns the error of `EtwActivityIdControl`; for a system thread `STATUS_NOT_SUPPORTED`.
///
/// # IRQL
///
/// At most `APC_LEVEL`.
pub fn set_thread_activity_id(id: &Guid) -> Result<Guid, NtStatus> {
    let mut id = *id;
    result(activity_id_control(GET_SET_ID, &mut id), id)
}

fn result(status: NtStatus, id: Guid) -> Result<Guid, NtStatus> {
    if status.is_success() { Ok(id) } else { Err(status) }
}

/// The activity ids of I/O requests: `IoGetActivityIdIrp` and `IoSetActivityIdIrp`, looked up at run time.
///
/// Both routines exist since Windows 8. A driver that imported them would not load on an older Windows. A request has an
/// id only if a session traces I/O activities, or if a driver has set one.
///
/// Use the id as the `related_id` of the driver's own activity, so that a trace joins the work of the driver with the
/// request of the client.
///
/// ```
/// # use etw_symbols as _;
/// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
/// use std::ffi::c_void;
/// use wdk_etw::{IrpActivity, start_activity, write_event};
///
/// static IRP_ACTIVITY: IrpActivity = IrpActivity::new();
///
/// // In DriverEntry.
/// let _ = IRP_ACTIVITY.look_up();
///
/// // In a dispatch routine. `irp` is the request.
/// fn on_read(irp: *mut c_void) {
///     let activity = start_activity!(PROVIDER, "Read");
///     // SAFETY: the request is not completed yet.
///     if let Ok(client) = unsafe { IRP_ACTIVITY.get(irp) } {
///         write_event!(PROVIDER, "Client", activity_id(activity.id()), related_id(&client));
///     }
/// }
/// # let mut irp = 0_u64;
/// # on_read((&raw mut irp).cast());
/// ```
pub struct IrpActivity {
    /// The addresses of the routines; null until they are looked up, or if this Windows does not have them.
    get: AtomicPtr<c_void>,
    set: AtomicPtr<c_void>,
}

impl IrpActivity {
    /// Creates the value. Call [`look_up`](Self::look_up) before you use it.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn new() -> Self {
        Self { get: AtomicPtr::new(ptr::null_mut()), set: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Finds the routines. Returns `STATUS_NOT_SUPPORTED` if this Windows does not have them; then requests have no ids.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn look_up(&self) -> NtStatus {
        let get = system_routine(&GET_NAME);
        let set = system_routine(&SET_NAME);
        self.get.store(get.cast_mut(), Ordering::Relaxed);
        self.set.store(set.cast_mut(), Ordering::Relaxed);
        if get.is_null() || set.is_null() { NtStatus::NotSupported } else { NtStatus::Success }
    }

    /// Returns the activity id of a request.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_NOT_FOUND` if the request has no id, and `STATUS_NOT_SUPPORTED` if the routine was not looked up or
    /// does not exist.
    ///
    /// # Safety
    ///
    /// `irp` must be an IRP that is valid during the call.
    ///
    /// # IRQL
    ///
    /// Any.
    pub unsafe fn get(&self, irp: *mut c_void) -> Result<Guid, NtStatus> {
        let routine = self.get.load(Ordering::Relaxed);
        // SAFETY: null is `None`; any other value is the address of the routine of this name, which has this documented
        // signature.
        let routine = unsafe { transmute::<*mut c_void, Option<GetFn>>(routine) };
        let Some(routine) = routine else { return Err(NtStatus::NotSupported) };
        let mut id = Guid::ZERO;
        // SAFETY: the caller guarantees that the IRP is valid; the id outlives the call.
        let status = unsafe { routine(irp, &raw mut id) };
        result(status, id)
    }

    /// Sets the activity id of a request that this driver allocated with `IoAllocateIrp`. The documentation allows no
    /// others.
    ///
    /// ```
    /// # use etw_symbols as _;
    /// # wdk_etw::define_provider!(PROVIDER, "MyCompany.MyDriver");
    /// # let mut irp = 0_u64;
    /// # let irp = (&raw mut irp).cast();
    /// use wdk_etw::IrpActivity;
    ///
    /// static IRP_ACTIVITY: IrpActivity = IrpActivity::new();
    /// assert!(IRP_ACTIVITY.look_up().is_success());
    ///
    /// let id = PROVIDER.new_activity_id();
    /// // SAFETY: this driver allocated the request and has not sent it yet.
    /// unsafe { IRP_ACTIVITY.set(irp, &id) }?;
    /// # assert_eq!(unsafe { IRP_ACTIVITY.get(irp) }, Ok(id));
    /// # Ok::<(), wdk_etw::NtStatus>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of `IoSetActivityIdIrp`, and `STATUS_NOT_SUPPORTED` if the routine was not looked up or does not
    /// exist.
    ///
    /// # Safety
    ///
    /// `irp` must be such an IRP, and valid during the call.
    ///
    /// # IRQL
    ///
    /// Any.
    pub unsafe fn set(&self, irp: *mut c_void, id: &Guid) -> Result<(), NtStatus> {
        let routine = self.set.load(Ordering::Relaxed);
        // SAFETY: as in `get`.
        let routine = unsafe { transmute::<*mut c_void, Option<SetFn>>(routine) };
        let Some(routine) = routine else { return Err(NtStatus::NotSupported) };
        // SAFETY: the caller guarantees that the IRP is valid; the id outlives the call.
        let status = unsafe { routine(irp, ptr::from_ref(id)) };
        if status.is_success() { Ok(()) } else { Err(status) }
    }
}

impl Default for IrpActivity {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for IrpActivity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_found = |routine: &AtomicPtr<c_void>| !routine.load(Ordering::Relaxed).is_null();
        f.debug_struct("IrpActivity").field("get", &is_found(&self.get)).field("set", &is_found(&self.set)).finish()
    }
}
