//! Opens and closes files of the volume, for clients and for minifilters.

use etw_types::NtStatus;
use nt_kernel::ex::object::{self, Lifetime};
use nt_kernel::io::file::volume;
use nt_kernel::{Kernel, kernel, lock};
use nt_processor::layout::{ACCESS_STATE, IO_SECURITY_CONTEXT, UNICODE_STRING};
use nt_processor::memory::{Fault, GuestPtr, OrStop as _};
use nt_verifier::routine::Outcome;
use windows_constants::filter_manager::FLT_MAX_DEVICE_REPARSE_ATTEMPTS;
use windows_constants::request::{IRP_MJ_CLEANUP, IRP_MJ_CLOSE, IRP_MJ_CREATE};
use windows_constants::security::{DELETE, FILE_READ_DATA, FILE_WRITE_DATA};

use super::contexts;
use super::request::{self, Ended, Request};
use super::state::{File, InstanceId, state};

/// What to open.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The path on the volume.
    pub(super) path: String,
    /// The folder that the path is relative to.
    pub(super) related: File,
    pub(super) access: u32,
    pub(super) disposition: u32,
    pub(super) options: u32,
    pub(super) attributes: u16,
    pub(super) share: u16,
    pub(super) is_user: bool,
    /// The instance that opens the file. Only those below it see the file.
    pub(super) above: Option<InstanceId>,
}

/// The result of an open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opened {
    pub(super) status: NtStatus,
    pub(super) information: u64,
    /// The file object; NULL if the open failed.
    pub(super) file: File,
    pub(super) is_reached: bool,
}

/// The functions that run after the last handle and the last reference of a file are released.
const FILE: Lifetime = Lifetime {
    last_handle: |file| send_request(GuestPtr::new(file), IRP_MJ_CLEANUP).or_stop(),
    last_reference: |file| end(GuestPtr::new(file)).or_stop(),
};

/// Opens a file.
pub(super) fn open(opening: &Opening) -> Outcome<Opened> {
    let file = volume::new_object(&opening.path)?;
    file.RelatedFileObject().write(opening.related)?;
    file.ReadAccess().write((opening.access & FILE_READ_DATA != 0).into())?;
    file.WriteAccess().write((opening.access & FILE_WRITE_DATA != 0).into())?;
    file.DeleteAccess().write((opening.access & DELETE != 0).into())?;
    let mut result = create(file, opening)?;
    for _ in 0..FLT_MAX_DEVICE_REPARSE_ATTEMPTS {
        if result.block.Status != NtStatus::Reparse {
            break;
        }
        // A minifilter has replaced the name.
        let Some(path) = volume::path(&file.FileName().text()?) else {
            result.block.Status = NtStatus::ObjectPathNotFound;
            break;
        };
        rename(file.FileName(), &path)?;
        file.RelatedFileObject().write(GuestPtr::NULL)?;
        result = create(file, opening)?;
    }
    let status = result.block.Status;
    if !status.is_success() || status == NtStatus::Reparse {
        lock(&kernel().pool).free_object(file.address());
        return Ok(Opened { status, information: 0, file: GuestPtr::NULL, is_reached: result.is_reached });
    }
    if let Some(above) = opening.above {
        state().opened_below.insert(file, above);
    }
    object::manage(file.address(), FILE);
    Ok(Opened { status, information: result.block.Information, file, is_reached: result.is_reached })
}

/// Sets the name of a file object.
fn rename(name: GuestPtr<UNICODE_STRING>, path: &str) -> Outcome {
    let units: Vec<u16> = path.encode_utf16().collect();
    let buffer: GuestPtr<u16> = lock(&kernel().pool).try_new_objects(units.len() as u64 + 1)?;
    buffer.write_all(&units)?;
    let size = units.len() as u16 * 2;
    Ok(name.set(size, size, buffer)?)
}

fn create(file: File, opening: &Opening) -> Outcome<Ended> {
    let Kernel { pool, .. } = kernel();
    let (context, access) = {
        let mut pool = lock(pool);
        (pool.try_new_object::<IO_SECURITY_CONTEXT>()?, pool.try_new_object::<ACCESS_STATE>()?)
    };
    access.OriginalDesiredAccess().write(opening.access)?;
    access.RemainingDesiredAccess().write(opening.access)?;
    context.AccessState().write(access)?;
    context.DesiredAccess().write(opening.access)?;
    context.FullCreateOptions().write(opening.options)?;
    let options = opening.options & 0x00FF_FFFF | opening.disposition << 24;
    let shared = u64::from(opening.attributes) | u64::from(opening.share) << 16;
    let parameters = [context.address(), options.into(), shared, 0, 0, 0];
    let request = Request {
        major: IRP_MJ_CREATE,
        file,
        parameters,
        is_user: opening.is_user,
        above: opening.above,
        ..Request::default()
    };
    let result = request::run(&request);
    for address in [context.address(), access.address()] {
        lock(pool).free_object(address);
    }
    result
}

/// Closes a handle of a client.
pub(super) fn close(file: File) {
    object::last_handle_closed(file.address());
}

fn send_request(file: File, major: u8) -> Result<(), Fault> {
    let above = state().opened_below.get(&file).copied();
    let request = Request { major, file, above, ..Request::default() };
    match request::run(&request) {
        Ok(_) | Err(nt_verifier::routine::Failure::Status(_)) => Ok(()),
        Err(nt_verifier::routine::Failure::Fault(fault)) => Err(fault),
    }
}

fn end(file: File) -> Result<(), Fault> {
    let stream = file.FsContext().read()?.address();
    send_request(file, IRP_MJ_CLOSE)?;
    contexts::file_closed(file, stream);
    state().opened_below.remove(&file);
    lock(&kernel().pool).free_object(file.address());
    Ok(())
}
