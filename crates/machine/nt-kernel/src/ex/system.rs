//! Versions, processors, random numbers, addresses of routines and of memory.

use std::sync::atomic::Ordering;

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{OSVERSIONINFOW, UNICODE_STRING};
use nt_processor::memory::{Code, Fault, GuestPtr, GuestSlice, Opaque};
use nt_verifier::exception::shared_data;
use nt_verifier::routine::{ANY, APC, DISPATCH, Ignored, Out, Outcome, PASSIVE, done, routines};
use nt_verifier::verify::gap;
use windows_constants::processor::IPI_LEVEL;
use windows_constants::system::VER_PLATFORM_WIN32_NT;

use crate::{Kernel, call_back, kernel};

/// The first value of the random number generator.
pub(crate) const SEED: u64 = 0x2545_F491_4F6C_DD1D;

/// Returns the major and minor version and the build number.
fn version() -> (u32, u32, u32) {
    let os = kernel().config.os;
    let nt = os.nt_version();
    (nt.major.into(), nt.minor.into(), os.build())
}

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE), fails_with_zero]
    fn MmGetSystemRoutineAddress(name: GuestPtr<UNICODE_STRING>) -> Result<Option<GuestPtr<Code>>, Fault> {
        let Kernel { config, table, .. } = kernel();
        let name = name.text()?;
        let address = table.address(&name);
        if address.is_none() {
            let os = config.os;
            gap::note(match os.lacks(&name) {
                Some(why) => {
                    format!("MmGetSystemRoutineAddress did not find {name}: {why}; choose a release with --os")
                }
                None => format!("MmGetSystemRoutineAddress did not find {name}"),
            });
        }
        Ok(address.map(GuestPtr::new))
    }

    #[irql(PASSIVE)]
    fn RtlGetVersion(information: GuestPtr<OSVERSIONINFOW>) -> Outcome {
        let (major, minor, build) = version();
        information.dwMajorVersion().write(major)?;
        information.dwMinorVersion().write(minor)?;
        information.dwBuildNumber().write(build)?;
        information.dwPlatformId().write(VER_PLATFORM_WIN32_NT)?;
        information.szCSDVersion().cast::<u16>().write(0)?;
        done(())
    }

    #[irql(PASSIVE)]
    fn RtlIsNtDdiVersionAvailable(wanted: u32) -> bool {
        let (major, minor, _) = version();
        (major << 24 | minor << 16) >= wanted & 0xFFFF_0000
    }

    /// Returns whether this is a checked build.
    #[irql(PASSIVE)]
    fn PsGetVersion(
        major: Out<u32>,
        minor: Out<u32>,
        build: Out<u32>,
        _service_pack: Ignored<GuestPtr<UNICODE_STRING>>,
    ) -> Result<bool, Fault> {
        let version = version();
        major.set_if_wanted(version.0)?;
        minor.set_if_wanted(version.1)?;
        build.set_if_wanted(version.2)?;
        Ok(false)
    }

    #[irql(ANY), fixed]
    fn KeQueryActiveProcessorCount(affinity: Out<u64>) -> Result<u32, Fault> {
        affinity.set_if_wanted(3)?;
        Ok(2)
    }

    #[irql(ANY), fixed]
    fn KeQueryMaximumProcessorCount() -> u32 {
        2
    }

    #[irql(ANY), fixed]
    fn KeQueryActiveProcessors() -> u64 {
        3
    }

    #[irql(ANY), fixed]
    fn KeQueryActiveGroupCount() -> u16 {
        1
    }

    /// `processor` is a `PROCESSOR_NUMBER`: group, number, reserved. Returns the index.
    #[irql(ANY)]
    fn KeGetCurrentProcessorNumberEx(processor: Out<u32>) -> Result<u32, Fault> {
        processor.set_if_wanted(thread::processor() << 16)?;
        Ok(thread::processor())
    }

    #[irql(ANY)]
    fn KeGetCurrentProcessorNumber() -> u32 {
        thread::processor()
    }

    #[irql(ANY)]
    fn KeIpiGenericCall(routine: GuestPtr<Code>, context: u64) -> u64 {
        call_back("IPI", IPI_LEVEL, routine, &[context])
    }

    #[irql(APC)]
    fn RtlRandomEx(seed: GuestPtr<u32>) -> Result<u32, Fault> {
        random(seed)
    }

    #[irql(APC)]
    fn RtlRandom(seed: GuestPtr<u32>) -> Result<u32, Fault> {
        random(seed)
    }

    #[irql(DISPATCH)]
    fn SystemPrng(buffer: GuestPtr<u8>, length: u64) -> Result<i32, Fault> {
        random_bytes(buffer.array(length))?;
        Ok(1)
    }

    #[irql(ANY)]
    fn RtlNtStatusToDosError(status: NtStatus) -> u32 {
        etw_symbols::win32_from_nt(status).as_int()
    }

    #[irql(DISPATCH)]
    fn MmIsAddressValid(address: GuestPtr<Opaque>) -> bool {
        shared_data::contains(address.address()) || address.is_mapped()
    }

    #[irql(ANY), fixed]
    fn KeInvalidateAllCaches() -> bool {
        true
    }
}

/// Fills memory with random bytes, which are the same in every run.
pub fn random_bytes(buffer: GuestSlice<u8>) -> Result<(), Fault> {
    for place in buffer.places() {
        let step = |x: u64| Some(x.rotate_left(7).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let word = kernel().random.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or_default();
        place.write((word >> 32) as u8)?;
    }
    Ok(())
}

/// Returns the next number of a sequence whose seed is in the driver's memory.
fn random(seed: GuestPtr<u32>) -> Result<u32, Fault> {
    let next = u64::from(seed.read()?).wrapping_mul(0x7FFF_FFED).wrapping_add(0x7FFF_FFC3);
    let next = (next % 0x7FFF_FFFF) as u32;
    seed.write(next)?;
    Ok(next)
}
