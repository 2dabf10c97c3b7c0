//! What must hold for an IRP when a driver sends it on or completes it: the stack location is the driver's, the
//! buffers are those of the request, and the number of transferred bytes fits into them.
//!
//! Windows does not check most of this. It copies as many bytes as the driver says, frees what the members point to,
//! and reads beyond the stack locations.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{IO_STACK_LOCATION, IRP, MDL};
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::verify::{self, Rule};
use windows_constants::request::IRP_MJ_QUERY_INFORMATION;

use crate::io::mdl::{MAX_LISTS, TAG};
use crate::io::request::Request;
use crate::{RequestKind, kernel, lock, pool};

type Packet = GuestPtr<IRP>;

/// The buffers of an IRP that the I/O manager made.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::io) struct Buffers {
    /// The maximum of `IoStatus.Information`, if it is a number of bytes.
    limit: Option<u64>,
    /// Whether the I/O manager copies this number of bytes from the system buffer.
    copied: bool,
    pub(super) system: GuestPtr<u8>,
    pub(super) mdl: GuestPtr<MDL>,
}

impl Buffers {
    /// Returns the buffers of an IRP with these parameters in its first stack location.
    ///
    /// Microsoft's public framework source, core/fxrequest.cpp, has the same limits: a control request without an output
    /// buffer may return the number of used bytes of its input, and the parameters of internal requests can mean
    /// anything.
    pub(super) fn new(major: u8, parameters: [u64; 4], system: GuestPtr<u8>, mdl: GuestPtr<MDL>) -> Self {
        let [length, _, code, _] = parameters;
        let length = u64::from(length as u32);
        let limit = match (RequestKind::from_int(major), major) {
            (RequestKind::READ | RequestKind::WRITE, _) | (_, IRP_MJ_QUERY_INFORMATION) => Some(length),
            (RequestKind::DEVICE_CONTROL, _) => Some(length).filter(|length| *length != 0),
            _ => None,
        };
        let is_control = RequestKind::from_int(major).has_code();
        let copied = !system.is_null()
            && if is_control { code.trailing_zeros() >= 2 } else { major != RequestKind::WRITE.as_int() };
        Self { limit, copied, system, mdl }
    }
}

/// Returns the place of a stack location, counted from 1.
pub(super) const fn place_of(request: Packet, location: u8) -> GuestPtr<IO_STACK_LOCATION> {
    request.after::<IO_STACK_LOCATION>().at(location as u64).before(1)
}

fn find(request: Packet) -> Option<Request> {
    lock(&kernel().io).requests.get(&request).copied()
}

/// Stops the run at the call that the driver is making.
fn stop(rule: Rule, detail: std::fmt::Arguments<'_>) -> ! {
    let site = thread::site();
    verify::stop(rule, site.map(|site| site.routine), site.map_or(0, |site| site.from), detail)
}

/// Moves an IRP to a stack location. The I/O manager remembers the location, to notice a driver that changes it.
pub(super) fn move_to(request: Packet, location: u8, place: GuestPtr<IO_STACK_LOCATION>) -> Result<(), Fault> {
    if let Some(known) = lock(&kernel().io).requests.get_mut(&request) {
        known.location = location;
        known.history.lowest = known.history.lowest.min(location);
    }
    request.CurrentLocation().write(location)?;
    request.CurrentStackLocation().write(place)
}

/// Checks an IRP that is about to be sent to the next driver. Returns its current location.
pub(super) fn check_sent(request: Packet) -> Result<u8, Fault> {
    let current = request.CurrentLocation().read()?;
    let count = request.StackCount().read()?;
    if current <= 1 {
        stop(Rule::BugCheck, format_args!("the IRP has no more stack locations (bug check 0x35)"));
    }
    if current > count.saturating_add(1) || request.CurrentStackLocation().read()? != place_of(request, current) {
        let what = format_args!("CurrentLocation is {current}, but the IRP has {count} stack locations");
        let pointer = format_args!("CurrentStackLocation is not stack location {current} of the IRP");
        stop(Rule::RequestMisuse, if current > count.saturating_add(1) { what } else { pointer });
    }
    if let Some(Request { location, .. }) = find(request) {
        // A driver may skip its location, and the driver that allocated the IRP may reserve one for itself.
        let skipped = current == location.saturating_add(1);
        let reserved = location > count && current == count;
        if current != location && !skipped && !reserved {
            let what = format_args!("sends the IRP from stack location {current}, but the driver has {location}");
            verify::find(Rule::RequestMisuse, what);
        }
    }
    Ok(current)
}

/// Checks the stack location of an IRP that a driver completes, and corrects it.
pub(super) fn check_location(request: Packet, location: u8) -> Result<(), Fault> {
    let current = request.CurrentLocation().read()?;
    let count = request.StackCount().read()?;
    if current > count.saturating_add(1) {
        let what =
            format_args!("CurrentLocation is {current}, but the IRP has {count} stack locations (bug check 0x44)");
        stop(Rule::BugCheck, what);
    }
    // The driver that allocated the IRP may reserve a location for itself (`IoSetNextIrpStackLocation`).
    let location = if location > count && current == count { current } else { location };
    if current != location {
        let skipped = "completes the request after IoSkipCurrentIrpStackLocation without sending it";
        if current == location.saturating_add(1) {
            verify::find(Rule::RequestMisuse, format_args!("{skipped}"));
        } else {
            let what = format_args!("completes the request at stack location {current}, but the driver has {location}");
            verify::find(Rule::RequestMisuse, what);
        }
    } else if request.CurrentStackLocation().read()? != place_of(request, location) {
        let what = format_args!("CurrentStackLocation is not stack location {location} of the IRP");
        verify::find(Rule::RequestMisuse, what);
    }
    move_to(request, location, place_of(request, location))
}

/// Checks an IRP after its last completion routine, when the I/O manager uses its members. Frees the MDLs that drivers
/// added to it.
pub(super) fn check_completed(request: Packet, buffers: &Buffers) -> Result<(), Fault> {
    let block = request.IoStatus().read()?;
    let status = block.Status;
    let information = block.Information;
    if let Some(limit) = buffers.limit.filter(|limit| information > *limit && is_used(status, buffers.copied)) {
        let what = format_args!("completes the request with {information} bytes, but its buffer has {limit}");
        verify::find(Rule::RequestMisuse, what);
    }
    let system = request.SystemBuffer().read()?;
    if system != buffers.system && !buffers.system.is_null() {
        let what = format_args!("completes the request with the system buffer {system:#x}, which is not its own");
        verify::find(Rule::RequestMisuse, what);
    }
    check_lists(request.MdlAddress().read()?, buffers.mdl)
}

/// Returns whether the I/O manager uses `Information` as the number of bytes. It copies that many bytes with a warning,
/// too. If it copies nothing, a warning may return the size that the request needs.
const fn is_used(status: NtStatus, copied: bool) -> bool {
    if copied { !status.is_error() } else { status.as_int() >> 30 == 0 }
}

/// Checks the MDLs of an IRP. The I/O manager frees those that a driver made for the IRP.
fn check_lists(first: GuestPtr<MDL>, own: GuestPtr<MDL>) -> Result<(), Fault> {
    let mut list = first;
    let mut has_own = own.is_null();
    for _ in 0..MAX_LISTS {
        if list.is_null() {
            break;
        }
        if list == own {
            has_own = true;
            list = own.Next().read()?;
            continue;
        }
        if !lock(&kernel().pool).is_allocated(list.address(), TAG) {
            let what = format_args!(
                "MdlAddress is {list:#x}, which is neither the MDL of the request nor one of IoAllocateMdl"
            );
            verify::find(Rule::RequestMisuse, what);
            return Ok(());
        }
        let next = list.Next().read()?;
        pool::free(list.address(), None);
        list = next;
    }
    if !has_own {
        verify::find(Rule::RequestMisuse, format_args!("completes a request without its MDL"));
    }
    Ok(())
}
