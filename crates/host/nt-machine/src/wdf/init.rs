//! `WDFDEVICE_INIT`: the settings of a device before it is created.

use etw_types::NtStatus;

use super::attributes::Attributes;
use super::life;
use super::object::{self, Data};
use super::preprocess::Wanted;
use super::{Handle, structures};
use crate::layout::{
    DEVICE_OBJECT, UNICODE_STRING, WDF_CHILD_LIST_CONFIG, WDF_DEVICE_PNP_CALLBACKS, WDF_FILEOBJECT_CONFIG,
    WDF_IO_TYPE_CONFIG,
};
use crate::memory::{Code, Fault, GuestPtr};
use crate::routine::{Call, DISPATCH, Failure, PASSIVE, Routine, done, routine};

/// The callbacks of `WDF_PNPPOWER_EVENT_CALLBACKS`, by their index after the `Size` field.
pub(super) const D0_ENTRY: usize = 0;
pub(super) const D0_ENTRY_POST_INTERRUPTS: usize = 1;
pub(super) const D0_EXIT: usize = 2;
pub(super) const D0_EXIT_PRE_INTERRUPTS: usize = 3;
pub(super) const PREPARE_HARDWARE: usize = 4;
pub(super) const RELEASE_HARDWARE: usize = 5;
pub(super) const IO_CLEANUP: usize = 6;
pub(super) const IO_FLUSH: usize = 7;
pub(super) const IO_INIT: usize = 8;
pub(super) const IO_SUSPEND: usize = 9;
pub(super) const IO_RESTART: usize = 10;
pub(super) const SURPRISE_REMOVAL: usize = 11;
pub(super) const QUERY_REMOVE: usize = 12;
pub(super) const QUERY_STOP: usize = 13;
const CALLBACKS: usize = 16;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine!("WdfDeviceInitSetPnpPowerEventCallbacks", DISPATCH, |call| {
        let callbacks = call.ptr::<WDF_DEVICE_PNP_CALLBACKS>(2);
        if !structures::PNPPOWER_EVENT_CALLBACKS.fits(callbacks)? {
            return done(NtStatus::Success);
        }
        let callbacks = callbacks.Callbacks().read()?;
        done(set(call, |init| init.callbacks = callbacks))
    }),
    routine!("WdfDeviceInitSetPowerPolicyEventCallbacks", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetPowerPolicyOwnership", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetIoType", DISPATCH, |call| set(call, |init| init.direct = call.u32(2) == 3)),
    routine!("WdfDeviceInitSetIoTypeEx", DISPATCH, |call| {
        let kind = call.ptr::<WDF_IO_TYPE_CONFIG>(2).ReadWriteIoType().read()?;
        done(set(call, |init| init.direct = kind == 3))
    }),
    routine!("WdfDeviceInitSetExclusive", DISPATCH, |call| set(call, |init| init.exclusive = call.is(2))),
    routine!("WdfDeviceInitSetPowerNotPageable", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetPowerPageable", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetPowerInrush", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetDeviceType", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetDeviceClass", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetCharacteristics", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitSetReleaseHardwareOrderOnFailure", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitAssignSDDLString", PASSIVE, ignore).fails(NtStatus::InsufficientResources).fixed(),
    routine!("WdfDeviceInitAssignName", PASSIVE, |call| {
        let name = call.ptr::<UNICODE_STRING>(2).text()?;
        done(set(call, |init| init.name = name))
    })
    .fails(NtStatus::InsufficientResources),
    routine!("WdfDeviceInitSetFileObjectConfig", DISPATCH, |call| {
        if !structures::FILEOBJECT_CONFIG.fits(call.ptr::<WDF_FILEOBJECT_CONFIG>(2))? {
            return done(NtStatus::Success);
        }
        let config = call.ptr::<WDF_FILEOBJECT_CONFIG>(2).read()?;
        let (create, close, cleanup) = (config.EvtDeviceFileCreate, config.EvtFileClose, config.EvtFileCleanup);
        let attributes = attributes(call, 3)?;
        done(set(call, |init| init.file = Some(FileEvents { create, close, cleanup, attributes })))
    }),
    routine!("WdfDeviceInitSetRequestAttributes", DISPATCH, |call| {
        let attributes = attributes(call, 2)?;
        done(set(call, |init| init.request = attributes))
    }),
    routine!("WdfDeviceInitSetIoInCallerContextCallback", DISPATCH, |call| {
        set(call, |init| init.in_caller_context = call.ptr(2))
    }),
    routine!("WdfDeviceInitSetRemoveLockOptions", DISPATCH, ignore).fixed(),
    routine!("WdfFdoInitSetFilter", DISPATCH, ignore).fixed(),
    routine!("WdfFdoInitSetEventCallbacks", DISPATCH, ignore).fixed(),
    routine!("WdfFdoInitWdmGetPhysicalDevice", DISPATCH, |call| {
        object::part(call.handle(1), |data| match data {
            Data::Init(init) => Some(init.physical),
            _ => None,
        })
    }),
    routine!("WdfControlDeviceInitAllocate", PASSIVE, |call| {
        let init = Init { control: true, ..Init::default() };
        object::create_with(call.from, &Attributes::default(), None, Data::Init(Box::new(init)))
            .ok()
            .unwrap_or_default()
    })
    .fails_with_zero(),
    routine!("WdfControlDeviceInitSetShutdownNotification", DISPATCH, ignore).fixed(),
    routine!("WdfDeviceInitFree", DISPATCH, |call| life::delete(call.handle(1))),
];

/// Callbacks for files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileEvents {
    pub(super) create: GuestPtr<Code>,
    pub(super) close: GuestPtr<Code>,
    pub(super) cleanup: GuestPtr<Code>,
    pub(super) attributes: Attributes,
}

/// The settings so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Init {
    pub(super) callbacks: [GuestPtr<Code>; CALLBACKS],
    pub(super) file: Option<FileEvents>,
    pub(super) request: Attributes,
    pub(super) name: String,
    pub(super) direct: bool,
    pub(super) control: bool,
    pub(super) exclusive: bool,
    /// `EvtIoInCallerContext`.
    pub(super) in_caller_context: GuestPtr<Code>,
    /// The configuration of the default child list.
    pub(super) children: Option<(WDF_CHILD_LIST_CONFIG, Attributes)>,
    /// The IRPs that the driver preprocesses.
    pub(super) preprocess: Vec<Wanted>,
    /// For a child device: the device of the bus driver.
    pub(super) parent: Handle,
    /// The physical device object below the device.
    pub(super) physical: GuestPtr<DEVICE_OBJECT>,
}

/// Reads the attributes of objects that are created later. If their size is wrong, which is then already reported, the
/// objects get default attributes.
fn attributes(call: &Call, index: u64) -> Result<Attributes, Fault> {
    match Attributes::read(call.ptr(index)) {
        Err(Failure::Fault(fault)) => Err(fault),
        read => Ok(read.unwrap_or_default()),
    }
}

fn ignore(call: &Call) -> NtStatus {
    set(call, |_| ())
}

/// Changes the init structure in the first argument. Another kind of object stops the machine.
pub(super) fn set(call: &Call, body: impl FnOnce(&mut Init)) -> NtStatus {
    object::part(call.handle(1), |data| match data {
        Data::Init(init) => {
            body(init);
            Some(NtStatus::Success)
        }
        _ => None,
    })
}
