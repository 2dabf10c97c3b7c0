//! What clients do with files of the volume.

use etw_types::NtStatus;
use nt_kernel::io::file::volume;
use nt_kernel::io::text::new_string;
use nt_kernel::{Answer, RequestKind, kernel, lock};
use nt_processor::memory::GuestPtr;
use nt_verifier::routine::{Outcome, fail};
use windows_constants::file::{FILE_ATTRIBUTE_NORMAL, FILE_SHARE_DELETE, FILE_SHARE_READ, FILE_SHARE_WRITE};
use windows_constants::request::{
    IRP_MJ_DIRECTORY_CONTROL, IRP_MJ_QUERY_INFORMATION, IRP_MJ_QUERY_VOLUME_INFORMATION, IRP_MJ_READ,
    IRP_MJ_SET_INFORMATION, IRP_MJ_WRITE, IRP_MN_QUERY_DIRECTORY, SL_RESTART_SCAN,
};
use windows_constants::security::{DELETE, FILE_GENERIC_READ, FILE_GENERIC_WRITE};

use super::files::{self, Opened, Opening};
use super::request::{self, Ended, Request};
use super::state::{Data, File, state};
use super::{classes, instance, operation, register};

/// Access to open a file with.
const ACCESS: u32 = FILE_GENERIC_READ | FILE_GENERIC_WRITE | DELETE;
/// How a file is shared.
const SHARED: u16 = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

/// How a client opens a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOpen {
    /// The path: on the volume, such as `\dir\a.txt`, or a full one, such as `C:\dir\a.txt`.
    pub path: String,
    /// `FILE_OPEN` and the other dispositions of `NtCreateFile`.
    pub disposition: u32,
    /// The options of `NtCreateFile`.
    pub options: u32,
    /// The access; 0 for reading, writing and deleting.
    pub access: u32,
}

/// A client's operation on an open file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRequest {
    /// The kind of the operation.
    pub kind: RequestKind,
    /// The class of information, if the kind has one.
    pub class: u32,
    /// Where to read or write.
    pub offset: u64,
    /// The data: what to write, the information to set, or the pattern for names in a folder, as UTF-8.
    pub input: Vec<u8>,
    /// The size of the output buffer in bytes.
    pub output: u32,
}

/// A begun operation: its callback data and its buffer.
#[derive(Clone, Copy, Debug)]
pub struct Begun {
    data: Data,
    buffer: GuestPtr<u8>,
    output: u32,
}

/// Returns the path on the volume.
fn path(name: &str) -> String {
    let full = if name.as_bytes().get(1) == Some(&b':') { format!(r"\??\{name}") } else { name.to_owned() };
    volume::path(&full).unwrap_or(full)
}

/// Opens a file.
pub fn open(open: &FileOpen) -> Outcome<(u64, Answer)> {
    let opening = Opening {
        path: path(&open.path),
        related: GuestPtr::NULL,
        access: if open.access == 0 { ACCESS } else { open.access },
        disposition: open.disposition,
        options: open.options,
        attributes: FILE_ATTRIBUTE_NORMAL as u16,
        share: SHARED,
        is_user: true,
        above: None,
    };
    let Opened { status, information, file, is_reached } = files::open(&opening)?;
    Ok((file.address(), Answer { status, information, output: Vec::new(), reached: is_reached }))
}

/// Begins an operation on an open file.
pub fn begin(file: u64, requested: &FileRequest) -> Outcome<Begun> {
    let file = File::new(file);
    let length = requested.output.max(requested.input.len() as u32);
    let major = requested.kind.as_int();
    match major {
        IRP_MJ_QUERY_INFORMATION => classes::check_query(requested.class, requested.output)?,
        IRP_MJ_SET_INFORMATION => classes::check_set(requested.class, &requested.input)?,
        _ => {}
    }
    let buffer: GuestPtr<u8> = lock(&kernel().pool).try_new_objects(u64::from(length).max(8))?;
    let mut request = Request { major, file, is_user: true, ..Request::default() };
    let size = u64::from(length);
    let class = u64::from(requested.class);
    let address = buffer.address();
    request.parameters = match major {
        IRP_MJ_READ => [requested.output.into(), 0, requested.offset, address, 0, 0],
        IRP_MJ_WRITE => [size, 0, requested.offset, address, 0, 0],
        IRP_MJ_QUERY_INFORMATION | IRP_MJ_QUERY_VOLUME_INFORMATION => [size, class, address, 0, 0, 0],
        IRP_MJ_SET_INFORMATION => [size, class, 0, 0, address, 0],
        IRP_MJ_DIRECTORY_CONTROL => {
            (request.minor, request.flags) = (IRP_MN_QUERY_DIRECTORY, SL_RESTART_SCAN);
            let pattern = String::from_utf8_lossy(&requested.input).into_owned();
            let pattern = if pattern.is_empty() { 0 } else { new_string(&pattern)?.address() };
            [size, pattern, class, 0, address, 0]
        }
        _ => [0; 6],
    };
    if matches!(major, IRP_MJ_WRITE | IRP_MJ_SET_INFORMATION) {
        buffer.write_all(&requested.input)?;
    }
    let data = request::create(&request)?;
    operation::start(data)?;
    Ok(Begun { data, buffer, output: requested.output })
}

/// Waits for an operation.
pub fn finish(begun: Begun) -> Outcome<Answer> {
    let Ended { block, is_reached } = request::finish(begun.data)?;
    let has_data = !block.Status.is_error() || block.Status == NtStatus::BufferOverflow;
    let count = if has_data { block.Information.min(begun.output.into()) } else { 0 };
    let output = begun.buffer.array(count).read()?;
    lock(&kernel().pool).free_object(begun.buffer.address());
    Ok(Answer { status: block.Status, information: block.Information, output, reached: is_reached })
}

/// Cancels an operation.
pub fn cancel(begun: Begun) {
    request::cancel(begun.data);
}

/// Closes a file.
pub fn close(file: u64) {
    files::close(File::new(file));
}

/// Returns why no minifilter receives the operations on files.
pub fn why_not_filtered() -> String {
    let state = state();
    match state.refusal {
        _ if state.filters.is_empty() => "it has registered no minifilter".to_owned(),
        Some(status) => format!("its instance setup callback refused the volume with {status}"),
        None => "its minifilter has no instance on the volume".to_owned(),
    }
}

/// Detaches the driver's minifilter from the volume, or attaches it again.
pub fn set_attached(is_attached: bool) -> Outcome {
    let driver = lock(&kernel().io).driver;
    let Some(filter) = register::filter_of(driver) else { return fail(NtStatus::FltFilterNotFound) };
    if is_attached {
        return instance::attach_manually(filter);
    }
    let found = state().instances.iter().find(|instance| instance.filter == filter).map(|instance| instance.object);
    match found {
        Some(found) => instance::detach(found),
        None => fail(NtStatus::FltInstanceNotFound),
    }
}
