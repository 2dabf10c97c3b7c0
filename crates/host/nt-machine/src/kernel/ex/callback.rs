//! Callbacks, notifications, and other registrations with the executive.

use std::collections::BTreeMap;

use etw_types::NtStatus;

use super::object;
use crate::cpu::thread;
use crate::kernel::{call_back, kernel, lock};
use crate::layout::OBJECT_ATTRIBUTES;
use crate::memory::{Code, GuestPtr};
use crate::routine::{ANY, APC, DISPATCH, NO_RESOURCES, PASSIVE, Routine, done, fail, fixed, routine};

/// `PowerDeviceD3`: the power state of a device that never reported one.
const D3: u32 = 4;

/// The size of a callback object in bytes. The object is opaque.
const SIZE: u64 = 0x40;

/// A routine that is registered with a callback object.
#[derive(Clone, Copy)]
struct Registered {
    handle: object::KernelHandle,
    object: u64,
    routine: GuestPtr<Code>,
    context: u64,
}

/// Callback objects, and the power states that drivers reported.
#[derive(Default)]
pub(crate) struct Callbacks {
    /// The objects, with their names.
    objects: Vec<(String, u64)>,
    registered: Vec<Registered>,
    /// The power states of devices.
    power: BTreeMap<u64, u32>,
}

impl Callbacks {
    /// Removes all registrations after the driver was unloaded. Their handles are reported as leaks.
    pub(crate) fn forget(&mut self) {
        self.registered.clear();
    }
}

pub(super) const ROUTINES: &[Routine] = &[
    // Arguments: pointer to the object, attributes, whether to create it, whether multiple registrations are allowed.
    routine!("ExCreateCallback", PASSIVE, |call| {
        let name = call.ptr::<OBJECT_ATTRIBUTES>(1).ObjectName().read()?.text()?;
        let mut callbacks = lock(&kernel().callbacks);
        let known = callbacks.objects.iter().find(|(known, _)| !name.is_empty() && known.eq_ignore_ascii_case(&name));
        let object = match known.map(|(_, object)| *object) {
            Some(object) => object,
            None if !call.is(2) => return fail(NtStatus::ObjectNameNotFound),
            None => {
                let object = lock(&kernel().pool).try_new_objects::<u8>(SIZE)?.address();
                callbacks.objects.push((name, object));
                object
            }
        };
        object::reference(object, call.from);
        call.ptr(0).write(object)?;
        done(())
    })
    .fails(NO_RESOURCES),
    // Arguments: object, routine, context.
    routine!("ExRegisterCallback", APC, |call| {
        // The routine returns NULL, not a status.
        let Ok(handle) = object::open("callback", call.arg(0), call.from) else {
            return object::KernelHandle::default();
        };
        let registered = Registered { handle, object: call.arg(0), routine: call.ptr(1), context: call.arg(2) };
        lock(&kernel().callbacks).registered.push(registered);
        handle
    })
    .fails_with_zero(),
    routine!("ExUnregisterCallback", APC, |call| {
        lock(&kernel().callbacks).registered.retain(|registered| registered.handle != call.kernel_handle(0));
        object::close(call.kernel_handle(0))
    }),
    // Arguments: object, two arguments for the routines.
    routine!("ExNotifyCallback", DISPATCH, |call| {
        let registered = lock(&kernel().callbacks).registered.clone();
        for known in registered.into_iter().filter(|known| known.object == call.arg(0)) {
            let arguments = [known.context, call.arg(1), call.arg(2)];
            call_back("callback routine", thread::irql(), known.routine, &arguments);
        }
    }),
    routine!("PoRegisterPowerSettingCallback", PASSIVE, |call| {
        call.ptr(4).write(object::open("power setting", call.arg(2), call.from)?)?;
        done(())
    })
    .fails(NO_RESOURCES),
    routine!("PoUnregisterPowerSettingCallback", PASSIVE, |call| object::close(call.kernel_handle(0))),
    // Arguments: device, type of state, state. Returns the previous state.
    routine!("PoSetPowerState", DISPATCH, |call| {
        lock(&kernel().callbacks).power.insert(call.arg(0), call.u32(2)).unwrap_or(D3)
    }),
    routine!("ExUuidCreate", PASSIVE, |call| {
        let now = kernel().scheduler.now();
        let words = [now ^ 0x9E37_79B9_7F4A_7C15, now.wrapping_mul(0xBF58_476D_1CE4_E5B9) | 0x80];
        call.ptr(0).write(words)
    }),
    routine!("ExIsProcessorFeaturePresent", ANY, |call| has_feature(call.u32(0))),
    fixed("KeSaveExtendedProcessorState", DISPATCH, 0).fails(NO_RESOURCES),
    fixed("KeRestoreExtendedProcessorState", DISPATCH, 0),
];

/// Returns whether the processor that runs the driver has a `PF_*` feature.
fn has_feature(number: u32) -> bool {
    match number {
        // Every x64 processor: compare and exchange of 8 bytes, MMX, SSE, RDTSC, PAE, SSE2, no-execute, fast fail.
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
