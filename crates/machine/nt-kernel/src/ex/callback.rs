//! Callbacks, notifications, and other registrations with the executive.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::OBJECT_ATTRIBUTES;
use nt_processor::memory::{Code, GuestPtr, Opaque};
use nt_processor::sorted::{SortedMap, SortedSet};
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::power::PowerDeviceD3;

use super::handle::KernelHandle;
use super::object;
use crate::random::{STEP, mix};
use crate::{Kernel, call_back, kernel, lock};

/// The size of a callback object in bytes. The object is opaque.
const SIZE: u64 = 0x40;

/// A routine that is registered with a callback object.
#[derive(Clone, Copy)]
struct Registered {
    handle: KernelHandle,
    object: u64,
    routine: GuestPtr<Code>,
    context: u64,
}

/// Callback objects, and the power states that drivers reported.
#[derive(Default)]
pub struct Callbacks {
    /// The objects, with their names.
    objects: Vec<(String, u64)>,
    registered: Vec<Registered>,
    /// The objects that allow only one registered routine.
    single: SortedSet<u64>,
    /// The power states of devices.
    power: SortedMap<u64, u32>,
    /// The number of identifiers that drivers have created.
    identifiers: u64,
}

impl Callbacks {
    /// Removes all registrations after the driver was unloaded. Their handles are reported as leaks.
    pub fn forget(&mut self) {
        self.registered.clear();
    }
}

routines! { pub(super) ROUTINES;
    #[irql(APC), fails(NO_RESOURCES)]
    fn ExCreateCallback(
        &call,
        place: Out<u64>,
        attributes: GuestPtr<OBJECT_ATTRIBUTES>,
        create: bool,
        multiple: bool,
    ) -> Outcome {
        let Kernel { callbacks, pool, .. } = kernel();
        let name = attributes.ObjectName().read()?.text()?;
        let mut callbacks = lock(callbacks);
        let known = callbacks.objects.iter().find(|(known, _)| !name.is_empty() && known.eq_ignore_ascii_case(&name));
        let object = match known.map(|(_, object)| *object) {
            Some(object) => object,
            None if !create => return fail(NtStatus::ObjectNameNotFound),
            None => {
                let object = lock(pool).try_new_objects::<u8>(SIZE)?.address();
                callbacks.objects.push((name, object));
                if !multiple {
                    callbacks.single.insert(object);
                }
                object
            }
        };
        object::reference(object, call.from);
        place.set(object)?;
        done(())
    }

    #[irql(APC), fails_with_zero]
    fn ExRegisterCallback(
        &call,
        object: GuestPtr<Opaque>,
        routine: GuestPtr<Code>,
        context: GuestPtr<Opaque>,
    ) -> KernelHandle {
        let object = object.address();
        let context = context.address();
        // The routine returns NULL, not a status: here, because the object allows only one routine, and it has one.
        let has_all = |callbacks: &Callbacks| {
            callbacks.single.contains(&object) && callbacks.registered.iter().any(|known| known.object == object)
        };
        if has_all(&lock(&kernel().callbacks)) {
            return KernelHandle::default();
        }
        let Ok(handle) = object::open("callback", object, call.from) else { return KernelHandle::default() };
        lock(&kernel().callbacks).registered.push(Registered { handle, object, routine, context });
        handle
    }

    #[irql(APC)]
    fn ExUnregisterCallback(registration: KernelHandle) {
        lock(&kernel().callbacks).registered.retain(|registered| registered.handle != registration);
        object::close(registration);
    }

    #[irql(DISPATCH)]
    fn ExNotifyCallback(object: GuestPtr<Opaque>, argument1: GuestPtr<Opaque>, argument2: GuestPtr<Opaque>) {
        let registered = lock(&kernel().callbacks).registered.clone();
        for known in registered.into_iter().filter(|known| known.object == object.address()) {
            let arguments = [known.context, argument1.address(), argument2.address()];
            call_back("callback routine", thread::irql(), known.routine, &arguments);
        }
    }

    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn PoRegisterPowerSettingCallback(
        &call,
        _device: Ignored<GuestPtr<Opaque>>,
        _setting: Ignored<GuestPtr<Opaque>>,
        callback: GuestPtr<Code>,
        _context: Ignored<GuestPtr<Opaque>>,
        place: Out<KernelHandle>,
    ) -> Outcome {
        place.set(object::open("power setting", callback.address(), call.from)?)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn PoUnregisterPowerSettingCallback(registration: KernelHandle) -> NtStatus {
        object::close(registration)
    }

    /// `POWER_STATE` is a union of 32-bit enumerations. Returns the previous state.
    #[irql(DISPATCH)]
    fn PoSetPowerState(device: GuestPtr<Opaque>, _kind: Ignored<i32>, state: u32) -> u32 {
        lock(&kernel().callbacks).power.insert(device.address(), state).unwrap_or(PowerDeviceD3)
    }

    #[irql(PASSIVE)]
    fn ExUuidCreate(id: Out<[u64; 2]>) -> Outcome {
        let number = {
            let mut callbacks = lock(&kernel().callbacks);
            callbacks.identifiers += 1;
            callbacks.identifiers
        };
        // The time may stand still, so the number of calls makes them unique. Version 4 (RFC 9562): random.
        let [first, second] = [2 * number, 2 * number + 1].map(|state| mix(state.wrapping_mul(STEP)));
        id.set([first & !(0xF << 60) | 4 << 60, second & !0xC0 | 0x80])?;
        done(())
    }

    #[irql(ANY)]
    fn ExIsProcessorFeaturePresent(feature: u32) -> bool {
        has_feature(feature)
    }

    #[irql(DISPATCH), fixed, fails(NO_RESOURCES)]
    fn KeSaveExtendedProcessorState(_mask: Ignored<u64>, _save: Ignored<GuestPtr<Opaque>>) -> NtStatus {
        NtStatus::Success
    }

    #[irql(DISPATCH), fixed]
    fn KeRestoreExtendedProcessorState(_save: Ignored<GuestPtr<Opaque>>) {}
}

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
