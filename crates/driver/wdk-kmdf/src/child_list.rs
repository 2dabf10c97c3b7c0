//! Child lists: devices on a bus that the framework creates and removes when the driver reports that they have come or gone.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr;

use wdk_etw::NtStatus;
use wdk_sys::{
    NTSTATUS, PWDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER, PWDFDEVICE_INIT,
    WDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER, WDF_CHILD_LIST_CONFIG, WDFCHILDLIST, WDFOBJECT,
};

use crate::bus::PdoInit;
use crate::call::wdf;
use crate::child::{self, Child};
use crate::{Device, DeviceHandle, Pod, check, device, init, size_field, status_of};

/// The callbacks of a child list. A device with several lists implements this once for each, with different `Tag`s. The framework
/// calls them at `PASSIVE_LEVEL`.
pub trait ChildListEvents<Tag = ()>: Device {
    /// Identifies a child in the list, for example by its address on the bus.
    type Id: Pod;
    /// The value of a child's device.
    type Child: Device;

    /// `EvtChildListCreateDevice`: fills in the ids of a child that was [added](ChildList::add).
    ///
    /// # Errors
    ///
    /// An error means that the child gets no device.
    fn describe_child(
        &self,
        device: DeviceHandle<'_, Self>,
        id: &Self::Id,
        init: &mut PdoInit<'_>,
    ) -> Result<(), NtStatus>;

    /// Makes the value of a child's device, as the closure of [`DeviceInit::create`](crate::DeviceInit::create) does.
    ///
    /// # Errors
    ///
    /// As [`describe_child`](Self::describe_child).
    fn create_child(&self, id: &Self::Id, child: DeviceHandle<'_, Self::Child>) -> Result<Self::Child, NtStatus>;
}

/// The children of a bus device, by their ids. The device owns the framework's list: it is deleted with the device, and from then on
/// the methods do nothing.
#[derive(Debug)]
pub struct ChildList<I> {
    child: Child,
    id: PhantomData<fn(I)>,
}

/// `WDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER`, and what follows it. The framework compares all of its bytes.
#[repr(C)]
struct Description<I> {
    header: WDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER,
    id: I,
}

impl<I: Pod> Description<I> {
    /// Calls `body` with a description whose padding is zero.
    fn with<R>(id: I, body: impl FnOnce(PWDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER) -> R) -> R {
        let mut description = MaybeUninit::<Self>::zeroed();
        let place = description.as_mut_ptr();
        // SAFETY: the place is valid and aligned.
        unsafe { (&raw mut (*place).header.IdentificationDescriptionSize).write(size_field::<Self>()) };
        // SAFETY: as above.
        unsafe { (&raw mut (*place).id).write(id) };
        body(place.cast())
    }
}

impl<T: Device> DeviceHandle<'_, T> {
    /// Creates a list of children.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfChildListCreate`, or `STATUS_INVALID_DEVICE_REQUEST` for a control device.
    ///
    /// # IRQL
    ///
    /// `PASSIVE_LEVEL`.
    pub fn create_child_list<Tag>(&self) -> Result<ChildList<T::Id>, NtStatus>
    where
        T: ChildListEvents<Tag>,
    {
        self.needs_pnp()?;
        let mut config = WDF_CHILD_LIST_CONFIG {
            Size: size_field::<WDF_CHILD_LIST_CONFIG>(),
            IdentificationDescriptionSize: size_field::<Description<T::Id>>(),
            EvtChildListCreateDevice: Some(create_device::<T, Tag>),
            ..WDF_CHILD_LIST_CONFIG::default()
        };
        let create = |attributes, raw: *mut WDFOBJECT| {
            // SAFETY: the device exists, and all structures outlive the call.
            unsafe { wdf!(WdfChildListCreate, self.raw(), ptr::from_mut(&mut config), attributes, raw.cast()) }
        };
        // SAFETY: this creates a list of the device with the attributes.
        let child = unsafe { Child::create(self.raw(), create) }?;
        Ok(ChildList { child, id: PhantomData })
    }
}

impl<I: Pod> ChildList<I> {
    /// Reports that a child is there. The framework then creates its device with [`ChildListEvents`]. If it is already in the list,
    /// it stays.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfChildListAddOrUpdateChildDescriptionAsPresent`, or `STATUS_DELETE_PENDING` if the list was deleted.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn add(&self, id: &I) -> Result<(), NtStatus> {
        self.update(id, |list, description| {
            // SAFETY: this value has a reference to the list. The description outlives the call and has the size of the list's; there
            // are not address descriptions.
            unsafe { wdf!(WdfChildListAddOrUpdateChildDescriptionAsPresent, list.cast(), description, ptr::null_mut()) }
        })
    }

    /// Reports that a child is gone. The framework then removes and deletes its device.
    ///
    /// # Errors
    ///
    /// Returns the error of `WdfChildListUpdateChildDescriptionAsMissing`: `STATUS_NO_SUCH_DEVICE` if the child is not in the list.
    /// `STATUS_DELETE_PENDING` if the list was deleted.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn remove(&self, id: &I) -> Result<(), NtStatus> {
        self.update(id, |list, description| {
            // SAFETY: as in `add`.
            unsafe { wdf!(WdfChildListUpdateChildDescriptionAsMissing, list.cast(), description) }
        })
    }

    /// Replaces the whole list: afterwards, children that `body` did not [add](Self::add) are gone. Returns `None`, without calling
    /// `body`, if the list was deleted.
    ///
    /// # IRQL
    ///
    /// At most `DISPATCH_LEVEL`.
    pub fn scan<R>(&self, body: impl FnOnce(&Self) -> R) -> Option<R> {
        self.child.with_device(|list| {
            // SAFETY: this value has a reference to the list.
            unsafe { wdf!(WdfChildListBeginScan, list.cast()) };
            let result = body(self);
            // SAFETY: as above; the scan began above.
            unsafe { wdf!(WdfChildListEndScan, list.cast()) };
            result
        })
    }

    /// Returns the framework's handle. It is valid as long as this value; its device may have deleted the list.
    ///
    /// # IRQL
    ///
    /// Any.
    #[must_use]
    pub const fn raw(&self) -> WDFCHILDLIST {
        self.child.raw().cast()
    }

    fn update(
        &self,
        id: &I,
        call: impl FnOnce(WDFOBJECT, PWDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER) -> NTSTATUS,
    ) -> Result<(), NtStatus> {
        let update = |list| Description::with(*id, |description| check(call(list, description)));
        self.child.with_device(update).unwrap_or(Err(NtStatus::DeletePending))
    }
}

/// `EvtChildListCreateDevice`.
unsafe extern "C" fn create_device<T: ChildListEvents<Tag>, Tag>(
    list: WDFCHILDLIST,
    description: PWDF_CHILD_IDENTIFICATION_DESCRIPTION_HEADER,
    mut init: PWDFDEVICE_INIT,
) -> NTSTATUS {
    // SAFETY: the framework passes a copy of a description that `ChildList` made for this list.
    let id = unsafe { (&raw const (*description.cast::<Description<T::Id>>()).id).read_unaligned() };
    // SAFETY: the framework passes a list that was created for a device with a context of this type.
    let Some(bus) = (unsafe { child::device::<()>(list.cast()) }) else {
        return NtStatus::DeviceNotReady.as_signed();
    };
    let created = |value: &T, device: DeviceHandle<'_, T>| {
        // SAFETY: the framework owns the structure; it is valid until the device is created.
        value.describe_child(device, &id, &mut unsafe { PdoInit::from_raw(init) })?;
        // SAFETY: as above.
        let child = unsafe { init::create_pnp::<T::Child>(&mut init, false) }?;
        init::build_value(child, |child| value.create_child(&id, child))
    };
    // SAFETY: the device of a list exists and outlives its callbacks, which run at PASSIVE_LEVEL.
    status_of(unsafe { device::on(bus, created) }.unwrap_or(Err(NtStatus::DeviceNotReady)))
}
