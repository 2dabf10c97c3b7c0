//! The sender of IRPs: creates a request, sends it to the top of a device stack, and waits until it is completed.

use etw_types::NtStatus;
use nt_processor::cpu::thread;
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT, IO_STACK_LOCATION, IRP, MDL};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::routine::Outcome;
use nt_verifier::verify::{self, At, Breach, Rule, Wdm};
use windows_constants::request::{IRP_MJ_PNP, IRP_MJ_POWER, IRP_MJ_SYSTEM_CONTROL, SL_PENDING_RETURNED};

use super::contract::Buffers;
use super::history::History;
use super::{activity, irp};
use crate::config::Config;
use crate::io::device;
use crate::io::request::{DISPATCH_ROUTINE, Request, call_driver, cancel, dispatch_routine};
use crate::sync::process;
use crate::sync::scheduler::Scheduler;
use crate::{IoRequest, Kernel, kernel, lock};

/// The mode of a request's sender (`KPROCESSOR_MODE`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The kernel or a driver.
    #[default]
    Kernel,
    /// A program.
    User,
}

/// The contents of a request.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    /// The major function.
    pub major: u8,
    /// The minor function.
    pub minor: u8,
    /// Who sends it.
    pub mode: Mode,
    /// `Parameters` of the stack location.
    pub parameters: [u64; 4],
    /// `AssociatedIrp.SystemBuffer`.
    pub system_buffer: GuestPtr<u8>,
    /// `UserBuffer`.
    pub user_buffer: GuestPtr<u8>,
    /// `MdlAddress`.
    pub mdl: GuestPtr<MDL>,
    /// The open file; NULL for none.
    pub file: GuestPtr<FILE_OBJECT>,
    /// `IoStatus.Information` before the request is sent.
    pub information: u64,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// `IoStatus.Status`.
    pub status: NtStatus,
    /// `IoStatus.Information`.
    pub information: u64,
    /// Whether the driver received the request.
    pub reached: bool,
}

/// A request that was sent to a driver.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    request: GuestPtr<IRP>,
    /// The first stack location of the IRP.
    first: GuestPtr<IO_STACK_LOCATION>,
    /// The routine that received the IRP.
    routine: GuestPtr<Code>,
    /// The status that the routine returned.
    status: NtStatus,
    /// Whether the request was already completed then.
    was_done: bool,
}

/// Sends a request to a device and waits until it is completed.
pub fn send(device: GuestPtr<DEVICE_OBJECT>, submission: &Submission) -> Result<Completion, Fault> {
    finish(begin(device, submission)?)
}

/// Sends a request without data, and returns its status.
pub(in crate::io) fn send_for_status(
    device: GuestPtr<DEVICE_OBJECT>,
    major: u8,
    minor: u8,
    parameters: [u64; 4],
) -> Outcome {
    let submission = Submission { major, minor, parameters, ..Submission::default() };
    Ok(device::hold(device, || send(device, &submission))?.status.ok()?)
}

/// Returns a plug-and-play request without parameters.
pub(in crate::io) fn minor(minor: u8) -> Submission {
    Submission { major: IRP_MJ_PNP, minor, ..Submission::default() }
}

/// Sends a plug-and-play request that the driver cannot refuse.
pub(in crate::io) fn announce(device: GuestPtr<DEVICE_OBJECT>, minor: u8) -> Result<(), Fault> {
    let submission = self::minor(minor);
    device::hold(device, || send(device, &submission)).map(drop)
}

/// Sends a request to a device.
pub fn begin(device: GuestPtr<DEVICE_OBJECT>, submission: &Submission) -> Result<Packet, Fault> {
    let routine = dispatch_routine(device, submission.major)?;
    begin_with(device, submission, routine, |request| call_driver(device, request))
}

/// Creates a request for a device and calls `deliver`, which must pass it to `routine`.
pub fn begin_with(
    device: GuestPtr<DEVICE_OBJECT>,
    submission: &Submission,
    routine: GuestPtr<Code>,
    deliver: impl FnOnce(GuestPtr<IRP>) -> Result<NtStatus, Fault>,
) -> Result<Packet, Fault> {
    let (request, first) = create(device, submission)?;
    let status = deliver(request)?;
    Ok(Packet { request, first, routine, status, was_done: is_done(request) })
}

/// Returns the IRP of a request and its first stack location.
fn create(
    device: GuestPtr<DEVICE_OBJECT>,
    submission: &Submission,
) -> Result<(GuestPtr<IRP>, GuestPtr<IO_STACK_LOCATION>), Fault> {
    let stack = device.StackSize().read()?;
    let request = irp::new(stack.max(1), 0)?.unwrap_or_default();
    let is_power = matches!(submission.major, IRP_MJ_PNP | IRP_MJ_POWER);
    let untouched = if is_power { NtStatus::NotSupported } else { NtStatus::Success };
    request.IoStatus().Status().write(untouched)?;
    request.IoStatus().Information().write(submission.information)?;
    request.RequestorMode().write(submission.mode as u8)?;
    request.SystemBuffer().write(submission.system_buffer)?;
    request.UserBuffer().write(submission.user_buffer)?;
    request.MdlAddress().write(submission.mdl)?;
    let first = request.next_location()?;
    first.MajorFunction().write(submission.major)?;
    first.MinorFunction().write(submission.minor)?;
    first.Parameters().write(submission.parameters)?;
    first.FileObject().write(submission.file)?;
    request.OriginalFileObject().write(submission.file)?;
    request.Thread().write(thread::object())?;
    activity::begin(request);
    let Submission { major, parameters, system_buffer, mdl, .. } = *submission;
    let buffers = Some(Buffers::new(major, parameters, system_buffer, mdl));
    lock(&kernel().io).track(
        request,
        stack.max(1),
        Request { buffers, process: process::current_id(), ..Request::default() },
    );
    Ok((request, first))
}

/// Creates an IRP that only describes a request of the framework. It has one stack location, which is the current one,
/// and it is not registered, so a driver cannot send or complete it.
pub fn describe(requested: &IoRequest, buffers: [u64; 2], lengths: [u64; 2]) -> Result<GuestPtr<IRP>, Fault> {
    let irp = irp::new(1, 0)?.unwrap_or_default();
    let place = irp.next_location()?;
    irp.CurrentLocation().write(1)?;
    irp.CurrentStackLocation().write(place)?;
    activity::begin(irp);
    // The client is a user-mode program.
    irp.RequestorMode().write(1)?;
    irp.Thread().write(thread::object())?;
    let [input, output] = buffers;
    let [in_length, out_length] = lengths;
    irp.SystemBuffer().write(GuestPtr::new(if input == 0 { output } else { input }))?;
    irp.UserBuffer().write(GuestPtr::new(output))?;
    place.MajorFunction().write(requested.kind.as_int())?;
    let control = [out_length, in_length, requested.code.into(), input];
    place.Parameters().write(if requested.kind.has_code() { control } else { [in_length.max(out_length), 0, 0, 0] })?;
    Ok(irp)
}

fn is_done(request: GuestPtr<IRP>) -> bool {
    lock(&kernel().io).requests.get(&request).is_none_or(|request| request.completed)
}

impl Packet {
    /// Returns the IRP.
    pub const fn request(self) -> GuestPtr<IRP> {
        self.request
    }

    /// Cancels the request for its client, unless it is completed.
    pub fn cancel(self) -> Result<(), Fault> {
        if is_done(self.request) { Ok(()) } else { cancel(self.request).map(drop) }
    }

    pub(super) fn find(self, breach: impl Into<Breach>, what: std::fmt::Arguments<'_>) {
        verify::find_at(breach, Some(DISPATCH_ROUTINE), At::Code(self.routine.address()), what);
    }
}

/// Waits until a request is completed, checks the driver's return value against the result, and frees the IRP.
pub fn finish(packet: Packet) -> Result<Completion, Fault> {
    let completion = wait(packet)?;
    free(packet);
    Ok(completion)
}

/// Waits until a request is completed, and checks the driver's return value against the result.
pub(super) fn wait(packet: Packet) -> Result<Completion, Fault> {
    let Kernel { config, io, scheduler, .. } = kernel();
    let Packet { request, first, status, was_done, .. } = packet;
    let code = status.as_int();
    if !is_done(request) {
        if status == NtStatus::Pending {
            wait_for(config, scheduler, packet)?;
        } else {
            let names = never_names(first.MajorFunction().read()?, status);
            let breach = Breach::from(Rule::RequestNever).named_all(names);
            packet.find(breach, format_args!("returned {code:#010X} without completing the request"));
        }
    }
    let block = request.IoStatus().read()?;
    let known = lock(io).requests.get(&request).copied().unwrap_or_default();
    let (reached, History { returned, .. }) = (known.reached, known.history);
    let completion = Completion { status: block.Status, information: block.Information, reached };
    let marked = known.is_marked || first.Control().read()? & SL_PENDING_RETURNED != 0;
    let done = is_done(request);
    if status != NtStatus::Pending && !marked && done && status != completion.status {
        let completed = completion.status.as_int();
        let is_lowers = returned.is_some_and(|returned| returned != status);
        let names: &[Wdm] = if is_lowers { &[Wdm::LowerDriverReturn] } else { &[] };
        packet.find(
            Breach::from(Rule::RequestMisuse).named_all(names),
            format_args!("returned {code:#010X}, but the request was completed with {completed:#010X}"),
        );
    }
    if status != NtStatus::Pending && marked && done {
        let what = format_args!("calls IoMarkIrpPending, but returned {code:#010X}");
        packet.find(Rule::RequestMisuse.named(Wdm::MarkIrpPending), what);
    }
    if done && status == NtStatus::Pending && !marked {
        let what = format_args!("returned STATUS_PENDING without calling IoMarkIrpPending");
        let breach = Rule::RequestMisuse.named(Wdm::MarkIrpPending2);
        packet.find(if was_done { breach.named(Wdm::PendedCompletedRequest) } else { breach }, what);
    }
    Ok(completion)
}

/// Frees an IRP, unless the driver has not completed it.
pub(super) fn free(Packet { request, .. }: Packet) {
    if is_done(request) {
        // Its memory is valid while it is listed.
        lock(&kernel().io).requests.remove(&request);
        lock(&kernel().pool).free_object(request.address());
        activity::end(request);
    }
}

/// Returns Microsoft's rules about a request that is not completed, although the dispatch routine returned a status.
fn never_names(major: u8, status: NtStatus) -> &'static [Wdm] {
    match (major, status.is_success()) {
        (IRP_MJ_SYSTEM_CONTROL, true) => {
            &[Wdm::CompleteRequest, Wdm::IrpProcessingComplete, Wdm::WmiComplete, Wdm::WmiForward]
        }
        (IRP_MJ_SYSTEM_CONTROL, false) => &[Wdm::CompleteRequest, Wdm::WmiComplete, Wdm::WmiForward],
        (_, true) => &[Wdm::CompleteRequest, Wdm::IrpProcessingComplete],
        (_, false) => &[Wdm::CompleteRequest],
    }
}

/// Waits for a pending request. Cancels it after the time that the configuration says, and gives up some time after
/// that.
fn wait_for(config: &Config, scheduler: &Scheduler, packet: Packet) -> Result<(), Fault> {
    for patience in [config.cancel_after(), config.give_up_after()] {
        let deadline = scheduler.now().saturating_add(patience);
        if scheduler.wait(Some(deadline), |_| is_done(packet.request).then_some(())).is_some() {
            return Ok(());
        }
        cancel(packet.request)?;
    }
    if !is_done(packet.request) {
        packet.find(Rule::RequestNever, format_args!("does not complete a request, even after it was canceled"));
    }
    Ok(())
}
