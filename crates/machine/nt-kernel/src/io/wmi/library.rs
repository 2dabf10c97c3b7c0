//! The WMI library, WMILIB.SYS: drivers pass it their `IRP_MJ_SYSTEM_CONTROL` requests, and it calls the routines in
//! their `WMILIB_CONTEXT`.

use etw_types::{Guid, NtStatus};
use nt_processor::layout::{
    DEVICE_OBJECT, GUID, IRP, UNICODE_STRING, WMIGUIDREGINFO, WMILIB_CONTEXT, WMIREGGUID, WMIREGINFO, WNODE_ITEM,
};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{DISPATCH, Ignored, NO_RESOURCES, Outcome, PASSIVE, WMI_LIBRARY, done, routines};
use windows_constants::request::{
    IRP_MJ_SYSTEM_CONTROL, IRP_MN_CHANGE_SINGLE_INSTANCE, IRP_MN_CHANGE_SINGLE_ITEM, IRP_MN_DISABLE_COLLECTION,
    IRP_MN_ENABLE_COLLECTION, IRP_MN_ENABLE_EVENTS, IRP_MN_EXECUTE_METHOD, IRP_MN_QUERY_SINGLE_INSTANCE,
    IRP_MN_REGINFO_EX,
};
use windows_constants::wmi::{IrpForward, IrpNotCompleted, IrpNotWmi, IrpProcessed, WMIREG_FLAG_INSTANCE_PDO};

use crate::ex::object;
use crate::io::request;
use crate::io::wmi::{Data, event, set_too_small};
use crate::{Kernel, call_back, kernel, lock, pool};

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), module(WMI_LIBRARY)]
    fn WmiSystemControl(
        &call,
        context: GuestPtr<WMILIB_CONTEXT>,
        device: GuestPtr<DEVICE_OBJECT>,
        irp: GuestPtr<IRP>,
        disposition: GuestPtr<u32>,
    ) -> Outcome<NtStatus> {
        system_control(&Driver { context, device: device.address(), from: call.from }, irp, disposition)
    }

    #[irql(DISPATCH), module(WMI_LIBRARY)]
    fn WmiCompleteRequest(
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        irp: GuestPtr<IRP>,
        status: NtStatus,
        used: u32,
        _boost: Ignored<i8>,
    ) -> Outcome<NtStatus> {
        complete(irp, status, used)
    }

    /// The library frees the data.
    #[irql(DISPATCH), module(WMI_LIBRARY), fails(NO_RESOURCES)]
    fn WmiFireEvent(
        _device: Ignored<GuestPtr<DEVICE_OBJECT>>,
        guid: GuestPtr<GUID>,
        _instance: Ignored<u32>,
        size: u32,
        data: Option<GuestPtr<u8>>,
    ) -> Outcome {
        event(guid.id()?, size.into());
        if let Some(data) = data {
            pool::free(data.address(), None);
        }
        done(())
    }
}

/// The driver that passes an IRP.
#[derive(Clone, Copy)]
struct Driver {
    context: GuestPtr<WMILIB_CONTEXT>,
    /// The address of its device.
    device: u64,
    /// The address that the library returns to.
    from: u64,
}

/// Passes an IRP to the driver's WMI routine for it.
fn system_control(driver: &Driver, irp: GuestPtr<IRP>, disposition: GuestPtr<u32>) -> Outcome<NtStatus> {
    let Driver { context, device, .. } = *driver;
    let place = irp.CurrentStackLocation().read()?;
    let [provider, _, size_of_buffer, buffer] = place.Parameters().read()?;
    if place.MajorFunction().read()? != IRP_MJ_SYSTEM_CONTROL {
        disposition.write(IrpNotWmi)?;
        return Ok(NtStatus::Success);
    }
    if provider != device {
        disposition.write(IrpForward)?;
        return Ok(NtStatus::Success);
    }
    let minor = place.MinorFunction().read()?;
    if minor == IRP_MN_REGINFO_EX {
        let (status, used) = registration(driver, GuestPtr::new(buffer), size_of_buffer as u32)?;
        return finish(irp, disposition, status, used);
    }
    let node = GuestPtr::<WNODE_ITEM>::new(buffer);
    let Some((index, count)) = find(context, node.Header().Guid().id()?)? else {
        return finish(irp, disposition, NtStatus::WmiGuidNotFound, 0);
    };
    let instance = node.InstanceIndex().read()?;
    let is_control = matches!(minor, IRP_MN_ENABLE_EVENTS..=IRP_MN_DISABLE_COLLECTION);
    if instance >= count && !is_control {
        return finish(irp, disposition, NtStatus::WmiInstanceNotFound, 0);
    }
    let data = Data::new(node, minor);
    let offset = data.offset.read()?;
    let size = data.size.read()?;
    let item = u64::from(node.ItemId().read()?);
    let room = (size_of_buffer as u32).saturating_sub(offset);
    let bytes = buffer + u64::from(offset);
    let mut arguments = vec![device, irp.address(), index.into()];
    let (name, routine, missing) = match minor {
        IRP_MN_QUERY_SINGLE_INSTANCE => {
            // There is one instance, so one length. It is read after the IRP is completed.
            arguments.extend([instance.into(), 1, data.size.address(), room.into(), bytes]);
            ("QueryWmiDataBlock", context.QueryWmiDataBlock(), NtStatus::InvalidDeviceRequest)
        }
        IRP_MN_CHANGE_SINGLE_INSTANCE => {
            arguments.extend([instance.into(), size.into(), bytes]);
            ("SetWmiDataBlock", context.SetWmiDataBlock(), NtStatus::WmiReadOnly)
        }
        IRP_MN_CHANGE_SINGLE_ITEM => {
            arguments.extend([instance.into(), item, size.into(), bytes]);
            ("SetWmiDataItem", context.SetWmiDataItem(), NtStatus::WmiReadOnly)
        }
        IRP_MN_EXECUTE_METHOD => {
            arguments.extend([instance.into(), item, size.into(), room.into(), bytes]);
            ("ExecuteWmiMethod", context.ExecuteWmiMethod(), NtStatus::InvalidDeviceRequest)
        }
        _ if is_control => {
            // WmiEventControl is 0, WmiDataBlockControl 1.
            let function = u64::from(minor >= IRP_MN_ENABLE_COLLECTION);
            let on = matches!(minor, IRP_MN_ENABLE_EVENTS | IRP_MN_ENABLE_COLLECTION);
            arguments.extend([function, on.into()]);
            ("WmiFunctionControl", context.WmiFunctionControl(), NtStatus::Success)
        }
        _ => return finish(irp, disposition, NtStatus::InvalidDeviceRequest, 0),
    };
    let routine = routine.read()?;
    if routine.is_null() {
        return finish(irp, disposition, missing, 0);
    }
    disposition.write(IrpProcessed)?;
    Ok(NtStatus::from_int(call_back(name, PASSIVE, routine, &arguments) as u32))
}

/// Stores a status in the IRP. The driver completes the IRP.
fn finish(irp: GuestPtr<IRP>, disposition: GuestPtr<u32>, status: NtStatus, used: u64) -> Outcome<NtStatus> {
    disposition.write(IrpNotCompleted)?;
    irp.IoStatus().Status().write(status)?;
    irp.IoStatus().Information().write(used)?;
    Ok(status)
}

/// Returns the index of the data block with a GUID, and its number of instances.
fn find(context: GuestPtr<WMILIB_CONTEXT>, guid: Guid) -> Result<Option<(u32, u32)>, Fault> {
    for (index, WMIGUIDREGINFO { Guid: known, InstanceCount: count, .. }) in (0..).zip(guids(context)?) {
        if known.id()? == guid {
            return Ok(Some((index, count)));
        }
    }
    Ok(None)
}

fn guids(context: GuestPtr<WMILIB_CONTEXT>) -> Result<Vec<WMIGUIDREGINFO>, Fault> {
    context.GuidList().read()?.array(context.GuidCount().read()?.into()).read()
}

/// What a driver's `QueryWmiRegInfo` returns.
struct Information {
    flags: u32,
    physical: GuestPtr<DEVICE_OBJECT>,
    /// The registry path, the name of the MOF resource, and the base of the instances' names.
    strings: [Vec<u16>; 3],
}

/// Queries the registration information of the driver and stores it in the buffer of an IRP. If the buffer is too small,
/// stores the size that is needed. Returns the number of bytes stored.
fn registration(driver: &Driver, buffer: GuestPtr<u8>, room: u32) -> Outcome<(NtStatus, u64)> {
    let Kernel { pool, .. } = kernel();
    let Driver { context, device, from } = *driver;
    let routine = context.QueryWmiRegInfo().read()?;
    if routine.is_null() {
        return Ok((NtStatus::Success, 0));
    }
    let places: GuestPtr<u64> = lock(pool).try_new_objects(8)?;
    let flags = places.cast::<u32>();
    let name = places.at(1).cast::<UNICODE_STRING>();
    let path = places.at(3);
    let resource = places.at(4);
    let bus = places.at(6);
    let arguments = [device, flags.address(), name.address(), path.address(), resource.address(), bus.address()];
    let status = NtStatus::from_int(call_back("QueryWmiRegInfo", PASSIVE, routine, &arguments) as u32);
    let path = GuestPtr::<UNICODE_STRING>::new(path.read()?);
    let information = Information {
        flags: flags.read()?,
        physical: GuestPtr::new(bus.read()?),
        strings: [
            path.non_null().map_or(Ok(Vec::new()), GuestPtr::<UNICODE_STRING>::units)?,
            resource.cast::<UNICODE_STRING>().units()?,
            name.units()?,
        ],
    };
    // As in Windows, the library frees the name.
    let text = name.Buffer().read()?;
    if information.flags & WMIREG_FLAG_INSTANCE_PDO == 0 && !text.is_null() {
        pool::free(text.address(), None);
    }
    lock(pool).free_object(places.address());
    let used = if status.is_error() { 0 } else { store(context, &information, (buffer, room), from)? };
    Ok((status, used))
}

/// Stores registration information in a buffer. Returns the number of bytes stored.
fn store(
    context: GuestPtr<WMILIB_CONTEXT>,
    information: &Information,
    (buffer, room): (GuestPtr<u8>, u32),
    from: u64,
) -> Result<u64, Fault> {
    let guids = guids(context)?;
    let head = size_of::<WMIREGINFO>() + guids.len() * size_of::<WMIREGGUID>();
    // Each string begins with its length in bytes.
    let mut end = head as u32;
    let offsets = information.strings.each_ref().map(|string| {
        let start = end;
        end += ((1 + string.len()) * size_of::<u16>()) as u32;
        start
    });
    if end > room {
        buffer.cast::<u32>().write(end)?;
        return Ok(size_of::<u32>() as u64);
    }
    let [path, resource, base] = offsets;
    let info = buffer.cast::<WMIREGINFO>();
    info.zero()?;
    info.BufferSize().write(end)?;
    info.RegistryPath().write(path)?;
    info.MofResourceName().write(resource)?;
    info.GuidCount().write(guids.len() as u32)?;
    let is_physical = information.flags & WMIREG_FLAG_INSTANCE_PDO != 0;
    for (place, guid) in info.after::<WMIREGGUID>().array(guids.len() as u64).places().zip(guids) {
        let named = if is_physical { information.physical.address() } else { base.into() };
        let flags = guid.Flags | information.flags;
        place.write(WMIREGGUID {
            Guid: guid.Guid.read()?,
            Flags: flags,
            InstanceCount: guid.InstanceCount,
            Pdo: named,
        })?;
        if is_physical && !information.physical.is_null() {
            // WMI releases the reference.
            object::reference(information.physical.address(), from);
        }
    }
    for (offset, string) in offsets.into_iter().zip(&information.strings) {
        let place = buffer.at(offset.into()).cast::<u16>();
        place.write((string.len() * size_of::<u16>()) as u16)?;
        place.at(1).write_all(string)?;
    }
    Ok(end.into())
}

/// Completes an IRP that the library passed to the driver. If the buffer was too small, the IRP succeeds with a node that
/// says how much is needed, as documented for `WmiCompleteRequest`.
fn complete(irp: GuestPtr<IRP>, mut status: NtStatus, used: u32) -> Outcome<NtStatus> {
    let place = irp.CurrentStackLocation().read()?;
    let ([.., buffer], minor) = (place.Parameters().read()?, place.MinorFunction().read()?);
    let node = GuestPtr::<WNODE_ITEM>::new(buffer);
    let information = match minor {
        IRP_MN_QUERY_SINGLE_INSTANCE | IRP_MN_EXECUTE_METHOD => {
            let data = Data::new(node, minor);
            let needed = data.offset.read()?.saturating_add(used);
            if status == NtStatus::BufferTooSmall {
                status = NtStatus::Success;
                set_too_small(node, needed)?
            } else if status.is_error() {
                0
            } else {
                data.size.write(used)?;
                node.Header().BufferSize().write(needed)?;
                needed.into()
            }
        }
        _ => used.into(),
    };
    irp.IoStatus().Status().write(status)?;
    irp.IoStatus().Information().write(information)?;
    request::complete(irp)?;
    Ok(status)
}
