//! Callbacks, notifications, and other registrations with the executive.

use super::routine::{ANY, APC, DISPATCH, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{kernel, lock, objects};
use crate::memory::guest;

pub(super) const ROUTINES: &[Routine] = &[
    routine("ExCreateCallback", PASSIVE, |call| {
        let object = lock(&kernel().pool).object(0x40);
        guest::write(call.arg(0), object);
        0
    })
    .fails(NO_RESOURCES),
    routine("ExRegisterCallback", APC, |call| objects::open("callback", call.arg(0), call.from)).fails_with_zero(),
    routine("ExUnregisterCallback", APC, |call| objects::close(call.arg(0))),
    routine("ExNotifyCallback", DISPATCH, |_| 0),
    routine("PsSetCreateProcessNotifyRoutine", PASSIVE, |call| notify(call.arg(0), call.is(1), call.from))
        .fails(0xC000_000D),
    routine("PsSetCreateProcessNotifyRoutineEx", PASSIVE, |call| notify(call.arg(0), call.is(1), call.from))
        .fails(0xC000_0022),
    routine("PsSetCreateThreadNotifyRoutine", PASSIVE, |call| notify(call.arg(0), false, call.from))
        .fails(NO_RESOURCES),
    routine("PsRemoveCreateThreadNotifyRoutine", PASSIVE, |call| notify(call.arg(0), true, call.from)),
    routine("PsSetLoadImageNotifyRoutine", PASSIVE, |call| notify(call.arg(0), false, call.from)).fails(NO_RESOURCES),
    routine("PsRemoveLoadImageNotifyRoutine", PASSIVE, |call| notify(call.arg(0), true, call.from)),
    routine("CmRegisterCallbackEx", APC, |call| {
        guest::write(call.arg(4), objects::open("registry callback", call.arg(0), call.from));
        0
    })
    .fails(NO_RESOURCES),
    routine("CmUnRegisterCallback", APC, |call| objects::close(call.arg(0))),
    routine("IoRegisterShutdownNotification", PASSIVE, |_| 0).fails(NO_RESOURCES),
    routine("IoUnregisterShutdownNotification", PASSIVE, |_| 0),
    routine("IoRegisterPlugPlayNotification", PASSIVE, |call| {
        guest::write(call.arg(6), objects::open("notification", call.arg(4), call.from));
        0
    })
    .fails(NO_RESOURCES),
    routine("IoUnregisterPlugPlayNotification", PASSIVE, |call| objects::close(call.arg(0))),
    routine("IoUnregisterPlugPlayNotificationEx", PASSIVE, |call| objects::close(call.arg(0))),
    routine("PoRegisterPowerSettingCallback", PASSIVE, |call| {
        guest::write(call.arg(4), objects::open("power setting", call.arg(2), call.from));
        0
    })
    .fails(NO_RESOURCES),
    routine("PoUnregisterPowerSettingCallback", PASSIVE, |call| objects::close(call.arg(0))),
    routine("PoStartNextPowerIrp", DISPATCH, |_| 0),
    routine("PoSetPowerState", DISPATCH, |_| 4),
    routine("ExUuidCreate", PASSIVE, |call| {
        let now = kernel().scheduler.now();
        guest::write(call.arg(0), now ^ 0x9E37_79B9_7F4A_7C15);
        guest::write(call.arg(0) + 8, now.wrapping_mul(0xBF58_476D_1CE4_E5B9) | 0x80);
        0
    }),
    routine("ExIsProcessorFeaturePresent", ANY, |_| 1),
    routine("KeSaveExtendedProcessorState", DISPATCH, |_| 0).fails(NO_RESOURCES),
    routine("KeRestoreExtendedProcessorState", DISPATCH, |_| 0),
];

/// Registers a routine that the system is to call, or takes it back. Its address is its handle.
fn notify(target: u64, remove: bool, from: u64) -> u64 {
    if remove { lock(&kernel().io).forget_notification(target) } else { lock(&kernel().io).notification(target, from) }
}
