//! The buffers of a client's request, and what a driver may not do with them once the request is completed.
//!
//! The I/O manager frees or unlocks a request's buffers when the request is completed. Here their pages become
//! inaccessible, so an access faults and the finding names Microsoft's rule.

use nt_kernel::{Kernel, RequestKind, kernel};
use nt_processor::cpu::thread;
use nt_processor::layout::MDL;
use nt_processor::memory::{GuestPtr, GuestSlice};
use nt_verifier::routine::Outcome;
use nt_verifier::verify::{self, At, Breach, Kmdf, Rule};

use crate::state::Past;
use crate::{Handle, state};

/// Input and output of a client. If the method is buffered, both are in one buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffers {
    pub(crate) input: GuestSlice<u8>,
    pub(crate) output: GuestSlice<u8>,
}

/// Where the buffers of a client are, when the driver gets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Location {
    /// In one buffer of the system.
    Shared,
    /// Mapped, or in a buffer of the system, each for itself.
    Apart,
    /// In the client's own memory.
    Client,
}

impl Location {
    /// Returns where the buffers of a request are.
    pub(crate) const fn of_request(kind: RequestKind, code: u32) -> Self {
        match code & 3 {
            0 if kind.has_code() => Self::Shared,
            // Programs cannot send internal requests.
            3 if kind.as_int() == RequestKind::DEVICE_CONTROL.as_int() => Self::Client,
            _ => Self::Apart,
        }
    }
}

impl Buffers {
    /// Allocates the buffers of a client.
    pub(crate) fn new(input: &[u8], output: u32, location: Location) -> Outcome<Self> {
        let Kernel { pool, .. } = kernel();
        let input_size = input.len() as u64;
        let output_size = u64::from(output);
        let buffered = location == Location::Shared;
        let size = if buffered { input_size.max(output_size) } else { input_size };
        let new = |size: u64| match (size, location) {
            (0, _) => Ok(GuestPtr::NULL),
            (_, Location::Client) => nt_kernel::lock(pool).try_new_client_buffer(size),
            _ => nt_kernel::lock(pool).try_new_objects(size),
        };
        let first: GuestPtr<u8> = new(size)?;
        let second = if buffered || output_size == 0 {
            first
        } else {
            new(output_size).inspect_err(|_| free(first.address(), BufferForm::Buffer, RequestKind::default()))?
        };
        first.write_all(input)?;
        Ok(Self { input: first.array(input_size), output: second.array(output_size) })
    }

    /// Frees the buffers of a request of this kind.
    pub(crate) fn free(self, kind: RequestKind) {
        let [first, second] = [self.input, self.output].map(|buffer| buffer.start().address());
        free(first, BufferForm::Buffer, kind);
        if second != first {
            free(second, BufferForm::Buffer, kind);
        }
    }
}

/// Frees a buffer of a request of this kind, unless the address is NULL.
fn free(address: u64, form: BufferForm, kind: RequestKind) {
    let what =
        if form == BufferForm::List { "the MDL of a completed request" } else { "a buffer of a completed request" };
    if address != 0 {
        nt_kernel::lock(&kernel().pool).free_object_as(address, (form.breach(Rule::UseAfterFree, kind, 1), what));
    }
}

/// Frees the MDL for a buffer of a request of this kind.
pub(crate) fn free_list(list: GuestPtr<MDL>, kind: RequestKind) {
    free(list.address(), BufferForm::List, kind);
}

/// The form in which a driver gets a buffer of a request: each becomes invalid when the request is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BufferForm {
    Buffer,
    Memory,
    List,
}

impl BufferForm {
    /// Returns Microsoft's rules about the form: one for the function that retrieves it from a completed request, and one
    /// for everything else that uses it.
    const fn rules(self, kind: RequestKind) -> Option<[Kmdf; 2]> {
        Some(match (self, kind) {
            (Self::Buffer, RequestKind::READ) => [Kmdf::BufAfterReqCompletedRead, Kmdf::BufAfterReqCompletedReadA],
            (Self::Buffer, RequestKind::WRITE) => [Kmdf::BufAfterReqCompletedWrite, Kmdf::BufAfterReqCompletedWriteA],
            (Self::Buffer, RequestKind::DEVICE_CONTROL) => {
                [Kmdf::BufAfterReqCompletedIoctl, Kmdf::BufAfterReqCompletedIoctlA]
            }
            (Self::Buffer, RequestKind::INTERNAL_DEVICE_CONTROL) => {
                [Kmdf::BufAfterReqCompletedIntIoctl, Kmdf::BufAfterReqCompletedIntIoctlA]
            }
            (Self::Memory, RequestKind::READ) => [Kmdf::MemAfterReqCompletedRead, Kmdf::MemAfterReqCompletedReadA],
            (Self::Memory, RequestKind::WRITE) => [Kmdf::MemAfterReqCompletedWrite, Kmdf::MemAfterReqCompletedWriteA],
            (Self::Memory, RequestKind::DEVICE_CONTROL) => {
                [Kmdf::MemAfterReqCompletedIoctl, Kmdf::MemAfterReqCompletedIoctlA]
            }
            (Self::Memory, RequestKind::INTERNAL_DEVICE_CONTROL) => {
                [Kmdf::MemAfterReqCompletedIntIoctl, Kmdf::MemAfterReqCompletedIntIoctlA]
            }
            (Self::List, RequestKind::READ) => [Kmdf::MdlAfterReqCompletedRead, Kmdf::MdlAfterReqCompletedReadA],
            (Self::List, RequestKind::WRITE) => [Kmdf::MdlAfterReqCompletedWrite, Kmdf::MdlAfterReqCompletedWriteA],
            (Self::List, RequestKind::DEVICE_CONTROL) => {
                [Kmdf::MdlAfterReqCompletedIoctl, Kmdf::MdlAfterReqCompletedIoctlA]
            }
            (Self::List, RequestKind::INTERNAL_DEVICE_CONTROL) => {
                [Kmdf::MdlAfterReqCompletedIntIoctl, Kmdf::MdlAfterReqCompletedIntIoctlA]
            }
            _ => return None,
        })
    }

    /// Returns the breach of a driver that retrieves the form from a completed request.
    pub(crate) fn retrieved_late(self, kind: RequestKind) -> Breach {
        self.breach(Rule::FrameworkMisuse, kind, 0)
    }

    fn breach(self, rule: Rule, kind: RequestKind, index: usize) -> Breach {
        let name = self.rules(kind).and_then(|rules| rules.get(index).copied());
        name.map_or(rule.into(), |name| rule.named(name))
    }
}

/// Stops the machine if a handle is that of a memory object of a completed request. Returns otherwise.
pub(crate) fn check_memory(handle: Handle) {
    if let Some(Past::Memory(kind)) = state::with(|framework| framework.past_of(handle)) {
        let site = thread::site();
        verify::stop(
            BufferForm::Memory.breach(Rule::FrameworkMisuse, kind, 1),
            site.map(|site| site.routine),
            At::Call(site.map_or(0, |site| site.from)),
            format_args!("bug check 0x10D: {handle:#x} is the memory object of a completed request"),
        );
    }
}
