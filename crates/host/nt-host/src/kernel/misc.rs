//! Versions, processors, random numbers, addresses.

use std::sync::atomic::{AtomicU64, Ordering};

use super::kernel;
use super::routine::{ANY, APC, DISPATCH, PASSIVE, Routine, routine};
use crate::memory::guest;

static SEED: AtomicU64 = AtomicU64::new(0x2545_F491_4F6C_DD1D);

/// Major and minor version and build number.
fn version() -> (u32, u32, u32) {
    let os = kernel().config.os;
    let nt = os.nt_version();
    (nt.major.into(), nt.minor.into(), os.build())
}

pub(super) const ROUTINES: &[Routine] = &[
    routine("RtlGetVersion", PASSIVE, |call| {
        let (major, minor, build) = version();
        let information = call.arg(0);
        guest::write(information + 4, major);
        guest::write(information + 8, minor);
        guest::write(information + 12, build);
        guest::write(information + 16, 2_u32);
        guest::write(information + 20, 0_u16);
        0
    }),
    routine("RtlIsNtDdiVersionAvailable", PASSIVE, |call| {
        let (major, minor, _) = version();
        u64::from((major << 24 | minor << 16) >= call.u32(0) & 0xFFFF_0000)
    }),
    routine("PsGetVersion", PASSIVE, |call| {
        let (major, minor, build) = version();
        guest::write_if(call.arg(0), major);
        guest::write_if(call.arg(1), minor);
        guest::write_if(call.arg(2), build);
        0
    }),
    routine("KeQueryActiveProcessorCount", ANY, |call| {
        guest::write_if(call.arg(0), 3_u64);
        2
    })
    .fixed(),
    routine("KeQueryActiveProcessorCountEx", ANY, |_| 2).fixed(),
    routine("KeQueryMaximumProcessorCount", ANY, |_| 2).fixed(),
    routine("KeQueryMaximumProcessorCountEx", ANY, |_| 2).fixed(),
    routine("KeQueryActiveProcessors", ANY, |_| 3).fixed(),
    routine("KeQueryActiveGroupCount", ANY, |_| 1).fixed(),
    routine("KeGetCurrentProcessorNumberEx", ANY, |call| {
        if call.arg(0) != 0 {
            guest::write(call.arg(0), 0_u32);
        }
        0
    })
    .fixed(),
    routine("KeGetCurrentProcessorNumber", ANY, |_| 0).fixed(),
    routine("KeSetSystemGroupAffinityThread", APC, |call| {
        if call.arg(1) != 0 {
            guest::fill(call.arg(1), 0, 16);
        }
        0
    })
    .fixed(),
    routine("KeRevertToUserGroupAffinityThread", APC, |_| 0).fixed(),
    routine("KeSetSystemAffinityThreadEx", APC, |_| 1).fixed(),
    routine("KeRevertToUserAffinityThreadEx", APC, |_| 0).fixed(),
    routine("KeIpiGenericCall", DISPATCH, |call| super::call_back("IPI", 14, call.arg(0), &[call.arg(1)])),
    routine("RtlRandomEx", APC, |call| {
        let next = u64::from(guest::read::<u32>(call.arg(0))).wrapping_mul(0x7FFF_FFED).wrapping_add(0x7FFF_FFC3);
        let next = (next % 0x7FFF_FFFF) as u32;
        guest::write(call.arg(0), next);
        next.into()
    }),
    routine("RtlRandom", APC, |call| {
        let next = u64::from(guest::read::<u32>(call.arg(0))).wrapping_mul(0x7FFF_FFED).wrapping_add(0x7FFF_FFC3);
        let next = (next % 0x7FFF_FFFF) as u32;
        guest::write(call.arg(0), next);
        next.into()
    }),
    routine("SystemPrng", DISPATCH, |call| {
        for place in call.arg(0)..call.arg(0) + call.arg(1) {
            let step = |x: u64| Some(x.rotate_left(7).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let word = SEED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or_default();
            guest::write(place, (word >> 32) as u8);
        }
        1
    }),
    routine("RtlNtStatusToDosError", ANY, |call| {
        let status = etw_types::NtStatus::from_int(call.u32(0));
        etw_symbols::win32_from_nt(status).as_int().into()
    }),
    routine("MmIsAddressValid", DISPATCH, |call| u64::from(is_valid(call.arg(0)))),
    routine("KeInvalidateAllCaches", ANY, |_| 1).fixed(),
];

/// Whether memory is mapped at an address: a system call says so without a fault.
fn is_valid(address: u64) -> bool {
    let mut residence = 0_u8;
    let page = std::ptr::with_exposed_provenance_mut((address & !0xFFF) as usize);
    // SAFETY: asks about a page, any address is answered; the byte for the answer is there.
    let result = unsafe { libc::mincore(page, 1, &raw mut residence) };
    result == 0
}
