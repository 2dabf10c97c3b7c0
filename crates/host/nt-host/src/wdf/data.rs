//! What the kinds of objects have of their own.

use super::Handle;
use super::attributes::Attributes;
use super::device::Device;
use super::driver::Driver;
use super::file::File;
use super::init::Init;
use super::queue::Queue;
use super::request::Request;
use super::timer::Timer;

/// What kind an object is, and what it has.
pub(super) enum Data {
    General,
    Driver(Driver),
    Init(Box<Init>),
    Device(Box<Device>),
    Queue(Box<Queue>),
    Request(Box<Request>),
    File(File),
    Timer(Timer),
    /// Callback of a work item or DPC, and whether it runs under its parent's lock.
    Work {
        callback: u64,
        serialized: bool,
    },
    /// Address of the lock, and the IRQL before it was taken.
    SpinLock {
        address: u64,
        old_irql: u8,
    },
    /// The thread that holds it.
    WaitLock {
        owner: u32,
    },
    /// Address, size, and whether the memory is the object's own.
    Memory {
        address: u64,
        size: u64,
        owned: bool,
    },
    /// Size of its buffers, and attributes of the memory objects.
    Lookaside {
        size: u64,
        memory: Attributes,
    },
    String {
        address: u64,
        length: u16,
    },
    Collection(Vec<Handle>),
    Key {
        handle: u64,
    },
}

impl Data {
    /// The kind, for reports.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::General => "general object",
            Self::Driver(_) => "driver",
            Self::Init(_) => "device initialisation",
            Self::Device(_) => "device",
            Self::Queue(_) => "queue",
            Self::Request(_) => "request",
            Self::File(_) => "file object",
            Self::Timer(_) => "timer",
            Self::Work { .. } => "work item",
            Self::SpinLock { .. } => "spin lock",
            Self::WaitLock { .. } => "wait lock",
            Self::Memory { .. } => "memory",
            Self::Lookaside { .. } => "lookaside list",
            Self::String { .. } => "string",
            Self::Collection(_) => "collection",
            Self::Key { .. } => "key",
        }
    }
}
