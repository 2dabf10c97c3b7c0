//! The list of loaded modules, which `DRIVER_OBJECT.DriverSection` is part of.
//!
//! Microsoft does not document it, but public drivers change the flags of their own entry and walk the list. The layout is that of
//! `KLDR_DATA_TABLE_ENTRY` in the headers of System Informer (phnt), which agree with Microsoft's metadata.

use std::sync::Mutex;

use nt_processor::image;
use nt_processor::layout::{DRIVER_OBJECT, IMAGE_DOS_HEADER, IMAGE_NT_HEADERS64, KLDR_DATA_TABLE_ENTRY};
use nt_processor::memory::{Code, Fault, GuestPtr};
use windows_constants::image::{IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY, LDRP_IMAGE_INTEGRITY_FORCED};

use crate::io::text::new_string;
use crate::pool::Pool;
use crate::{Kernel, kernel, lock};

type Entry = GuestPtr<KLDR_DATA_TABLE_ENTRY>;

/// Adds an image to the list. The kernel is its first module.
pub(super) fn add(image: GuestPtr<u8>, size: u32, entry: GuestPtr<Code>) -> Result<Entry, Fault> {
    let Kernel { io, pool, table, .. } = kernel();
    let first = lock(io).drivers.first().copied();
    let before = if let Some(driver) = first {
        driver.DriverSection().read()?
    } else {
        let image = table.image();
        let path = r"\SystemRoot\system32\ntoskrnl.exe";
        let module = new(pool, GuestPtr::new(image.base), image.size as u32, GuestPtr::NULL, path)?;
        module.InLoadOrderLinks().initialize()?;
        module
    };
    let name = image::name_at(image.address()).unwrap_or_default();
    let module = new(pool, image, size, entry, &format!(r"\SystemRoot\System32\drivers\{name}"))?;
    if is_integrity_forced(image)? {
        module.Flags().write(LDRP_IMAGE_INTEGRITY_FORCED)?;
    }
    before.InLoadOrderLinks().insert(module.InLoadOrderLinks())?;
    Ok(module)
}

/// Removes the entry of a driver that is unloaded.
pub fn remove(driver: GuestPtr<DRIVER_OBJECT>) -> Result<(), Fault> {
    driver.DriverSection().read()?.InLoadOrderLinks().unlink()
}

fn new(pool: &Mutex<Pool>, image: GuestPtr<u8>, size: u32, entry: GuestPtr<Code>, path: &str) -> Result<Entry, Fault> {
    let module: Entry = lock(pool).new_object();
    let name = path.rsplit_once('\\').map_or(path, |(_, name)| name);
    module.DllBase().write(image)?;
    module.SizeOfImage().write(size)?;
    module.EntryPoint().write(entry)?;
    module.FullDllName().write(new_string(path)?.read()?)?;
    module.BaseDllName().write(new_string(name)?.read()?)?;
    module.LoadCount().write(1)?;
    Ok(module)
}

/// Returns whether an image asks the loader to check its signature.
fn is_integrity_forced(image: GuestPtr<u8>) -> Result<bool, Fault> {
    let header = image.cast::<IMAGE_DOS_HEADER>().e_lfanew().read()?;
    let header = image.at(header.into()).cast::<IMAGE_NT_HEADERS64>().OptionalHeader();
    Ok(header.DllCharacteristics().read()? & IMAGE_DLLCHARACTERISTICS_FORCE_INTEGRITY != 0)
}
