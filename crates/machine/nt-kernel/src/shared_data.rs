//! The contents of `KUSER_SHARED_DATA`: times, versions, processors.

use std::io;

use nt_processor::layout::{KSYSTEM_TIME, KUSER_SHARED_DATA};
use nt_processor::memory::{Fault, GuestPtr, Protection, Region};
use windows_constants::processor::{
    PF_COMPARE_EXCHANGE_DOUBLE, PF_COMPARE_EXCHANGE128, PF_MMX_INSTRUCTIONS_AVAILABLE, PF_NX_ENABLED, PF_PAE_ENABLED,
    PF_RDTSC_INSTRUCTION_AVAILABLE, PF_SSE3_INSTRUCTIONS_AVAILABLE, PF_XMMI_INSTRUCTIONS_AVAILABLE,
    PF_XMMI64_INSTRUCTIONS_AVAILABLE, PROCESSOR_ARCHITECTURE_AMD64,
};
use windows_constants::system::NtProductWinNt;

use crate::config::{Config, EPOCH};
use crate::kernel;
use crate::sync::timer::TICK;

/// The size of the physical memory in pages: 2 GiB.
pub(super) const PHYSICAL_PAGES: u32 = 0x8_0000;
/// `TickCountMultiplier`: milliseconds per tick, as a fixed-point number with 24 fractional bits.
const TICK_MULTIPLIER: u32 = ((TICK << 24) / 10_000) as u32;
/// The features that every x64 processor has.
const FEATURES: [u8; 9] = [
    PF_COMPARE_EXCHANGE_DOUBLE,
    PF_COMPARE_EXCHANGE128,
    PF_MMX_INSTRUCTIONS_AVAILABLE,
    PF_XMMI_INSTRUCTIONS_AVAILABLE,
    PF_RDTSC_INSTRUCTION_AVAILABLE,
    PF_PAE_ENABLED,
    PF_XMMI64_INSTRUCTIONS_AVAILABLE,
    PF_SSE3_INSTRUCTIONS_AVAILABLE,
    PF_NX_ENABLED,
];
const SYSTEM_ROOT: &str = "C:\\Windows";

/// The page of this machine.
pub(crate) struct SharedData {
    page: Option<GuestPtr<KUSER_SHARED_DATA>>,
}

impl SharedData {
    /// Creates the page with all contents that never change.
    pub(crate) fn new(config: &Config) -> Self {
        Self { page: make(config).ok() }
    }

    /// Updates the times and returns the address of the page. The fault handler calls it, so nothing here waits.
    pub(crate) fn refreshed(&self) -> Option<u64> {
        let page = self.page?;
        refresh(page, kernel().scheduler.now()).ok()?;
        Some(page.address())
    }
}

fn make(config: &Config) -> io::Result<GuestPtr<KUSER_SHARED_DATA>> {
    let region = Region::new(size_of::<KUSER_SHARED_DATA>() as u64, Protection::ReadWrite, false)?;
    let page = GuestPtr::<KUSER_SHARED_DATA>::new(region.base);
    fill(page, config).map_err(|fault| io::Error::other(fault.to_string()))?;
    Ok(page)
}

fn fill(page: GuestPtr<KUSER_SHARED_DATA>, config: &Config) -> Result<(), Fault> {
    let nt = config.os.nt_version();
    page.TickCountMultiplier().write(TICK_MULTIPLIER)?;
    for (place, unit) in page.NtSystemRoot().cast::<u16>().array(260).places().zip(SYSTEM_ROOT.encode_utf16()) {
        place.write(unit)?;
    }
    page.NtBuildNumber().write(config.os.build())?;
    page.NtProductType().write(NtProductWinNt)?;
    page.ProductTypeIsValid().write(1)?;
    page.NativeProcessorArchitecture().write(PROCESSOR_ARCHITECTURE_AMD64)?;
    page.NtMajorVersion().write(nt.major.into())?;
    page.NtMinorVersion().write(nt.minor.into())?;
    for feature in FEATURES {
        page.ProcessorFeatures().cast::<u8>().at(feature.into()).write(1)?;
    }
    page.QpcFrequency().write(10_000_000)?;
    page.NumberOfPhysicalPages().write(PHYSICAL_PAGES)?;
    page.Cookie().write(0x5EED_C00C)?;
    page.UnparkedProcessorCount().write(2)?;
    page.ActiveProcessorCount().write(2)?;
    page.ActiveGroupCount().write(1)
}

fn refresh(page: GuestPtr<KUSER_SHARED_DATA>, now: u64) -> Result<(), Fault> {
    set(page.InterruptTime(), now)?;
    set(page.SystemTime(), EPOCH + now)?;
    set(page.TickCount(), now / TICK)
}

/// Writes a time in the same order as Windows: if a reader finds both upper parts equal, it has read a consistent time.
fn set(time: GuestPtr<KSYSTEM_TIME>, value: u64) -> Result<(), Fault> {
    let high = (value >> 32) as u32;
    time.High2Time().write(high)?;
    time.LowPart().write(value as u32)?;
    time.High1Time().write(high)
}
