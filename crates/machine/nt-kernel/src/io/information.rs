//! System information (modules, processes, the debugger) and process handles.

use etw_types::NtStatus;
use nt_processor::image;
use nt_processor::layout::{CLIENT_ID, OBJECT_ATTRIBUTES, THREAD, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice};
use nt_verifier::routine::{Ignored, NO_RESOURCES, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::system::{
    ProcessBasicInformation, ProcessImageFileName, ProcessWow64Information, SystemBasicInformation,
    SystemCodeIntegrityInformation, SystemKernelDebuggerInformation, SystemModuleInformation, SystemProcessInformation,
};

use crate::ex::handle::KernelHandle;
use crate::ex::object;
use crate::registry::keys;
use crate::shared_data::PHYSICAL_PAGES;
use crate::sync::process::{self, SYSTEM};
use crate::{Kernel, kernel, lock};

/// The size of `RTL_PROCESS_MODULE_INFORMATION`, and of the path at its end.
const MODULE: usize = 0x128;
const PATH: usize = 0x100;
/// The size of `SYSTEM_PROCESS_INFORMATION` without threads.
const PROCESS: usize = 0x100;

routines! { pub(super) ROUTINES;
    #[irql(PASSIVE)]
    fn ZwQuerySystemInformation(class: i32, buffer: GuestSlice<u8>, length: Out<u32>) -> Outcome {
        system_information(class, buffer, length)
    }

    #[irql(PASSIVE)]
    fn NtQuerySystemInformation(class: i32, buffer: GuestSlice<u8>, length: Out<u32>) -> Outcome {
        system_information(class, buffer, length)
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidHandle)]
    fn ZwQueryInformationProcess(
        handle: KernelHandle,
        class: i32,
        buffer: GuestSlice<u8>,
        length: Out<u32>,
    ) -> Outcome {
        let id = match (handle.as_int(), object::of_kind(handle, "process")) {
            (u64::MAX, _) => SYSTEM,
            (_, Some(object)) => process::process_id(GuestPtr::new(object)),
            (_, None) => return fail(NtStatus::InvalidHandle),
        };
        let information: Vec<u8> = match class {
            // Exit status, PEB, affinity, priority, process ID, process ID of the parent.
            ProcessBasicInformation => {
                let words = [NtStatus::Pending.as_int().into(), 0, 3, 8, id, 0];
                words.iter().flat_map(|word: &u64| word.to_le_bytes()).collect()
            }
            ProcessWow64Information => vec![0; 8],
            ProcessImageFileName => string_at(buffer.start().address(), &process::image(id)),
            _ => return fail(NtStatus::InvalidInfoClass),
        };
        store(&information, buffer, length)
    }

    /// The driver frees the string.
    #[irql(PASSIVE), fails(NO_RESOURCES)]
    fn SeLocateProcessImageName(
        &call,
        process: GuestPtr<THREAD>,
        place: Out<GuestPtr<UNICODE_STRING>>,
    ) -> Outcome {
        let name = process::image(process::process_id(process));
        let size = string_at(0, &name).len() as u64;
        let memory = lock(&kernel().pool).allocate(size, *b"SeAt", true, call.from);
        let Some(string) = memory.map(GuestPtr::<UNICODE_STRING>::new) else { return fail(NO_RESOURCES) };
        string.cast::<u8>().write_all(&string_at(string.address(), &name))?;
        place.set(string)?;
        done(())
    }

    #[irql(PASSIVE), fails(NtStatus::InvalidCid)]
    fn ZwOpenProcess(
        &call,
        place: Out<KernelHandle>,
        _access: Ignored<u32>,
        _attributes: Ignored<GuestPtr<OBJECT_ATTRIBUTES>>,
        ids: GuestPtr<CLIENT_ID>,
    ) -> Outcome {
        let Some(found) = process::by_id(ids.UniqueProcess().read()?) else { return fail(NtStatus::InvalidCid) };
        place.set(object::open("process", found.address(), call.from)?)?;
        done(())
    }

    /// All images of a run are loaded in the order in which they need each other, before the driver.
    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwLoadDriver(path: GuestPtr<UNICODE_STRING>) -> Outcome {
        fail(if is_loaded(path)? { NtStatus::ImageAlreadyLoaded } else { NtStatus::ObjectNameNotFound })
    }

    #[irql(PASSIVE), fails(NtStatus::ObjectNameNotFound)]
    fn ZwUnloadDriver(path: GuestPtr<UNICODE_STRING>) -> Outcome {
        fail(if is_loaded(path)? { NtStatus::InvalidDeviceRequest } else { NtStatus::ObjectNameNotFound })
    }
}

/// Returns whether the service with this key is an image of the run that is loaded.
fn is_loaded(path: GuestPtr<UNICODE_STRING>) -> Result<bool, Fault> {
    let path = path.text()?;
    let is_own = |name: &str| path.eq_ignore_ascii_case(&keys::service(name));
    for driver in lock(&kernel().io).drivers.clone() {
        // The name is `\Driver\` and that of the service.
        if driver.DriverName().text()?.rsplit('\\').next().is_some_and(is_own) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn system_information(class: i32, buffer: GuestSlice<u8>, length: Out<u32>) -> Outcome {
    let information = match class {
        SystemBasicInformation => basic(),
        SystemProcessInformation => processes(buffer.start().address()),
        SystemModuleInformation => modules()?,
        SystemKernelDebuggerInformation => vec![0, 1],
        SystemCodeIntegrityInformation => [8_u32, 1].iter().flat_map(|word| word.to_le_bytes()).collect(),
        _ => return fail(NtStatus::InvalidInfoClass),
    };
    store(&information, buffer, length)
}

/// Stores the length of the information, and the information itself if the buffer has room for all of it.
fn store(information: &[u8], buffer: GuestSlice<u8>, length: Out<u32>) -> Outcome {
    length.set_if_wanted(information.len() as u32)?;
    if buffer.len() < information.len() as u64 {
        return fail(NtStatus::InfoLengthMismatch);
    }
    buffer.start().write_all(information)?;
    Ok(())
}

/// Returns a `UNICODE_STRING` for this address, with its text behind it.
fn string_at(address: u64, text: &str) -> Vec<u8> {
    let text: Vec<u8> = text.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
    let mut string = vec![0; size_of::<UNICODE_STRING>()];
    let length = text.len() as u16;
    let buffer = address.wrapping_add(string.len() as u64);
    put(&mut string, 0, &(length - 2).to_le_bytes());
    put(&mut string, 2, &length.to_le_bytes());
    put(&mut string, 8, &buffer.to_le_bytes());
    string.extend(text);
    string
}

/// Writes bytes into a structure, if it has room for them.
fn put(structure: &mut [u8], at: usize, bytes: &[u8]) {
    if let Some(place) = structure.get_mut(at..at + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

/// `SYSTEM_BASIC_INFORMATION`: the physical pages and two processors. The first physical page is page 1.
fn basic() -> Vec<u8> {
    let longs = [0_u32, 156_250, 0x1000, PHYSICAL_PAGES, 1, PHYSICAL_PAGES, 0x1_0000, 0];
    let quads = [0x1_0000_u64, 0x7FFF_FFFE_FFFF, 3, 2];
    let longs = longs.iter().flat_map(|long| long.to_le_bytes());
    longs.chain(quads.iter().flat_map(|quad| quad.to_le_bytes())).collect()
}

/// `SYSTEM_PROCESS_INFORMATION` of the system process, without threads. The name of the process follows.
fn processes(buffer: u64) -> Vec<u8> {
    let name: Vec<u8> = "System\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut entry = vec![0; PROCESS];
    let length = name.len() as u16;
    put(&mut entry, 0x38, &(length - 2).to_le_bytes());
    put(&mut entry, 0x3A, &length.to_le_bytes());
    put(&mut entry, 0x40, &buffer.wrapping_add(PROCESS as u64).to_le_bytes());
    put(&mut entry, 0x48, &[8]);
    put(&mut entry, 0x50, &SYSTEM.to_le_bytes());
    entry.extend(name);
    entry
}

/// `RTL_PROCESS_MODULES`: the kernel and the loaded images.
fn modules() -> Outcome<Vec<u8>> {
    let Kernel { io, table, .. } = kernel();
    let drivers = lock(io).drivers.clone();
    let nt = table.image();
    let mut modules = vec![(nt.base, nt.size as u32, r"\SystemRoot\system32\ntoskrnl.exe".to_owned())];
    for driver in drivers {
        let base = driver.DriverStart().read()?.address();
        let name = image::name_at(base).unwrap_or_default();
        modules.push((base, driver.DriverSize().read()?, format!(r"\SystemRoot\System32\drivers\{name}")));
    }
    let mut information = (modules.len() as u64).to_le_bytes().to_vec();
    for (index, (base, size, path)) in (0_u16..).zip(modules) {
        let mut module = vec![0; MODULE];
        put(&mut module, 0x10, &base.to_le_bytes());
        put(&mut module, 0x18, &size.to_le_bytes());
        put(&mut module, 0x20, &index.to_le_bytes());
        put(&mut module, 0x24, &[1]);
        let name = path.rfind('\\').map_or(0, |position| position + 1);
        put(&mut module, 0x26, &(name as u16).to_le_bytes());
        put(&mut module, 0x28, path.as_bytes().get(..PATH - 1).unwrap_or(path.as_bytes()));
        information.extend(module);
    }
    Ok(information)
}
