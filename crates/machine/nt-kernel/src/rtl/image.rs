//! Routines that read images in memory: their headers and exports.

use etw_types::NtStatus;
use nt_processor::layout::{IMAGE_DOS_HEADER, IMAGE_EXPORT_DIRECTORY, IMAGE_NT_HEADERS64};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{APC, Out, Outcome, PASSIVE, done, fail, routines};
use windows_constants::image::{IMAGE_DOS_SIGNATURE, IMAGE_NT_SIGNATURE};

/// The NT headers must begin in the first 256 MiB of an image.
const MOST: u32 = 0x1000_0000;

routines! { pub(super) ROUTINES;
    #[irql(APC)]
    fn RtlImageNtHeader(image: Base) -> Result<Option<GuestPtr<IMAGE_NT_HEADERS64>>, Fault> {
        headers(image, u64::MAX)
    }

    #[irql(APC)]
    fn RtlImageNtHeaderEx(flags: u32, image: Base, size: u64, place: Out<GuestPtr<IMAGE_NT_HEADERS64>>) -> Outcome {
        // RTL_IMAGE_NT_HEADER_EX_FLAG_NO_RANGE_CHECK: the size is not used.
        let size = if flags & 1 == 0 { size } else { u64::MAX };
        let found = headers(image, size)?;
        place.set(found.unwrap_or_default())?;
        if found.is_some() { done(()) } else { fail(NtStatus::InvalidImageFormat) }
    }

    /// Returns the address of the export, or NULL.
    #[irql(PASSIVE), fails_with_zero, keeps_nothing]
    fn RtlFindExportedRoutineByName(image: Base, name: GuestPtr<u8>) -> Result<GuestPtr<u8>, Fault> {
        export(image, &name.terminated()?)
    }
}

type Base = GuestPtr<IMAGE_DOS_HEADER>;

/// Returns the NT headers of an image of `size` bytes, or `None` if there is no image at the address or its headers end
/// after these bytes. Reads nothing after them.
fn headers(image: Base, size: u64) -> Result<Option<GuestPtr<IMAGE_NT_HEADERS64>>, Fault> {
    let exists = !image.is_null() && image.address() != u64::MAX && size >= size_of::<IMAGE_DOS_HEADER>() as u64;
    if !exists || image.e_magic().read()? != IMAGE_DOS_SIGNATURE {
        return Ok(None);
    }
    let offset = image.e_lfanew().read()?;
    if offset >= MOST || u64::from(offset) + size_of::<IMAGE_NT_HEADERS64>() as u64 > size {
        return Ok(None);
    }
    let headers = image.cast::<u8>().at(offset.into()).cast::<IMAGE_NT_HEADERS64>();
    Ok(if headers.Signature().read()? == IMAGE_NT_SIGNATURE { Some(headers) } else { None })
}

fn export(image: Base, name: &[u8]) -> Result<GuestPtr<u8>, Fault> {
    let Some(headers) = headers(image, u64::MAX)? else { return Ok(GuestPtr::NULL) };
    let directory = headers.OptionalHeader().DataDirectory().element(0).unwrap_or_default();
    let start = directory.VirtualAddress().read()?;
    if start == 0 || directory.Size().read()? == 0 {
        return Ok(GuestPtr::NULL);
    }
    let at = |rva: u32| image.cast::<u8>().at(rva.into());
    let directory = at(start).cast::<IMAGE_EXPORT_DIRECTORY>();
    let names = at(directory.AddressOfNames().read()?).cast::<u32>();
    for index in 0..u64::from(directory.NumberOfNames().read()?) {
        if at(names.at(index).read()?).terminated()? == name {
            let ordinal = at(directory.AddressOfNameOrdinals().read()?).cast::<u16>().at(index).read()?;
            let function = at(directory.AddressOfFunctions().read()?).cast::<u32>().at(ordinal.into()).read()?;
            return Ok(at(function));
        }
    }
    Ok(GuestPtr::NULL)
}
