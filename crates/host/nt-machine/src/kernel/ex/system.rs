//! Versions, processors, random numbers, addresses of routines and of memory.

use std::sync::atomic::Ordering;

use crate::cpu::thread;
use crate::exception::shared_data;
use crate::kernel::{call_back, kernel};
use crate::layout::{OSVERSIONINFOW, UNICODE_STRING};
use crate::memory::{Fault, Opaque};
use crate::routine::{ANY, APC, Call, DISPATCH, PASSIVE, Routine, done, fixed, routine};
use crate::verify::gap;

/// `VER_PLATFORM_WIN32_NT`.
const PLATFORM_NT: u32 = 2;
/// The IRQL of an interprocessor interrupt.
const IPI: u8 = 14;
/// The first value of the random number generator.
pub(crate) const SEED: u64 = 0x2545_F491_4F6C_DD1D;

/// Returns the major and minor version and the build number.
fn version() -> (u32, u32, u32) {
    let os = kernel().config.os;
    let nt = os.nt_version();
    (nt.major.into(), nt.minor.into(), os.build())
}

pub(super) const ROUTINES: &[Routine] = &[
    routine!("MmGetSystemRoutineAddress", PASSIVE, |call| {
        let name = call.ptr::<UNICODE_STRING>(0).text()?;
        let address = kernel().table.address(&name);
        if address.is_none() {
            let os = kernel().config.os;
            gap::note(match os.lacks(&name) {
                Some(why) => {
                    format!("MmGetSystemRoutineAddress did not find {name}: {why}; choose a release with --os")
                }
                None => format!("MmGetSystemRoutineAddress did not find {name}"),
            });
        }
        done(address.unwrap_or_default())
    })
    .fails_with_zero(),
    routine!("RtlGetVersion", PASSIVE, |call| {
        let (major, minor, build) = version();
        let information = call.ptr::<OSVERSIONINFOW>(0);
        information.dwMajorVersion().write(major)?;
        information.dwMinorVersion().write(minor)?;
        information.dwBuildNumber().write(build)?;
        information.dwPlatformId().write(PLATFORM_NT)?;
        information.szCSDVersion().cast::<u16>().write(0)
    }),
    routine!("RtlIsNtDdiVersionAvailable", PASSIVE, |call| {
        let (major, minor, _) = version();
        (major << 24 | minor << 16) >= call.u32(0) & 0xFFFF_0000
    }),
    routine!("PsGetVersion", PASSIVE, |call| {
        let (major, minor, build) = version();
        call.ptr(0).write_if(major)?;
        call.ptr(1).write_if(minor)?;
        call.ptr(2).write_if(build)
    }),
    routine!("KeQueryActiveProcessorCount", ANY, |call| {
        call.ptr(0).write_if(3_u64)?;
        done(2_u32)
    })
    .fixed(),
    fixed("KeQueryMaximumProcessorCount", ANY, 2),
    fixed("KeQueryActiveProcessors", ANY, 3),
    fixed("KeQueryActiveGroupCount", ANY, 1),
    // Argument: pointer to a `PROCESSOR_NUMBER`: group, number, reserved. Returns the index.
    routine!("KeGetCurrentProcessorNumberEx", ANY, |call| {
        call.ptr(0).write_if(thread::processor() << 16)?;
        done(thread::processor())
    }),
    routine!("KeGetCurrentProcessorNumber", ANY, |_| thread::processor()),
    routine!("KeIpiGenericCall", DISPATCH, |call| call_back("IPI", IPI, call.ptr(0), &[call.arg(1)])),
    routine!("RtlRandomEx", APC, random),
    routine!("RtlRandom", APC, random),
    // Arguments: buffer, length.
    routine!("SystemPrng", DISPATCH, |call| {
        for place in call.ptr::<u8>(0).array(call.arg(1)).places() {
            let step = |x: u64| Some(x.rotate_left(7).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let word = kernel().random.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or_default();
            place.write((word >> 32) as u8)?;
        }
        done(true)
    }),
    routine!("RtlNtStatusToDosError", ANY, |call| etw_symbols::win32_from_nt(call.status(0)).as_int()),
    routine!("MmIsAddressValid", DISPATCH, |call| shared_data::contains(call.arg(0))
        || call.ptr::<Opaque>(0).is_mapped()),
    fixed("KeInvalidateAllCaches", ANY, 1),
];

/// Returns the next number of a sequence whose seed is in the driver's memory.
fn random(call: &Call) -> Result<u32, Fault> {
    let seed = call.ptr::<u32>(0);
    let next = u64::from(seed.read()?).wrapping_mul(0x7FFF_FFED).wrapping_add(0x7FFF_FFC3);
    let next = (next % 0x7FFF_FFFF) as u32;
    seed.write(next)?;
    Ok(next)
}
