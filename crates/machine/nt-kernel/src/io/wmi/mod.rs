//! Windows Management Instrumentation: registration of drivers that handle IRPs, and the requests of the test.
//!
//! The IRPs and their buffers have the same format as in Windows. The registration information is queried and checked,
//! but not kept, because only the test sends requests, and it uses GUIDs.

mod library;

use etw_types::{Guid, NtStatus};
use nt_processor::layout::{
    DEVICE_OBJECT, WMIREGGUID, WMIREGINFO, WNODE_HEADER, WNODE_ITEM, WNODE_SINGLE_INSTANCE, WNODE_TOO_SMALL,
};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _, PAGE};
use nt_verifier::routine::{DISPATCH, NO_RESOURCES, Outcome, PASSIVE, Routine, done, fail, routines};
use nt_verifier::verify::{self, Rule};
use windows_constants::request::{
    IRP_MJ_SYSTEM_CONTROL, IRP_MN_CHANGE_SINGLE_INSTANCE, IRP_MN_CHANGE_SINGLE_ITEM, IRP_MN_DISABLE_COLLECTION,
    IRP_MN_DISABLE_EVENTS, IRP_MN_ENABLE_COLLECTION, IRP_MN_ENABLE_EVENTS, IRP_MN_EXECUTE_METHOD,
    IRP_MN_QUERY_SINGLE_INSTANCE, IRP_MN_REGINFO_EX,
};
use windows_constants::wmi::{
    WMIREG_ACTION_DEREGISTER, WMIREG_ACTION_REGISTER, WMIREG_ACTION_REREGISTER, WMIREG_ACTION_UPDATE_GUIDS,
    WMIREG_FLAG_INSTANCE_PDO, WMIREGISTER, WMIUPDATE, WNODE_FLAG_METHOD_ITEM, WNODE_FLAG_SINGLE_INSTANCE,
    WNODE_FLAG_SINGLE_ITEM, WNODE_FLAG_STATIC_INSTANCE_NAMES, WNODE_FLAG_TOO_SMALL,
};

use crate::ex::object;
use crate::io::device::{self, stack};
use crate::io::request::client::{Completion, Submission, send};
use crate::sync::worker;
use crate::{Answer, Kernel, kernel, lock, pool};

/// The kind of an object, for reports of leaks.
const WHAT: &str = "WMI registration";

type Object = GuestPtr<DEVICE_OBJECT>;

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

pub(super) const ROUTINES: &[&[Routine]] = &[OWN, library::ROUTINES];

routines! { OWN;
    /// The event only goes to the debug output. As in Windows, the kernel frees it.
    #[irql(DISPATCH), fails(NO_RESOURCES)]
    fn IoWMIWriteEvent(node: GuestPtr<WNODE_HEADER>) -> Outcome {
        event(node.Guid().id()?, event_size(node)?.into());
        pool::free(node.address(), None);
        done(())
    }

    /// The first argument may also be a callback.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[undoes(action == WMIREG_ACTION_DEREGISTER)]
    fn IoWMIRegistrationControl(&call, device: GuestPtr<DEVICE_OBJECT>, action: u32) -> NtStatus {
        let Kernel { io, .. } = kernel();
        let is_known = lock(io).is_registered(WHAT, device.address());
        match action {
            WMIREG_ACTION_REGISTER => {
                lock(io).register(WHAT, device.address(), call.from);
                query_later(device, WMIREGISTER, call.from);
            }
            WMIREG_ACTION_DEREGISTER | WMIREG_ACTION_REREGISTER | WMIREG_ACTION_UPDATE_GUIDS if !is_known => return NtStatus::InvalidParameter,
            WMIREG_ACTION_DEREGISTER => {
                lock(io).forget(WHAT, device.address());
            }
            WMIREG_ACTION_REREGISTER => query_later(device, WMIREGISTER, call.from),
            WMIREG_ACTION_UPDATE_GUIDS => query_later(device, WMIUPDATE, call.from),
            _ => {}
        }
        NtStatus::Success
    }
}

/// Returns the number of bytes of an event's data. The header is not part of it.
fn event_size(node: GuestPtr<WNODE_HEADER>) -> Result<u32, Fault> {
    let flags = node.Flags().read()?;
    if flags & WNODE_FLAG_SINGLE_INSTANCE != 0 {
        node.cast::<WNODE_SINGLE_INSTANCE>().SizeDataBlock().read()
    } else if flags & WNODE_FLAG_SINGLE_ITEM != 0 {
        node.cast::<WNODE_ITEM>().SizeDataBlock().read()
    } else {
        node.BufferSize().read()
    }
}

/// Adds a WMI event to the debug output.
pub fn event(guid: Guid, bytes: u64) {
    verify::announce(&format!("nt-host: WMI event {guid}, {bytes} bytes"));
}

/// Sends an IRP to the device that provides data. `path` is the address of the data block's GUID.
fn send_irp(device: Object, minor: u8, path: u64, (buffer, size): (u64, u32)) -> Result<Completion, Fault> {
    let parameters = [device.address(), path, size.into(), buffer];
    send(stack::top(device)?, &Submission { major: IRP_MJ_SYSTEM_CONTROL, minor, parameters, ..Submission::default() })
}

/// Queries the registration information of a driver. As in Windows, another thread does this.
fn query_later(device: Object, path: u64, from: u64) {
    worker::submit(device.address(), move || {
        if device::exists(device) {
            query_registration(device, path, from).or_stop();
        }
    });
}

/// Queries the registration information. The first buffer is one page. A driver that needs more returns the size in the
/// first four bytes, and gets a buffer of that size.
fn query_registration(device: Object, path: u64, from: u64) -> Result<(), Fault> {
    let Kernel { pool, .. } = kernel();
    let mut size = PAGE as u32;
    for _ in 0..2 {
        let Some(buffer) = lock(pool).new_objects::<u8>(size.into()).non_null() else { return Ok(()) };
        let end = send_irp(device, IRP_MN_REGINFO_EX, path, (buffer.address(), size))?;
        let is_size = end.status.is_success() && end.information == size_of::<u32>() as u64;
        let needed = if is_size { buffer.cast::<u32>().read()? } else { 0 };
        if end.status.is_success() && end.information >= size_of::<WMIREGINFO>() as u64 {
            release_devices(buffer.cast(), size, from)?;
        }
        lock(pool).free_object(buffer.address());
        if needed <= size {
            return Ok(());
        }
        size = needed;
    }
    Ok(())
}

/// Releases the references that registration information has to physical devices. It is documented for
/// `IRP_MN_REGINFO_EX` that the driver references each device and that WMI releases the references.
fn release_devices(info: GuestPtr<WMIREGINFO>, size: u32, from: u64) -> Result<(), Fault> {
    let room = (u64::from(size) - size_of::<WMIREGINFO>() as u64) / size_of::<WMIREGGUID>() as u64;
    let count = u64::from(info.GuidCount().read()?).min(room);
    for entry in info.after::<WMIREGGUID>().array(count).read()? {
        if entry.Flags & WMIREG_FLAG_INSTANCE_PDO == 0 || entry.Pdo == 0 {
            continue;
        }
        if object::is_referenced(entry.Pdo) {
            object::dereference(entry.Pdo);
        } else {
            let what = format_args!("IRP_MN_REGINFO_EX returned a device in WMIREGGUID.Pdo without a reference to it");
            verify::find_at(Rule::BadArgument, Some("IoWMIRegistrationControl"), from, what);
        }
    }
    Ok(())
}

/// The members that describe the data of a node: its offset in the node, and its size.
pub(super) struct Data {
    pub(super) offset: GuestPtr<u32>,
    pub(super) size: GuestPtr<u32>,
}

impl Data {
    pub(super) fn new(node: GuestPtr<WNODE_ITEM>, minor: u8) -> Self {
        if matches!(minor, IRP_MN_CHANGE_SINGLE_ITEM | IRP_MN_EXECUTE_METHOD) {
            return Self { offset: node.DataBlockOffset(), size: node.SizeDataBlock() };
        }
        let node = node.cast::<WNODE_SINGLE_INSTANCE>();
        Self { offset: node.DataBlockOffset(), size: node.SizeDataBlock() }
    }
}

/// Makes a node one that says how many bytes it needs. Returns the number of bytes that are now in the buffer.
pub(super) fn set_too_small(node: GuestPtr<WNODE_ITEM>, needed: u32) -> Result<u64, Fault> {
    let node = node.cast::<WNODE_TOO_SMALL>();
    let size = size_of::<WNODE_TOO_SMALL>();
    node.Header().BufferSize().write(size as u32)?;
    node.Header().Flags().write(WNODE_FLAG_TOO_SMALL)?;
    node.SizeNeeded().write(needed)?;
    Ok(size as u64)
}

/// Sends a WMI request to a device. Fails if the device is not registered. If the output buffer is too small, the
/// result's status is `STATUS_BUFFER_TOO_SMALL` and its information is the number of bytes that the data needs.
pub fn request(device: Object, requested: &WmiRequest) -> Outcome<Answer> {
    let Kernel { io, pool, .. } = kernel();
    if !lock(io).is_registered(WHAT, device.address()) {
        return fail(NtStatus::WmiGuidNotFound);
    }
    let (minor, kind, item) = match requested.operation {
        WmiOperation::Query => (IRP_MN_QUERY_SINGLE_INSTANCE, WNODE_FLAG_SINGLE_INSTANCE, 0),
        WmiOperation::Set => (IRP_MN_CHANGE_SINGLE_INSTANCE, WNODE_FLAG_SINGLE_INSTANCE, 0),
        WmiOperation::SetItem(item) => (IRP_MN_CHANGE_SINGLE_ITEM, WNODE_FLAG_SINGLE_ITEM, item),
        WmiOperation::Method(method) => (IRP_MN_EXECUTE_METHOD, WNODE_FLAG_METHOD_ITEM, method),
        WmiOperation::Events(on) => (if on { IRP_MN_ENABLE_EVENTS } else { IRP_MN_DISABLE_EVENTS }, 0, 0),
        WmiOperation::Collection(on) => (if on { IRP_MN_ENABLE_COLLECTION } else { IRP_MN_DISABLE_COLLECTION }, 0, 0),
    };
    let head = size_of::<WNODE_ITEM>() as u32;
    let room = requested.output.max(requested.input.len() as u32);
    let node: GuestPtr<WNODE_ITEM> = lock(pool).try_new_objects::<u8>(u64::from(head + room))?.cast();
    node.Header().BufferSize().write(head + room)?;
    node.Header().Guid().set_id(requested.guid)?;
    node.Header().Flags().write(if kind == 0 { 0 } else { kind | WNODE_FLAG_STATIC_INSTANCE_NAMES })?;
    node.InstanceIndex().write(requested.instance)?;
    node.ItemId().write(item)?;
    let data = Data::new(node, minor);
    data.offset.write(head)?;
    data.size.write(requested.input.len() as u32)?;
    node.after::<u8>().write_all(&requested.input)?;
    let path = node.Header().Guid().address();
    let Completion { status, information, reached } = send_irp(device, minor, path, (node.address(), head + room))?;
    let returns = matches!(requested.operation, WmiOperation::Query | WmiOperation::Method(_));
    let mut result = Answer { status, information, output: Vec::new(), reached };
    if returns && !status.is_error() {
        if node.Header().Flags().read()? & WNODE_FLAG_TOO_SMALL != 0 {
            let needed = node.cast::<WNODE_TOO_SMALL>().SizeNeeded().read()?;
            (result.status, result.information) = (NtStatus::BufferTooSmall, needed.saturating_sub(head).into());
        } else {
            result.output = node.after::<u8>().array(data.size.read()?.min(room).into()).read()?;
            result.information = result.output.len() as u64;
        }
    }
    lock(pool).free_object(node.address());
    Ok(result)
}
