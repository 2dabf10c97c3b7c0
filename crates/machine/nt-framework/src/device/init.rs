//! `WDFDEVICE_INIT`: the settings of a device before it is created.

use etw_types::NtStatus;
use nt_processor::layout::{
    DEVICE_OBJECT, GUID, UNICODE_STRING, WDF_CHILD_LIST_CONFIG, WDF_DEVICE_PNP_CALLBACKS, WDF_FDO_EVENT_CALLBACKS,
    WDF_FILEOBJECT_CONFIG, WDF_IO_TYPE_CONFIG, WDF_OBJECT_ATTRIBUTES,
};
use nt_processor::memory::{Code, Fault, GuestPtr, Opaque};
use nt_verifier::routine::{DISPATCH, Failure, Ignored, NO_RESOURCES, Outcome, PASSIVE, done, functions};
use nt_verifier::verify::{self, Breach, Kmdf, Rule};
use windows_constants::framework::WdfDeviceIoDirect;

use crate::object::attributes::{Attributes, Options};
use crate::object::kind::Kind;
use crate::object::needs_pnp;
use crate::state::{Origin, Past, with};
use crate::{Handle, object, structures};

/// The callbacks of `WDF_PNPPOWER_EVENT_CALLBACKS`, by their index after the `Size` field.
pub(crate) const D0_ENTRY: usize = 0;
pub(crate) const D0_ENTRY_POST_INTERRUPTS: usize = 1;
pub(crate) const D0_EXIT: usize = 2;
pub(crate) const D0_EXIT_PRE_INTERRUPTS: usize = 3;
pub(crate) const PREPARE_HARDWARE: usize = 4;
pub(crate) const RELEASE_HARDWARE: usize = 5;
pub(crate) const IO_CLEANUP: usize = 6;
pub(crate) const IO_FLUSH: usize = 7;
pub(crate) const IO_INIT: usize = 8;
pub(crate) const IO_SUSPEND: usize = 9;
pub(crate) const IO_RESTART: usize = 10;
pub(crate) const SURPRISE_REMOVAL: usize = 11;
pub(crate) const QUERY_REMOVE: usize = 12;
pub(crate) const QUERY_STOP: usize = 13;
const CALLBACKS: usize = 16;

functions! { pub(crate) FUNCTIONS;
    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPnpPowerEventCallbacks(
        init: Handle,
        callbacks: GuestPtr<WDF_DEVICE_PNP_CALLBACKS>,
    ) -> Result<(), Fault> {
        needs_pnp();
        if structures::PNPPOWER_EVENT_CALLBACKS.fits(callbacks)? {
            let callbacks = callbacks.Callbacks().read()?;
            with_init(init, |init| init.callbacks = callbacks);
        }
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetIoType(init: Handle, kind: i32) {
        with_init(init, |init| init.direct = kind == WdfDeviceIoDirect);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetIoTypeEx(init: Handle, config: GuestPtr<WDF_IO_TYPE_CONFIG>) -> Result<(), Fault> {
        let kind = config.ReadWriteIoType().read()?;
        with_init(init, |init| init.direct = kind.cast_signed() == WdfDeviceIoDirect);
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetExclusive(init: Handle, exclusive: bool) {
        with_init(init, |init| init.exclusive = exclusive);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPowerNotPageable(init: Handle) {
        needs_pnp();
        with_init(init, |init| init.not_pageable = true);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPowerPageable(init: Handle) {
        needs_pnp();
        with_init(init, |init| init.not_pageable = false);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetPowerInrush(init: Handle) {
        needs_pnp();
        with_init(init, |init| init.not_pageable = true);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceInitSetDeviceType(init: Handle, _kind: Ignored<u32>) {
        check(init);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceInitSetDeviceClass(init: Handle, class: GuestPtr<GUID>) {
        check(init);
        object::needs_place(class);
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetCharacteristics(init: Handle, characteristics: u32, adds: bool) {
        with_init(init, |init| {
            let before = if adds { init.characteristics } else { 0 };
            init.characteristics = before | characteristics;
        });
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceInitSetReleaseHardwareOrderOnFailure(init: Handle, _order: Ignored<i32>) {
        check(init);
    }

    #[irql(PASSIVE), fails(NO_RESOURCES), fixed]
    #[on_failure(note_failure(init))]
    fn WdfDeviceInitAssignSDDLString(init: Handle, sddl: GuestPtr<UNICODE_STRING>) -> Result<NtStatus, Fault> {
        check(init);
        sddl.units()?;
        Ok(NtStatus::Success)
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    #[on_failure(note_failure(init))]
    fn WdfDeviceInitAssignName(init: Handle, name: GuestPtr<UNICODE_STRING>) -> Outcome {
        let name = name.text()?;
        with_init(init, |init| init.name = name);
        done(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetFileObjectConfig(
        init: Handle,
        config: GuestPtr<WDF_FILEOBJECT_CONFIG>,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    ) -> Result<(), Fault> {
        if structures::FILEOBJECT_CONFIG.fits(config)? {
            let config = config.read()?;
            let create = config.EvtDeviceFileCreate;
            let close = config.EvtFileClose;
            let cleanup = config.EvtFileCleanup;
            if let Some(attributes) = for_later(attributes, Options::CONSTRAINTS)? {
                with_init(init, |init| init.file = Some(FileEvents { create, close, cleanup, attributes }));
            }
        }
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetRequestAttributes(
        init: Handle,
        attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>,
    ) -> Result<(), Fault> {
        if let Some(attributes) = for_later(attributes, Options::WITHOUT_PARENT)? {
            with_init(init, |init| init.request = attributes);
        }
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfDeviceInitSetIoInCallerContextCallback(init: Handle, callback: GuestPtr<Code>) {
        with_init(init, |init| init.in_caller_context = callback);
    }

    #[irql(DISPATCH), fixed]
    fn WdfDeviceInitSetRemoveLockOptions(init: Handle, options: GuestPtr<Opaque>) -> Result<(), Fault> {
        check(init);
        structures::REMOVE_LOCK_OPTIONS.fits(options).map(drop)
    }

    #[irql(DISPATCH)]
    fn WdfFdoInitSetFilter(init: Handle) {
        with_init(init, |init| init.filter = true);
    }

    /// A driver that adds resources must also remove them.
    #[irql(PASSIVE)]
    fn WdfFdoInitSetEventCallbacks(init: Handle, callbacks: GuestPtr<WDF_FDO_EVENT_CALLBACKS>) -> Result<(), Fault> {
        let is_fdo = with_init(init, |init| init.origin() == Origin::DeviceAdd);
        if !is_fdo {
            verify::find(Rule::FrameworkMisuse, format_args!("the init structure is not that of a function device"));
        } else if structures::FDO_EVENT_CALLBACKS.fits(callbacks)? {
            let callbacks = callbacks.Callbacks().read()?;
            let [filter_add, _, remove_added] = callbacks;
            if !filter_add.is_null() && remove_added.is_null() {
                let what = format_args!("EvtDeviceFilterAddResourceRequirements needs EvtDeviceRemoveAddedResources");
                verify::find(Rule::FrameworkMisuse, what);
            } else {
                with_init(init, |init| init.fdo_callbacks = callbacks);
            }
        }
        Ok(())
    }

    #[irql(DISPATCH)]
    fn WdfFdoInitWdmGetPhysicalDevice(init: Handle) -> GuestPtr<DEVICE_OBJECT> {
        with_init(init, |init| init.physical)
    }

    #[irql(PASSIVE), fails_with_zero]
    fn WdfControlDeviceInitAllocate(
        &call,
        driver: Handle,
        sddl: GuestPtr<UNICODE_STRING>,
    ) -> Result<Handle, Fault> {
        object::needs_driver(driver);
        object::needs_place(sddl);
        sddl.units()?;
        let init = Init { control: true, ..Init::default() };
        Ok(new(call.from, init).ok().unwrap_or_default())
    }

    #[irql(DISPATCH), fixed]
    fn WdfControlDeviceInitSetShutdownNotification(
        init: Handle,
        callback: GuestPtr<Code>,
        _flags: Ignored<u8>,
    ) {
        object::needs_place(callback);
        check(init);
    }
}

/// Callbacks for files.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FileEvents {
    pub(crate) create: GuestPtr<Code>,
    pub(crate) close: GuestPtr<Code>,
    pub(crate) cleanup: GuestPtr<Code>,
    pub(crate) attributes: Attributes,
}

/// The settings so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Init {
    pub(crate) callbacks: [GuestPtr<Code>; CALLBACKS],
    pub(crate) file: Option<FileEvents>,
    pub(crate) request: Attributes,
    pub(crate) name: String,
    /// The characteristics that the driver sets. The framework adds `FILE_DEVICE_SECURE_OPEN`.
    pub(crate) characteristics: u32,
    pub(crate) direct: bool,
    pub(crate) control: bool,
    pub(crate) exclusive: bool,
    /// The init structure is that of `EvtChildListCreateDevice`.
    pub(crate) listed: bool,
    /// A child that needs no function driver.
    pub(crate) raw: bool,
    /// The driver has decided whether it is the owner of the device's power policy.
    pub(crate) owns_policy: Option<bool>,
    /// The return address of the call that set callbacks for the power policy.
    pub(crate) policy_callbacks: Option<u64>,
    /// The callbacks for waking.
    pub(crate) wake: [GuestPtr<Code>; 6],
    /// The callbacks of `WDF_FDO_EVENT_CALLBACKS`.
    pub(crate) fdo_callbacks: [GuestPtr<Code>; 3],
    /// A function that changes the init structure has failed.
    pub(crate) failed: bool,
    /// `WdfDeviceCreate` has failed.
    pub(crate) create_failed: bool,
    /// The power callbacks cannot be paged. This host never pages code out; only the states of the device differ.
    pub(crate) not_pageable: bool,
    /// The device is that of a filter driver.
    pub(crate) filter: bool,
    /// `EvtIoInCallerContext`.
    pub(crate) in_caller_context: GuestPtr<Code>,
    /// The configuration of the default child list.
    pub(crate) children: Option<(WDF_CHILD_LIST_CONFIG, Attributes)>,
    /// The IRPs that the driver preprocesses.
    pub(crate) preprocess: Vec<Wanted>,
    /// For a child device: the device of the bus driver.
    pub(crate) parent: Handle,
    /// The physical device object below the device.
    pub(crate) physical: GuestPtr<DEVICE_OBJECT>,
}

impl Init {
    /// Returns where the driver got the init structure from.
    pub(crate) fn origin(&self) -> Origin {
        match (self.control, self.listed, self.parent.is_null()) {
            (true, ..) => Origin::Control,
            (false, true, _) => Origin::ChildList,
            (false, false, false) => Origin::Child,
            (false, false, true) => Origin::DeviceAdd,
        }
    }
}

impl Kind for Init {
    fn name(&self) -> &'static str {
        "device initialisation"
    }
}

/// The IRPs that one callback preprocesses.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) major: u8,
    /// Empty means all minor functions.
    pub(crate) minors: Vec<u8>,
    pub(crate) callback: GuestPtr<Code>,
}

/// Creates an init structure. `from` is the return address of the driver's call, or 0.
pub(crate) fn new(from: u64, init: Init) -> Outcome<Handle> {
    object::create_with(from, &Attributes::default(), None, init)
}

/// Reads the attributes of objects that are created later. Returns `None` if they are invalid, which is then already reported:
/// the calling function has no effect.
fn for_later(attributes: GuestPtr<WDF_OBJECT_ATTRIBUTES>, options: Options) -> Result<Option<Attributes>, Fault> {
    match Attributes::read(attributes, options) {
        Err(Failure::Fault(fault)) => Err(fault),
        read => Ok(read.ok()),
    }
}

/// Reads or changes an init structure. Another kind of object stops the machine.
pub(crate) fn with_init<R>(init: Handle, body: impl FnOnce(&mut Init) -> R) -> R {
    used_as(init, Use::Set, body)
}

/// What a driver wants of an init structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Set,
    SetChildList,
    Create,
    Free,
}

/// Like [`with_init`], for a use that Microsoft has rules of its own for.
pub(crate) fn used_as<R>(init: Handle, usage: Use, body: impl FnOnce(&mut Init) -> R) -> R {
    with(|framework| framework.get_mut(init).map(body)).unwrap_or_else(|| misuse(init, usage))
}

/// Returns Microsoft's rule that an init structure must not be used after `WdfDeviceCreate`.
const fn before_create(origin: Origin) -> Kmdf {
    match origin {
        Origin::DeviceAdd => Kmdf::DeviceInitAPI,
        Origin::Control => Kmdf::ControlDeviceInitAPI,
        Origin::Child => Kmdf::PdoDeviceInitAPI,
        Origin::ChildList => Kmdf::ChildDeviceInitApi,
    }
}

/// Stops the machine because a handle is not that of an init structure.
fn misuse(handle: Handle, usage: Use) -> ! {
    let breach: Breach = Rule::FrameworkMisuse.into();
    let (past, last) = with(|framework| (framework.past_of(handle), framework.last_init));
    let used = |breach: Breach, origin| match (usage, origin) {
        (Use::SetChildList, Origin::DeviceAdd) => {
            breach.named(before_create(origin)).named(Kmdf::ChildListConfiguration)
        }
        _ => breach.named(before_create(origin)),
    };
    let (breach, what) = match (past, usage) {
        // WdfDeviceCreate sets the driver's pointer to NULL.
        _ if handle.is_null() => {
            let breach = breach.named(Kmdf::InitFreeNull);
            let breach = last.filter(|_| usage != Use::Create).map_or(breach, |origin| used(breach, origin));
            let breach = if usage == Use::Create { breach.named(Kmdf::DeviceInitAllocate) } else { breach };
            (breach, "the init structure is NULL")
        }
        (Some(Past::UsedInit(origin)), _) => (used(breach, origin), "WdfDeviceCreate has used up the init structure"),
        (Some(Past::FreedInit(_)), Use::Free) => {
            (breach.named(Kmdf::DoubleDeviceInitFree), "the init structure is already freed")
        }
        (Some(Past::FreedInit(Origin::Control)), Use::Create) => {
            (breach.named(Kmdf::InitFreeDeviceCreateType2), "the init structure is freed")
        }
        (Some(Past::FreedInit(Origin::Child)), Use::Create) => {
            (breach.named(Kmdf::PdoInitFreeDeviceCreateType2), "the init structure is freed")
        }
        (Some(Past::FreedInit(_)), _) => (breach, "the init structure is freed"),
        (_, Use::Create) => (breach.named(Kmdf::DeviceInitAllocate), "no function has allocated the init structure"),
        _ => object::violation(handle),
    };
    object::stop(breach, format_args!("{handle:#x}: {what}"))
}

/// Notes that a function failed whose first argument is an init structure.
pub(crate) fn note_failure(init: Handle) {
    with(|framework| framework.get_mut(init).map(|init: &mut Init| init.failed = true));
}

/// Reports the init structures that the driver allocated, and neither used nor freed. Called before the driver object is
/// deleted.
pub(crate) fn report_left() {
    let left: Vec<(Init, u64)> = with(|framework| {
        let all = framework.objects.values().filter(|object| object.from != 0);
        all.filter_map(|object| Some((object.get::<Init>()?.clone(), object.from))).collect()
    });
    for (init, from) in left {
        let is_child = init.origin() == Origin::Child;
        let rule = match (init.create_failed, init.failed) {
            (true, _) if is_child => Some(Kmdf::PdoInitFreeDeviceCreateType4),
            (true, _) => Some(Kmdf::InitFreeDeviceCreateType4),
            (false, true) if is_child => Some(Kmdf::PdoInitFreeDeviceCallback),
            (false, true) => Some(Kmdf::InitFreeDeviceCallback),
            (false, false) => None,
        };
        let breach = rule.map_or(Rule::ObjectLeak.into(), |rule| Rule::ObjectLeak.named(rule));
        let what = format_args!("does not free an init structure: call WdfDeviceInitFree");
        verify::find_at(breach, None, from, what);
    }
}

/// Stops the machine unless the object is an init structure.
pub(crate) fn check(init: Handle) {
    with_init(init, |_| ());
}
