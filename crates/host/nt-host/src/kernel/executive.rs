//! Callbacks, notifications, and other registrations with the executive.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::routine::{ANY, APC, DISPATCH, NO_RESOURCES, PASSIVE, Routine, routine};
use super::{call_back, kernel, lock, objects};
use crate::cpu::thread;
use crate::memory::guest;

/// `PowerDeviceD3`: where a device is that never said otherwise.
const D3: u32 = 4;

/// Callback objects by name, and what is registered: handle, object, routine, context.
struct Callbacks {
    objects: Vec<(String, u64)>,
    registered: Vec<(u64, u64, u64, u64)>,
}

static CALLBACKS: Mutex<Callbacks> = Mutex::new(Callbacks { objects: Vec::new(), registered: Vec::new() });
/// The power states that drivers reported.
static POWER: Mutex<BTreeMap<u64, u32>> = Mutex::new(BTreeMap::new());

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: place for the object, attributes with the name at 16, whether to create it, whether many may register.
    routine("ExCreateCallback", PASSIVE, |call| {
        let name = guest::text(guest::read(call.arg(1) + 16));
        let mut callbacks = lock(&CALLBACKS);
        let known = callbacks.objects.iter().find(|(known, _)| !name.is_empty() && known.eq_ignore_ascii_case(&name));
        let object = match known.map(|(_, object)| *object) {
            Some(object) => object,
            None if !call.is(2) => return 0xC000_0034,
            None => {
                let object = lock(&kernel().pool).object(0x40);
                callbacks.objects.push((name, object));
                object
            }
        };
        objects::reference(object, call.from);
        guest::write(call.arg(0), object);
        0
    })
    .fails(NO_RESOURCES),
    // Arguments: object, routine, context.
    routine("ExRegisterCallback", APC, |call| {
        let handle = objects::open("callback", call.arg(0), call.from);
        lock(&CALLBACKS).registered.push((handle, call.arg(0), call.arg(1), call.arg(2)));
        handle
    })
    .fails_with_zero(),
    routine("ExUnregisterCallback", APC, |call| {
        lock(&CALLBACKS).registered.retain(|(handle, ..)| *handle != call.arg(0));
        objects::close(call.arg(0))
    }),
    // Arguments: object, two arguments for the routines.
    routine("ExNotifyCallback", DISPATCH, |call| {
        let registered = lock(&CALLBACKS).registered.clone();
        for (_, _, routine, context) in registered.into_iter().filter(|(_, object, ..)| *object == call.arg(0)) {
            let arguments = [context, call.arg(1), call.arg(2)];
            call_back("callback routine", thread::irql(), routine, &arguments);
        }
        0
    }),
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
    // Arguments: device, kind of state, state. Answers the state before.
    routine("PoSetPowerState", DISPATCH, |call| lock(&POWER).insert(call.arg(0), call.u32(2)).unwrap_or(D3).into()),
    routine("ExUuidCreate", PASSIVE, |call| {
        let now = kernel().scheduler.now();
        guest::write(call.arg(0), now ^ 0x9E37_79B9_7F4A_7C15);
        guest::write(call.arg(0) + 8, now.wrapping_mul(0xBF58_476D_1CE4_E5B9) | 0x80);
        0
    }),
    routine("ExIsProcessorFeaturePresent", ANY, |call| u64::from(has_feature(call.u32(0)))),
    routine("KeSaveExtendedProcessorState", DISPATCH, |_| 0).fails(NO_RESOURCES).fixed(),
    routine("KeRestoreExtendedProcessorState", DISPATCH, |_| 0).fixed(),
];

/// Registers a routine that the system is to call, or takes it back. Its address is its handle.
fn notify(target: u64, remove: bool, from: u64) -> u64 {
    let mut io = lock(&kernel().io);
    if !remove {
        io.register("notification routine", target, from);
        return 0;
    }
    if io.forget("notification routine", target) { 0 } else { 0xC000_007A }
}

/// `PF_*`: what the processor that runs the driver can do.
fn has_feature(number: u32) -> bool {
    match number {
        // Compare and exchange of 8 bytes, MMX, SSE, RDTSC, PAE, SSE2, no-execute, fast fail: every x64 processor.
        2 | 3 | 6 | 8 | 9 | 10 | 12 | 23 => true,
        13 => std::is_x86_feature_detected!("sse3"),
        14 => std::is_x86_feature_detected!("cmpxchg16b"),
        17 => std::is_x86_feature_detected!("xsave"),
        28 => std::is_x86_feature_detected!("rdrand"),
        36 => std::is_x86_feature_detected!("ssse3"),
        37 => std::is_x86_feature_detected!("sse4.1"),
        38 => std::is_x86_feature_detected!("sse4.2"),
        39 => std::is_x86_feature_detected!("avx"),
        40 => std::is_x86_feature_detected!("avx2"),
        41 => std::is_x86_feature_detected!("avx512f"),
        _ => false,
    }
}
