//! The requests of clients to devices that handle IRPs: their buffers, the sending, and the result.

use etw_types::NtStatus;
use nt_processor::layout::{DEVICE_OBJECT, FILE_OBJECT, IRP, MDL};
use nt_processor::memory::{Code, Fault, GuestPtr};
use nt_verifier::exception::changing;
use nt_verifier::routine::{Outcome, fail};
use nt_verifier::verify::Rule;
use windows_constants::device::{DO_BUFFERED_IO, DO_DIRECT_IO};

use super::client::{self, Completion, Mode, Packet, Submission};
use crate::io::device::stack;
use crate::io::request::{call_driver, dispatch_routine};
use crate::io::{device, mdl};
use crate::pool::{together, unwritten};
use crate::{Answer, IoRequest, Kernel, RequestKind, kernel, lock};

type Object = GuestPtr<DEVICE_OBJECT>;

/// A request that was sent.
#[derive(Debug)]
pub struct Sent {
    packet: Packet,
    buffers: Buffers,
    room: u32,
}

impl Sent {
    /// Returns the IRP that carries the request.
    pub const fn packet(&self) -> Packet {
        self.packet
    }

    /// Cancels the request, as a client does.
    pub fn cancel(&self) -> Result<(), Fault> {
        self.packet.cancel()
    }
}

/// Sends a request to a device through an open file.
pub fn begin(device: Object, file: GuestPtr<FILE_OBJECT>, requested: &IoRequest, mode: Mode) -> Outcome<Sent> {
    if !device::is_in_memory(device) {
        return fail(NtStatus::NoSuchDevice);
    }
    let top = stack::top(device)?;
    let routine = dispatch_routine(top, requested.kind.as_int())?;
    begin_with(top, file, (requested, mode), routine, |irp| call_driver(top, irp))
}

/// Creates a request for a device and calls `deliver`, which must pass it to `routine`.
pub fn begin_with(
    device: Object,
    file: GuestPtr<FILE_OBJECT>,
    (requested, mode): (&IoRequest, Mode),
    routine: GuestPtr<Code>,
    deliver: impl FnOnce(GuestPtr<IRP>) -> Result<NtStatus, Fault>,
) -> Outcome<Sent> {
    let control = requested.kind.has_code();
    let method = if control { requested.code & 3 } else { transfer_method(device)? };
    let room = if control { requested.room() } else { requested.output.max(requested.input.len() as u32) };
    let input = if control || method == 0 { requested.input.as_slice() } else { &[] };
    // Programs cannot send internal requests.
    let mode = if requested.kind == RequestKind::INTERNAL_DEVICE_CONTROL { Mode::Kernel } else { mode };
    let buffers = Buffers::new(method, mode, input, room)?;
    if method != 0 {
        let data = if control { &requested.output_data } else { &requested.input };
        buffers.output.write_all(data)?;
    }
    let neither = control && method == 3;
    let parameters = if control {
        let type3 = if neither { buffers.system.address() } else { 0 };
        [room.into(), requested.input.len() as u64, requested.code.into(), type3]
    } else {
        [room.into(), 0, 0, 0]
    };
    let submission = Submission {
        major: requested.kind.as_int(),
        mode,
        parameters,
        system_buffer: if neither { GuestPtr::NULL } else { buffers.system },
        user_buffer: buffers.user,
        mdl: buffers.mdl,
        file,
        ..Submission::default()
    };
    if neither {
        changing::watch(buffers.system, requested.input.len() as u64);
    }
    let packet = client::begin_with(device, &submission, routine, deliver)?;
    let room = if requested.kind == RequestKind::WRITE { 0 } else { room };
    Ok(Sent { packet, buffers, room })
}

/// Returns the `METHOD_…` with which reads and writes of a device pass their data.
fn transfer_method(device: Object) -> Result<u32, Fault> {
    Ok(match device.Flags().read()? {
        flags if flags & DO_BUFFERED_IO != 0 => 0,
        flags if flags & DO_DIRECT_IO != 0 => 2,
        _ => 3,
    })
}

/// Waits until a request is completed, and frees its buffers.
pub fn finish(sent: Sent) -> Result<Answer, Fault> {
    let Sent { packet, buffers, room } = sent;
    let answer = buffers.answer(client::wait(packet)?, room)?;
    together(|| {
        client::free(packet);
        buffers.free();
    });
    // The client gets what an earlier owner of the memory left there.
    if let Some(length) = unwritten(&answer.output).filter(|_| buffers.is_unwritten) {
        let what = format_args!("returns {length} bytes of memory to the client that the driver has not initialized");
        packet.find(Rule::RequestMisuse, what);
    }
    Ok(answer)
}

/// The buffers of a request, as its transfer method requires them.
#[derive(Debug, Default)]
struct Buffers {
    system: GuestPtr<u8>,
    user: GuestPtr<u8>,
    mdl: GuestPtr<MDL>,
    /// The output buffer; the same as `system` if the method is buffered.
    output: GuestPtr<u8>,
    /// Whether the output buffer is memory of the kernel whose contents nobody has written yet.
    is_unwritten: bool,
}

impl Buffers {
    /// Allocates the buffers. `method` is `METHOD_BUFFERED` (0), `METHOD_IN_DIRECT` (1), `METHOD_OUT_DIRECT` (2) or
    /// `METHOD_NEITHER` (3). `mode` is that of the client.
    fn new(method: u32, mode: Mode, input: &[u8], output: u32) -> Outcome<Self> {
        let mut buffers = Self::default();
        let is_client = method == 3 && mode == Mode::User;
        let allocated = buffers.allocate(method, is_client, input, output);
        if allocated.is_err() {
            buffers.free();
        }
        allocated.map(|()| buffers)
    }

    /// Allocates the buffers, which are the client's own memory if `is_client` is set.
    fn allocate(&mut self, method: u32, is_client: bool, input: &[u8], output: u32) -> Outcome {
        let Kernel { pool, .. } = kernel();
        let both = (input.len() as u64).max(if method == 0 { output.into() } else { 0 });
        if both != 0 {
            let mut pool = lock(pool);
            self.system = if is_client { pool.try_new_client_buffer(both) } else { pool.try_new_buffer(both) }?;
            drop(pool);
            self.system.write_all(input)?;
            self.is_unwritten = method == 0 && unwritten(input).is_none();
        }
        self.output = self.system;
        if method != 0 && output != 0 {
            let mut pool = lock(pool);
            let length = output.into();
            self.output = if is_client { pool.try_new_client_buffer(length) } else { pool.try_new_objects(length) }?;
            self.user = self.output;
        }
        if matches!(method, 1 | 2) && output != 0 {
            self.mdl = mdl::describe(self.output, output)?;
        }
        Ok(())
    }

    fn free(&self) {
        let mut pool = lock(&kernel().pool);
        let second = if self.output == self.system { 0 } else { self.output.address() };
        for address in [self.system.address(), second, self.mdl.address()].into_iter().filter(|address| *address != 0) {
            pool.free_object(address);
        }
    }

    fn answer(&self, Completion { status, information, reached }: Completion, room: u32) -> Result<Answer, Fault> {
        let length = if status.is_error() || self.output.is_null() { 0 } else { information.min(room.into()) };
        let output = self.output.array(length).read()?;
        Ok(Answer { status, information, output, reached })
    }
}
