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
    routine("WdfDeviceInitSetPowerPolicyEventCallbacks", DISPATCH, ignore),
    routine("WdfDeviceInitSetPowerPolicyOwnership", DISPATCH, ignore),
    routine("WdfDeviceInitSetIoType", DISPATCH, |call| set(call, |init| init.direct = call.u32(2) == 3)),
    routine("WdfDeviceInitSetIoTypeEx", DISPATCH, |call| {
        let kind: u32 = guest::read(call.arg(2) + 4);
        set(call, |init| init.direct = kind == 3)
    }),
    routine("WdfDeviceInitSetExclusive", DISPATCH, ignore),
    routine("WdfDeviceInitSetPowerNotPageable", DISPATCH, ignore),
    routine("WdfDeviceInitSetPowerPageable", DISPATCH, ignore),
    routine("WdfDeviceInitSetPowerInrush", DISPATCH, ignore),
    routine("WdfDeviceInitSetDeviceType", DISPATCH, ignore),
    routine("WdfDeviceInitSetDeviceClass", DISPATCH, ignore),
    routine("WdfDeviceInitSetCharacteristics", DISPATCH, ignore),
    routine("WdfDeviceInitSetReleaseHardwareOrderOnFailure", DISPATCH, ignore),
    routine("WdfDeviceInitAssignSDDLString", PASSIVE, ignore).fails(status::INSUFFICIENT_RESOURCES),
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
    routine("WdfDeviceInitSetIoInCallerContextCallback", DISPATCH, ignore),
    routine("WdfDeviceInitSetRemoveLockOptions", DISPATCH, ignore),
    routine("WdfFdoInitSetFilter", DISPATCH, ignore),
    routine("WdfFdoInitSetEventCallbacks", DISPATCH, ignore),
    routine("WdfFdoInitWdmGetPhysicalDevice", DISPATCH, |_| crate::kernel::devices::new_physical_device()),
    routine("WdfControlDeviceInitAllocate", PASSIVE, |call| {
        let init = Init { control: true, ..Init::default() };
        object::create_with(call.from, &Attributes::default(), None, Data::Init(Box::new(init))).unwrap_or_default()
    })
    .fails_with_zero(),
    routine("WdfControlDeviceInitSetShutdownNotification", DISPATCH, ignore),
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
