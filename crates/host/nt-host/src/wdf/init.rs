//! What a device is to be like, before it is created.

use super::attributes::Attributes;
use super::object::{self, Data, change};
use super::{Handle, life, status};
use crate::kernel::routine::{Call, DISPATCH, PASSIVE, Routine, routine};
use crate::memory::guest;
use crate::verify::{self, Rule};

/// Callbacks of `WDF_PNPPOWER_EVENT_CALLBACKS`, by their position behind its size.
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
const CALLBACKS: usize = 17;

pub(super) const FUNCTIONS: &[Routine] = &[
    routine("WdfDeviceInitSetPnpPowerEventCallbacks", DISPATCH, |call| {
        let callbacks = call.arg(2);
        let size: u32 = guest::read(callbacks);
        if size as usize != CALLBACKS * 8 + 8 {
            verify::find(Rule::BadArgument, format_args!("PnP and power callbacks of {size} bytes"));
        }
        set(call, |init| {
            for (index, place) in (1..).zip(&mut init.callbacks) {
                *place = guest::read(callbacks + index * 8);
            }
        })
    }),
    routine("WdfDeviceInitSetPowerPolicyEventCallbacks", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetPowerPolicyOwnership", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetIoType", DISPATCH, |call| set(call, |init| init.direct = call.u32(2) == 3)),
    routine("WdfDeviceInitSetIoTypeEx", DISPATCH, |call| {
        let kind: u32 = guest::read(call.arg(2) + 4);
        set(call, |init| init.direct = kind == 3)
    }),
    routine("WdfDeviceInitSetExclusive", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetPowerNotPageable", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetPowerPageable", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetPowerInrush", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetDeviceType", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetDeviceClass", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetCharacteristics", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitSetReleaseHardwareOrderOnFailure", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitAssignSDDLString", PASSIVE, ignore).fails(status::INSUFFICIENT_RESOURCES).fixed(),
    routine("WdfDeviceInitAssignName", PASSIVE, |call| {
        let name = guest::text(call.arg(2));
        set(call, |init| init.name = name)
    })
    .fails(status::INSUFFICIENT_RESOURCES),
    routine("WdfDeviceInitSetFileObjectConfig", DISPATCH, |call| {
        let config = call.arg(2);
        let (create, close, cleanup) = (guest::read(config + 8), guest::read(config + 16), guest::read(config + 24));
        let attributes = Attributes::read(call.arg(3)).unwrap_or_default();
        set(call, |init| init.file = Some(FileEvents { create, close, cleanup, attributes }))
    }),
    routine("WdfDeviceInitSetRequestAttributes", DISPATCH, |call| {
        let attributes = Attributes::read(call.arg(2)).unwrap_or_default();
        set(call, |init| init.request = attributes)
    }),
    routine("WdfDeviceInitSetIoInCallerContextCallback", DISPATCH, |call| {
        set(call, |init| init.in_caller_context = call.arg(2))
    }),
    routine("WdfDeviceInitSetRemoveLockOptions", DISPATCH, ignore).fixed(),
    routine("WdfFdoInitSetFilter", DISPATCH, ignore).fixed(),
    routine("WdfFdoInitSetEventCallbacks", DISPATCH, ignore).fixed(),
    routine("WdfFdoInitWdmGetPhysicalDevice", DISPATCH, |call| {
        let physical = change(call.arg(1), |object| match &object.data {
            Data::Init(init) => Some(init.physical),
            _ => None,
        });
        physical.unwrap_or_else(|| object::violation(call.arg(1)))
    }),
    routine("WdfControlDeviceInitAllocate", PASSIVE, |call| {
        let init = Init { control: true, ..Init::default() };
        object::create_with(call.from, &Attributes::default(), None, Data::Init(Box::new(init))).unwrap_or_default()
    })
    .fails_with_zero(),
    routine("WdfControlDeviceInitSetShutdownNotification", DISPATCH, ignore).fixed(),
    routine("WdfDeviceInitFree", DISPATCH, |call| {
        life::delete(call.arg(1));
        0
    }),
];

/// Callbacks for files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FileEvents {
    pub(super) create: u64,
    pub(super) close: u64,
    pub(super) cleanup: u64,
    pub(super) attributes: Attributes,
}

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Init {
    pub(super) callbacks: [u64; CALLBACKS],
    pub(super) file: Option<FileEvents>,
    pub(super) request: Attributes,
    pub(super) name: String,
    pub(super) direct: bool,
    pub(super) control: bool,
    /// `EvtIoInCallerContext`.
    pub(super) in_caller_context: u64,
    /// The device of the bus below.
    pub(super) physical: u64,
}

fn ignore(call: &Call) -> u64 {
    set(call, |_| ())
}

/// Changes the description, which must be one.
fn set(call: &Call, body: impl FnOnce(&mut Init)) -> u64 {
    let handle: Handle = call.arg(1);
    let found = change(handle, |object| match &mut object.data {
        Data::Init(init) => {
            body(init);
            true
        }
        _ => false,
    });
    if !found {
        object::violation(handle);
    }
    status::SUCCESS
}
