//! Windows Management Instrumentation for drivers that handle IRPs: the requests of the test, and the WMI library to
//! which drivers pass `IRP_MJ_SYSTEM_CONTROL`.
//!
//! The IRP for a single instance has the same format as in Windows. The library reads the registration information and
//! does not keep it, because only the test sends requests, and it uses GUIDs.

use etw_types::{Guid, NtStatus};

use super::client::{Submission, send};
use super::{request, stack};
use crate::kernel::{Answer, call_back, kernel, lock, pool};
use crate::layout::{
    DEVICE_OBJECT, GUID, IRP, UNICODE_STRING, WMIGUIDREGINFO, WMILIB_CONTEXT, WNODE_HEADER, WNODE_INSTANCE,
};
use crate::memory::{Fault, GuestPtr, OrStop as _};
use crate::routine::{Call, DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routine};
use crate::verify;

/// `IRP_MJ_SYSTEM_CONTROL` and its minor functions.
const SYSTEM_CONTROL: u8 = 0x17;
const QUERY_SINGLE_INSTANCE: u8 = 1;
const CHANGE_SINGLE_INSTANCE: u8 = 2;
const CHANGE_SINGLE_ITEM: u8 = 3;
const ENABLE_EVENTS: u8 = 4;
const DISABLE_EVENTS: u8 = 5;
const ENABLE_COLLECTION: u8 = 6;
const DISABLE_COLLECTION: u8 = 7;
const EXECUTE_METHOD: u8 = 9;
const REGINFO_EX: u8 = 0xB;
/// `SYSCTL_IRP_DISPOSITION`.
const PROCESSED: u32 = 0;
const NOT_COMPLETED: u32 = 1;
const NOT_WMI: u32 = 2;
const FORWARD: u32 = 3;
/// `WMIREG_FLAG_INSTANCE_PDO`: the instances have the name of the physical device.
const INSTANCE_PDO: u32 = 0x20;
/// `WMIREG_ACTION_…`.
const REGISTER: u32 = 1;
const DEREGISTER: u32 = 2;
const WHAT: &str = "WMI registration";

/// An operation on a WMI data block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WmiOperation {
    /// Returns the data of an instance.
    Query,
    /// Sets the data of an instance.
    Set,
    /// Sets the data of one item.
    SetItem(u32),
    /// Runs a method.
    Method(u32),
    /// Enables or disables the events of the block.
    Events(bool),
    /// Enables or disables the data collection of the block.
    Collection(bool),
}

/// A WMI request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WmiRequest {
    /// The GUID of the data block.
    pub guid: Guid,
    /// The index of the instance.
    pub instance: u32,
    /// The operation.
    pub operation: WmiOperation,
    /// The input.
    pub input: Vec<u8>,
    /// The size of the output buffer, in bytes.
    pub output: u32,
}

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: event. It only goes to the debug output. As in Windows, the kernel frees it.
    routine!("IoWMIWriteEvent", DISPATCH, |call| {
        let node = call.ptr::<WNODE_HEADER>(0);
        event(node.Guid().id()?, node.BufferSize().read()?.into());
        pool::free(node.address(), None);
        done(())
    })
    .fails(NO_RESOURCES),
    // Arguments: device or callback, action.
    routine!("IoWMIRegistrationControl", PASSIVE, |call| {
        let device = call.ptr::<DEVICE_OBJECT>(0);
        match call.u32(1) {
            REGISTER => {
                lock(&kernel().io).register(WHAT, device.address(), call.from);
                // As in Windows, another thread queries the registration information.
                super::work::submit(device.address(), move || {
                    if super::device::exists(device) {
                        tell(device, REGINFO_EX, 0, GuestPtr::NULL).or_stop();
                    }
                });
            }
            DEREGISTER if !lock(&kernel().io).forget(WHAT, device.address()) => return NtStatus::InvalidParameter,
            _ => {}
        }
        NtStatus::Success
    })
    .fails(NO_RESOURCES),
    // Arguments: context, device, IRP, place for the disposition.
    routine!("WmiSystemControl", PASSIVE, system_control),
    // Arguments: device, IRP, status, number of bytes used, priority boost.
    routine!("WmiCompleteRequest", DISPATCH, complete),
    // Arguments: device, GUID, instance, size, data, which the library frees.
    routine!("WmiFireEvent", DISPATCH, |call| {
        event(call.ptr::<GUID>(1).id()?, call.u32(3).into());
        if let Some(data) = call.ptr::<u8>(4).non_null() {
            pool::free(data.address(), None);
        }
        done(())
    })
    .fails(NO_RESOURCES),
];

/// Adds a WMI event to the debug output.
pub(crate) fn event(guid: Guid, bytes: u64) {
    verify::announce(&format!("nt-host: WMI event {guid}, {bytes} bytes"));
}

fn tell(
    device: GuestPtr<DEVICE_OBJECT>,
    minor: u8,
    size: u32,
    buffer: GuestPtr<WNODE_INSTANCE>,
) -> Result<Answer, Fault> {
    // The provider, the address of the data block's GUID, the size of the buffer and the buffer.
    let path = buffer.non_null().map_or(0, |node| node.Header().Guid().address());
    let parameters = [device.address(), path, size.into(), buffer.address()];
    let submission = Submission { major: SYSTEM_CONTROL, minor, parameters, ..Submission::default() };
    let end = send(stack::top(device)?, &submission)?;
    Ok(Answer { status: end.status, information: end.information, output: Vec::new() })
}

/// Sends a WMI request to a device. Fails if the device is not registered.
pub(crate) fn ask(device: GuestPtr<DEVICE_OBJECT>, asked: &WmiRequest) -> Outcome<Answer> {
    if !lock(&kernel().io).is_registered(WHAT, device.address()) {
        return fail(NtStatus::WmiGuidNotFound);
    }
    let (minor, item) = match asked.operation {
        WmiOperation::Query => (QUERY_SINGLE_INSTANCE, None),
        WmiOperation::Set => (CHANGE_SINGLE_INSTANCE, None),
        WmiOperation::SetItem(item) => (CHANGE_SINGLE_ITEM, Some(item)),
        WmiOperation::Method(item) => (EXECUTE_METHOD, Some(item)),
        WmiOperation::Events(on) => (if on { ENABLE_EVENTS } else { DISABLE_EVENTS }, None),
        WmiOperation::Collection(on) => (if on { ENABLE_COLLECTION } else { DISABLE_COLLECTION }, None),
    };
    let head = size_of::<WNODE_INSTANCE>() as u32;
    let room = asked.output.max(asked.input.len() as u32);
    let node: GuestPtr<WNODE_INSTANCE> = lock(&kernel().pool).try_new_objects::<u8>(u64::from(head + room))?.cast();
    node.Header().BufferSize().write(head + room)?;
    node.Header().Guid().set_id(asked.guid)?;
    node.InstanceIndex().write(asked.instance)?;
    node.at(1).cast::<u8>().write_all(&asked.input)?;
    let length = asked.input.len() as u32;
    if let Some(item) = item {
        node.ItemId().write(item)?;
        node.DataBlockOffset().write(head)?;
        node.SizeDataBlock().write(length)?;
    } else {
        // `WNODE_SINGLE_INSTANCE` has no item ID, so its other members are one place earlier.
        node.ItemId().write(head)?;
        node.DataBlockOffset().write(length)?;
    }
    let mut result = tell(device, minor, head + room, node)?;
    if !result.status.is_error() && matches!(asked.operation, WmiOperation::Query | WmiOperation::Method(_)) {
        let used = if item.is_some() { node.SizeDataBlock() } else { node.DataBlockOffset() }.read()?;
        result.output = node.at(1).cast::<u8>().array(used.min(room).into()).read()?;
        result.information = result.output.len() as u64;
    }
    lock(&kernel().pool).free_object(node.address());
    Ok(result)
}

/// Passes an IRP to the driver's WMI routine for it.
fn system_control(call: &Call) -> Outcome<NtStatus> {
    let (context, device, irp) = (call.ptr::<WMILIB_CONTEXT>(0), call.arg(1), call.ptr::<IRP>(2));
    let place = irp.CurrentStackLocation().read()?;
    let disposition = call.ptr::<u32>(3);
    let [provider, _, _, buffer] = place.Parameters().read()?;
    if place.MajorFunction().read()? != SYSTEM_CONTROL {
        disposition.write(NOT_WMI)?;
        return Ok(NtStatus::Success);
    }
    if provider != device {
        disposition.write(FORWARD)?;
        return Ok(NtStatus::Success);
    }
    let minor = place.MinorFunction().read()?;
    let node = GuestPtr::<WNODE_INSTANCE>::new(buffer);
    if minor == REGINFO_EX {
        disposition.write(NOT_COMPLETED)?;
        let status = registration(context, device)?;
        irp.IoStatus().Status().write(status)?;
        return Ok(status);
    }
    let has_item = matches!(minor, CHANGE_SINGLE_ITEM | EXECUTE_METHOD);
    let size = if has_item { node.SizeDataBlock() } else { node.DataBlockOffset() }.read()?;
    let room = node.Header().BufferSize().read()? - size_of::<WNODE_INSTANCE>() as u32;
    let (item, data) = (u64::from(node.ItemId().read()?), node.at(1).address());
    let Some((index, count)) = find(context, node.Header().Guid().id()?)? else {
        return refuse(irp, disposition, NtStatus::WmiGuidNotFound);
    };
    let instance = node.InstanceIndex().read()?;
    let is_control = matches!(minor, ENABLE_EVENTS..=DISABLE_COLLECTION);
    if instance >= count && !is_control {
        return refuse(irp, disposition, NtStatus::WmiInstanceNotFound);
    }
    let mut arguments = vec![device, irp.address(), index.into()];
    let (name, routine) = match minor {
        QUERY_SINGLE_INSTANCE => {
            // There is one instance, so one length. It is read after the IRP is completed.
            let lengths = node.DataBlockOffset().address();
            arguments.extend([instance.into(), 1, lengths, room.into(), data]);
            ("QueryWmiDataBlock", context.QueryWmiDataBlock())
        }
        CHANGE_SINGLE_INSTANCE => {
            arguments.extend([instance.into(), size.into(), data]);
            ("SetWmiDataBlock", context.SetWmiDataBlock())
        }
        CHANGE_SINGLE_ITEM => {
            arguments.extend([instance.into(), item, size.into(), data]);
            ("SetWmiDataItem", context.SetWmiDataItem())
        }
        EXECUTE_METHOD => {
            arguments.extend([instance.into(), item, size.into(), room.into(), data]);
            ("ExecuteWmiMethod", context.ExecuteWmiMethod())
        }
        _ if is_control => {
            // WmiEventControl is 0, WmiDataBlockControl 1.
            let (function, on) =
                (u64::from(minor >= ENABLE_COLLECTION), matches!(minor, ENABLE_EVENTS | ENABLE_COLLECTION));
            arguments.extend([function, on.into()]);
            ("WmiFunctionControl", context.WmiFunctionControl())
        }
        _ => return refuse(irp, disposition, NtStatus::InvalidDeviceRequest),
    };
    let routine = routine.read()?;
    if routine.is_null() {
        // The routine for control is optional.
        let status = if is_control { NtStatus::Success } else { NtStatus::InvalidDeviceRequest };
        return refuse(irp, disposition, status);
    }
    disposition.write(PROCESSED)?;
    Ok(NtStatus::from_int(call_back(name, PASSIVE, routine, &arguments) as u32))
}

/// Stores a status in the IRP. The driver completes the IRP.
fn refuse(irp: GuestPtr<IRP>, disposition: GuestPtr<u32>, status: NtStatus) -> Outcome<NtStatus> {
    disposition.write(NOT_COMPLETED)?;
    irp.IoStatus().Status().write(status)?;
    irp.IoStatus().Information().write(0)?;
    Ok(status)
}

/// Returns the index of the data block with a GUID, and its number of instances.
fn find(context: GuestPtr<WMILIB_CONTEXT>, guid: Guid) -> Result<Option<(u32, u32)>, Fault> {
    let list = context.GuidList().read()?;
    for (index, place) in (0..).zip(list.array(context.GuidCount().read()?.into()).places()) {
        let WMIGUIDREGINFO { Guid: known, InstanceCount: count, .. } = place.read()?;
        if known.id()? == guid {
            return Ok(Some((index, count)));
        }
    }
    Ok(None)
}

/// Queries the registration information of the driver.
fn registration(context: GuestPtr<WMILIB_CONTEXT>, device: u64) -> Result<NtStatus, Fault> {
    let routine = context.QueryWmiRegInfo().read()?;
    if routine.is_null() {
        return Ok(NtStatus::Success);
    }
    let places: GuestPtr<u64> = lock(&kernel().pool).new_objects(8);
    let flags = places.cast::<u32>();
    let name = places.at(1).cast::<UNICODE_STRING>();
    let (registry, resource, bus) = (places.at(3), places.at(4), places.at(6));
    let arguments = [device, flags.address(), name.address(), registry.address(), resource.address(), bus.address()];
    let status = NtStatus::from_int(call_back("QueryWmiRegInfo", PASSIVE, routine, &arguments) as u32);
    // As in Windows, the library frees the name.
    let buffer = name.Buffer().read()?;
    if flags.read()? & INSTANCE_PDO == 0 && !buffer.is_null() {
        pool::free(buffer.address(), None);
    }
    lock(&kernel().pool).free_object(places.address());
    Ok(status)
}

fn complete(call: &Call) -> Outcome<NtStatus> {
    let (irp, status, used) = (call.ptr::<IRP>(1), call.status(2), call.u32(3));
    let place = irp.CurrentStackLocation().read()?;
    let [.., buffer] = place.Parameters().read()?;
    let node = GuestPtr::<WNODE_INSTANCE>::new(buffer);
    match place.MinorFunction().read()? {
        QUERY_SINGLE_INSTANCE => node.DataBlockOffset().write(used)?,
        EXECUTE_METHOD => node.SizeDataBlock().write(used)?,
        _ => {}
    }
    irp.IoStatus().Status().write(status)?;
    irp.IoStatus().Information().write(used.into())?;
    request::complete(irp)?;
    Ok(status)
}
