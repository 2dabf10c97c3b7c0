//! Data blocks that the device offers to Windows Management Instrumentation (WMI).

use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::size_of;
use core::ptr::{self, NonNull};
use core::slice;

use wdk_etw::{Guid, NtStatus};
use wdk_sys::{NTSTATUS, PULONG, ULONG, WDF_WMI_INSTANCE_CONFIG, WDF_WMI_PROVIDER_CONFIG, WDFOBJECT, WDFWMIINSTANCE};

use crate::call::wdf;
use crate::child::Child;
use crate::{Device, DeviceHandle, Pod, check, device, guid, size_field, status_of};

/// A data block with one instance for each device. A device with several blocks implements this once for each, with different
/// `Tag`s. The framework calls the methods at `PASSIVE_LEVEL`.
pub trait WmiEvents<Tag = ()>: Device {
    /// The data of the block.
    type Data: Pod;

    /// `EvtWmiInstanceQueryInstance`: returns the data.
    ///
    /// # Errors
    ///
    /// The client gets the error.
    fn query(&self, device: DeviceHandle<'_, Self>) -> Result<Self::Data, NtStatus>;

    /// `EvtWmiInstanceSetInstance`: changes the data. A block is read-only unless a driver implements this.
    ///
    /// # Errors
    ///
    /// The client gets the error.
    fn set(&self, device: DeviceHandle<'_, Self>, data: Self::Data) -> Result<(), NtStatus> {
        let _ = (device, data);
        Err(NtStatus::WmiReadOnly)
    }

    /// `EvtWmiInstanceExecuteMethod`: executes a method of the block by its id.
    ///
    /// # Errors
    ///
    /// The client gets the error.
    fn execute(&self, device: DeviceHandle<'_, Self>, method: WmiMethod<'_>) -> Result<(), NtStatus> {
        let _ = (device, method);
        Err(NtStatus::InvalidDeviceRequest)
    }
}

/// A method that a client executes: its id, its input and its output, which share a buffer.
#[derive(Debug)]
pub struct WmiMethod<'a> {
    id: u32,
    start: NonNull<u8>,
    input: usize,
    capacity: usize,
    used: &'a mut u32,
}

impl WmiMethod<'_> {
    /// Returns the method's `WmiMethodId`.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }

    /// Returns the input.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    #[must_use]
    pub const fn input(&self) -> &[u8] {
        // SAFETY: the framework's buffer has the input at its start, and nothing writes to it while `self` is borrowed.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.input) }
    }

    /// Returns the input as a value. Input behind the value is ignored.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the input is shorter than the value.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn input_value<V: Pod>(&self) -> Result<V, NtStatus> {
        let bytes = self.input().get(..size_of::<V>()).ok_or(NtStatus::BufferTooSmall)?;
        // SAFETY: there are enough bytes, and any bytes are a valid `Pod`.
        Ok(unsafe { ptr::read_unaligned(bytes.as_ptr().cast()) })
    }

    /// Replies with bytes. They overwrite the input, so this consumes the method.
    ///
    /// # Errors
    ///
    /// Returns `STATUS_BUFFER_TOO_SMALL` if the client's buffer is smaller; return it, and the client is told the size.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn reply(self, bytes: &[u8]) -> Result<(), NtStatus> {
        *self.used = u32::try_from(bytes.len()).map_err(|_| NtStatus::InvalidParameter)?;
        if bytes.len() > self.capacity {
            return Err(NtStatus::BufferTooSmall);
        }
        // SAFETY: the buffer has room for the bytes. They are not in it, because `self` is not borrowed.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Replies with a value, as [`reply`](Self::reply).
    ///
    /// # Errors
    ///
    /// As [`reply`](Self::reply).
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn reply_value<V: Pod>(self, value: &V) -> Result<(), NtStatus> {
        // SAFETY: a `Pod` has no padding, so all of its bytes are initialised.
        self.reply(unsafe { slice::from_raw_parts(ptr::from_ref(value).cast(), size_of::<V>()) })
    }
}

/// A data block of a device. The device owns the framework's object: it is deleted with the device, and from then on events are
/// not sent.
#[derive(Debug)]
pub struct WmiBlock<D> {
    child: Child,
    data: PhantomData<fn(D)>,
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a data block and registers it.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfWmiInstanceCreate`, or `STATUS_INVALID_DEVICE_REQUEST` for a control device.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_wmi_block<Tag>(&self, block: &Guid) -> Result<WmiBlock<T::Data>, NtStatus>
    where
        T: WmiEvents<Tag>,
    {
        self.needs_pnp()?;
        let mut provider = WDF_WMI_PROVIDER_CONFIG {
            Size: size_field::<WDF_WMI_PROVIDER_CONFIG>(),
            Guid: *guid(block),
            MinInstanceBufferSize: size_field::<T::Data>(),
            ..WDF_WMI_PROVIDER_CONFIG::default()
        };
        let mut config = WDF_WMI_INSTANCE_CONFIG {
            Size: size_field::<WDF_WMI_INSTANCE_CONFIG>(),
            ProviderConfig: ptr::from_mut(&mut provider),
            Register: 1,
            EvtWmiInstanceQueryInstance: Some(query::<T, Tag>),
            EvtWmiInstanceSetInstance: Some(set::<T, Tag>),
            EvtWmiInstanceExecuteMethod: Some(execute::<T, Tag>),
            ..WDF_WMI_INSTANCE_CONFIG::default()
        };
        let create = |attributes, raw: *mut WDFOBJECT| {
            // SAFETY: the device exists, and all structures outlive the call.
            unsafe { wdf!(WdfWmiInstanceCreate, self.raw(), ptr::from_mut(&mut config), attributes, raw.cast()) }
        };
        // SAFETY: this creates an instance of the device with the attributes.
        let child = unsafe { Child::create(self.raw(), create) }?;
        Ok(WmiBlock { child, data: PhantomData })
    }
}

impl<D: Pod> WmiBlock<D> {
    /// Sends an event with data to the clients that have registered for it.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfWmiInstanceFireEvent`, or `STATUS_DELETE_PENDING` if the device was deleted.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn fire_event(&self, data: &D) -> Result<(), NtStatus> {
        let mut data = *data;
        let fire = |instance: WDFOBJECT| {
            // SAFETY: this value has a reference to the instance, and the data has this size.
            check(unsafe {
                wdf!(WdfWmiInstanceFireEvent, instance.cast(), size_field::<D>(), ptr::from_mut(&mut data).cast())
            })
        };
        self.child.with_device(fire).unwrap_or(Err(NtStatus::DeletePending))
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the instance.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFWMIINSTANCE {
        self.child.raw().cast()
    }
}

/// Calls `event` with the device of an instance.
///
/// # Safety
///
/// `instance` must have been created for a device with a context of type `T`, and the IRQL must be `PASSIVE_LEVEL`.
unsafe fn on<T: Device, R>(
    instance: WDFWMIINSTANCE,
    event: impl FnOnce(&T, DeviceHandle<'_, T>) -> Result<R, NtStatus>,
) -> Result<R, NtStatus> {
    // SAFETY: guaranteed by the caller.
    let raw = unsafe { wdf!(WdfWmiInstanceGetDevice, instance) };
    // SAFETY: the device of an instance exists, with a context of this type.
    unsafe { device::on(raw, event) }.unwrap_or(Err(NtStatus::DeviceNotReady))
}

unsafe extern "C" fn query<T: WmiEvents<Tag>, Tag>(
    instance: WDFWMIINSTANCE,
    size: ULONG,
    buffer: *mut c_void,
    used: PULONG,
) -> NTSTATUS {
    // SAFETY: the framework passes a place for the size, also if the buffer is too small.
    unsafe { used.write(size_field::<T::Data>()) };
    if size < size_field::<T::Data>() {
        return NtStatus::BufferTooSmall.as_signed();
    }
    // SAFETY: the framework passes an instance for which this callback was set.
    status_of(unsafe { on(instance, T::query) }.map(|data| {
        // SAFETY: the buffer has room for the data.
        unsafe { buffer.cast::<T::Data>().write_unaligned(data) };
    }))
}

unsafe extern "C" fn set<T: WmiEvents<Tag>, Tag>(
    instance: WDFWMIINSTANCE,
    size: ULONG,
    buffer: *mut c_void,
) -> NTSTATUS {
    if usize::try_from(size).unwrap_or_default() < size_of::<T::Data>() {
        return NtStatus::BufferTooSmall.as_signed();
    }
    // SAFETY: the buffer has the data of a block, and any bytes are a valid `Pod`.
    let data = unsafe { buffer.cast::<T::Data>().read_unaligned() };
    // SAFETY: the framework passes an instance for which this callback was set.
    status_of(unsafe { on(instance, |value: &T, device| value.set(device, data)) })
}

unsafe extern "C" fn execute<T: WmiEvents<Tag>, Tag>(
    instance: WDFWMIINSTANCE,
    id: ULONG,
    input: ULONG,
    capacity: ULONG,
    buffer: *mut c_void,
    used: PULONG,
) -> NTSTATUS {
    let mut written = 0;
    // Without input and output there may be no buffer.
    let start = NonNull::new(buffer.cast()).unwrap_or(NonNull::dangling());
    let (input, capacity) = if buffer.is_null() { (0, 0) } else { (input as usize, capacity as usize) };
    let method = WmiMethod { id, start, input, capacity, used: &mut written };
    // SAFETY: the framework passes an instance for which this callback was set.
    let result = unsafe { on(instance, |value: &T, device| value.execute(device, method)) };
    // SAFETY: the framework passes a place for the size.
    unsafe { used.write(written) };
    // The driver may have ignored that its reply does not fit.
    let fits = if written as usize <= capacity { Ok(()) } else { Err(NtStatus::BufferTooSmall) };
    status_of(result.and(fits))
}
