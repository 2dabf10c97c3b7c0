//! The requests of clients, which the class driver turns into requests to the minidriver.

use std::sync::Arc;

use etw_types::NtStatus;
use nt_kernel::io::mdl;
use nt_kernel::io::request::client::{self as sender, Completion};
use nt_kernel::io::request::{self, complete_with};
use nt_kernel::{RequestKind, kernel, lock};
use nt_processor::layout::{HID_COLLECTION_INFORMATION, HID_XFER_PACKET, IRP};
use nt_processor::memory::{Fault, GuestPtr, GuestSlice, OrStop as _};
use nt_verifier::routine::Outcome;
use nt_verifier::verify::{self, At, GapKind, Rule, gap};
use windows_constants::hid::{
    HID_STRING_ID_IMANUFACTURER, HID_STRING_ID_IPRODUCT, HID_STRING_ID_ISERIALNUMBER, IOCTL_HID_FLUSH_QUEUE,
    IOCTL_HID_GET_COLLECTION_INFORMATION, IOCTL_HID_GET_FEATURE, IOCTL_HID_GET_INDEXED_STRING,
    IOCTL_HID_GET_INPUT_REPORT, IOCTL_HID_GET_MANUFACTURER_STRING, IOCTL_HID_GET_PRODUCT_STRING,
    IOCTL_HID_GET_SERIALNUMBER_STRING, IOCTL_HID_GET_STRING, IOCTL_HID_READ_REPORT, IOCTL_HID_SET_FEATURE,
    IOCTL_HID_SET_OUTPUT_REPORT, IOCTL_HID_WRITE_REPORT,
};
use windows_constants::request::SL_PENDING_RETURNED;

use super::code;
use super::minidriver::{self, Control};
use super::report::Kind;
use super::state::{Description, Object, state};

/// The language of strings, English (United States), in the upper half of the argument.
const LANGUAGE: u64 = 0x0409 << 16;

/// What becomes of a client's request: its status and `IoStatus.Information`.
type End = Result<(NtStatus, u64), Fault>;

fn description(device: Object) -> Outcome<Arc<Description>> {
    let known = state().devices.get(&device).and_then(|device| device.description.clone());
    known.ok_or(NtStatus::DeviceNotReady.into())
}

/// Sends a request to the minidriver for a client's IRP, which is pending until `end` has its result.
fn pass(
    device: Object,
    irp: GuestPtr<IRP>,
    control: Control,
    end: impl FnOnce(Completion) -> End + Send + 'static,
) -> Outcome<NtStatus> {
    let place = irp.CurrentStackLocation().read()?;
    place.Control().change(|control| control | SL_PENDING_RETURNED)?;
    let finish = move |completion: Completion| -> Result<(), Fault> {
        let (status, information) = end(completion)?;
        request::not_cancelable(irp);
        complete_with(irp, status, information).map(drop)
    };
    let Some(packet) = minidriver::begin(device, control)? else {
        finish(Completion { status: NtStatus::InvalidDeviceRequest, ..Completion::default() })?;
        return Ok(NtStatus::Pending);
    };
    request::when_canceled(irp, move || packet.cancel().or_stop());
    if irp.Cancel().read()? != 0 {
        packet.cancel()?;
    }
    request::then(packet.request(), move || sender::finish(packet).and_then(finish).or_stop());
    Ok(NtStatus::Pending)
}

/// Completes a client's IRP that does not concern the minidriver.
fn refuse(irp: GuestPtr<IRP>, status: NtStatus) -> Outcome<NtStatus> {
    Ok(complete_with(irp, status, 0)?)
}

/// Memory of the class driver, which is freed when this value is dropped.
struct Memory(GuestSlice<u8>);

impl Memory {
    fn new(size: u64) -> Outcome<Self> {
        Ok(Self(lock(&kernel().pool).try_new_objects(size)?.array(size)))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        lock(&kernel().pool).free_object(self.0.start().address());
    }
}

/// Returns what the minidriver has transferred. Reports a number of bytes that is larger than the buffer.
fn transferred(device: Object, code: u32, memory: &Memory, completion: Completion) -> Result<Vec<u8>, Fault> {
    let count = completion.information;
    let room = memory.0.len();
    if completion.status.is_success() && count > room {
        find(device, code, format_args!("completes the request with {count} bytes, but its buffer has {room}"));
    }
    memory.0.take(if completion.status.is_success() { count } else { 0 }).read()
}

fn find(device: Object, code: u32, what: std::fmt::Arguments<'_>) {
    let routine = minidriver::routine(device, RequestKind::INTERNAL_DEVICE_CONTROL.as_int());
    let at = At::Code(routine.map_or(0, GuestPtr::address));
    verify::find_at(Rule::RequestMisuse, Some(code::name(code)), at, what);
}

/// `IRP_MJ_READ`: an input report.
pub(super) fn read(device: Object, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
    let description = description(device)?;
    let [room, ..] = irp.CurrentStackLocation().read()?.Parameters().read()?;
    let Some(longest) = description.reports.longest(Kind::Input) else {
        return refuse(irp, NtStatus::InvalidDeviceRequest);
    };
    // Without report IDs, clients get a zero first.
    let prefix: &[u8] = if description.reports.has_ids { &[] } else { &[0] };
    if u64::from(room as u32) < u64::from(longest) + prefix.len() as u64 {
        return refuse(irp, NtStatus::InvalidBufferSize);
    }
    let memory = Memory::new(longest.into())?;
    let control =
        Control { code: IOCTL_HID_READ_REPORT, output: longest, buffer: memory.0.start(), ..Control::default() };
    pass(device, irp, control, move |completion| {
        let report = transferred(device, IOCTL_HID_READ_REPORT, &memory, completion)?;
        if !completion.status.is_success() {
            return Ok((completion.status, 0));
        }
        if let Some(mistake) = description.reports.mistake(&report) {
            find(device, IOCTL_HID_READ_REPORT, format_args!("completes the request with {mistake}"));
            return Ok((NtStatus::Unsuccessful, 0));
        }
        let all = [prefix, &report].concat();
        irp.SystemBuffer().read()?.write_all(&all)?;
        Ok((completion.status, all.len() as u64))
    })
}

/// `IRP_MJ_WRITE`: an output report.
pub(super) fn write(device: Object, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
    let [length, ..] = irp.CurrentStackLocation().read()?.Parameters().read()?;
    let report = irp.SystemBuffer().read()?.array(u64::from(length as u32)).read()?;
    send(device, irp, (IOCTL_HID_WRITE_REPORT, Kind::Output), &report, u64::from(length as u32))
}

/// A control request.
pub(super) fn control(device: Object, irp: GuestPtr<IRP>) -> Outcome<NtStatus> {
    let [output, input, code, _] = irp.CurrentStackLocation().read()?.Parameters().read()?;
    let output = output as u32;
    let input = input as u32;
    let code = code as u32;
    let given = || irp.SystemBuffer().read()?.array(input.into()).read();
    match code {
        IOCTL_HID_GET_FEATURE => fetch(device, irp, (code, Kind::Feature), output),
        IOCTL_HID_GET_INPUT_REPORT => fetch(device, irp, (code, Kind::Input), output),
        IOCTL_HID_SET_FEATURE => send(device, irp, (code, Kind::Feature), &given()?, 0),
        IOCTL_HID_SET_OUTPUT_REPORT => send(device, irp, (code, Kind::Output), &given()?, 0),
        IOCTL_HID_GET_MANUFACTURER_STRING => string(device, irp, HID_STRING_ID_IMANUFACTURER, output),
        IOCTL_HID_GET_PRODUCT_STRING => string(device, irp, HID_STRING_ID_IPRODUCT, output),
        IOCTL_HID_GET_SERIALNUMBER_STRING => string(device, irp, HID_STRING_ID_ISERIALNUMBER, output),
        IOCTL_HID_GET_INDEXED_STRING => {
            let Some(index) = given()?.first_chunk().copied().map(u32::from_le_bytes) else {
                return refuse(irp, NtStatus::InvalidBufferSize);
            };
            let mdl = irp.MdlAddress().read()?;
            let argument = LANGUAGE | u64::from(index as u16);
            let control = Control { code, output, argument, mdl, ..Control::default() };
            pass(device, irp, control, |completion| Ok((completion.status, completion.information)))
        }
        IOCTL_HID_GET_COLLECTION_INFORMATION => collection(device, irp, output),
        // Each read waits for its own report, so nothing is queued.
        IOCTL_HID_FLUSH_QUEUE => refuse(irp, NtStatus::Success),
        _ => {
            let what = format!("nt-host's HID class driver does not model the control code {code:#X}");
            gap::add(GapKind::NotReached, what);
            refuse(irp, NtStatus::NotSupported)
        }
    }
}

/// The memory of a report and of the packet that describes it to the minidriver.
fn packet(report: &[u8], id: u8) -> Outcome<(Memory, Memory)> {
    let data = Memory::new(report.len() as u64)?;
    let packet = Memory::new(size_of::<HID_XFER_PACKET>() as u64)?;
    data.0.write(report)?;
    packet.0.start().cast::<HID_XFER_PACKET>().write(HID_XFER_PACKET {
        reportBuffer: data.0.start(),
        reportBufferLen: report.len() as u32,
        reportId: id,
        Padding: [0; 3],
    })?;
    Ok((data, packet))
}

/// Sends a report to the minidriver. Its first byte is its ID, or 0.
fn send(
    device: Object,
    irp: GuestPtr<IRP>,
    (code, kind): (u32, Kind),
    report: &[u8],
    information: u64,
) -> Outcome<NtStatus> {
    let reports = &description(device)?.reports;
    let id = report.first().copied().unwrap_or_default();
    let Some(length) = reports.length(kind, id) else { return refuse(irp, NtStatus::InvalidParameter) };
    let skipped = usize::from(!reports.has_ids);
    let Some(report) = report.get(skipped..).and_then(|report| report.get(..length as usize)) else {
        return refuse(irp, NtStatus::InvalidBufferSize);
    };
    let (data, packet) = packet(report, id)?;
    let input = packet.0.len() as u32;
    pass(device, irp, Control { code, input, buffer: packet.0.start(), ..Control::default() }, move |completion| {
        drop((data, packet));
        Ok((completion.status, if completion.status.is_success() { information } else { 0 }))
    })
}

/// Gets a report from the minidriver. The client says its ID in the first byte of the output buffer.
fn fetch(device: Object, irp: GuestPtr<IRP>, (code, kind): (u32, Kind), room: u32) -> Outcome<NtStatus> {
    let description = description(device)?;
    let Some(mdl) = irp.MdlAddress().read()?.non_null() else { return refuse(irp, NtStatus::InvalidBufferSize) };
    let place = mdl::start(mdl)?;
    let id = place.read()?;
    let Some(length) = description.reports.length(kind, id) else { return refuse(irp, NtStatus::InvalidParameter) };
    let skipped = u64::from(!description.reports.has_ids);
    if u64::from(room) < u64::from(length) + skipped {
        return refuse(irp, NtStatus::InvalidBufferSize);
    }
    let mut report = vec![0; length as usize];
    if let Some(first) = report.first_mut().filter(|_| description.reports.has_ids) {
        *first = id;
    }
    let (data, packet) = packet(&report, id)?;
    let output = packet.0.len() as u32;
    pass(device, irp, Control { code, output, buffer: packet.0.start(), ..Control::default() }, move |completion| {
        let report = transferred(device, code, &data, completion)?;
        drop(packet);
        if !completion.status.is_success() {
            return Ok((completion.status, 0));
        }
        place.write(id)?;
        place.at(skipped).write_all(&report)?;
        Ok((completion.status, skipped + report.len() as u64))
    })
}

/// Gets one of the three strings that every device may have.
fn string(device: Object, irp: GuestPtr<IRP>, id: u64, room: u32) -> Outcome<NtStatus> {
    let Some(mdl) = irp.MdlAddress().read()?.non_null() else { return refuse(irp, NtStatus::InvalidBufferSize) };
    let memory = Memory::new(room.into())?;
    let place = mdl::start(mdl)?;
    let code = IOCTL_HID_GET_STRING;
    let argument = LANGUAGE | id;
    let control = Control { code, output: room, argument, buffer: memory.0.start(), ..Control::default() };
    pass(device, irp, control, move |completion| {
        let text = transferred(device, code, &memory, completion)?;
        place.write_all(&text)?;
        Ok((completion.status, text.len() as u64))
    })
}

/// `IOCTL_HID_GET_COLLECTION_INFORMATION`. There is no preparsed data, so its size is 0.
fn collection(device: Object, irp: GuestPtr<IRP>, room: u32) -> Outcome<NtStatus> {
    let size = size_of::<HID_COLLECTION_INFORMATION>() as u32;
    if room < size {
        return refuse(irp, NtStatus::InvalidBufferSize);
    }
    let description = description(device)?;
    let is_polled = state().minidriver(device).is_some_and(|minidriver| minidriver.is_polled);
    irp.SystemBuffer().read()?.cast().write(HID_COLLECTION_INFORMATION {
        DescriptorSize: 0,
        Polled: is_polled.into(),
        Reserved1: 0,
        VendorID: description.vendor,
        ProductID: description.product,
        VersionNumber: description.version,
    })?;
    Ok(complete_with(irp, NtStatus::Success, size.into())?)
}
