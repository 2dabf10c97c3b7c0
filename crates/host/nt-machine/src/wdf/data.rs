//! The data that each kind of object has.

use super::Handle;
use super::attributes::Attributes;
use super::children::ChildList;
use super::device::Device;
use super::driver::Driver;
use super::file::File;
use super::init::Init;
use super::interrupt::Interrupt;
use super::queue::Queue;
use super::request::Request;
use super::target::Target;
use super::timer::Timer;
use super::wmi::{Instance, Provider};
use super::work::Work;
use crate::kernel::ex::object::KernelHandle;
use crate::layout::CM_PARTIAL_RESOURCE_DESCRIPTOR;
use crate::memory::{GuestPtr, GuestSlice};

/// The kind of an object, with the data of that kind.
pub(super) enum Data {
    General,
    Target(Box<Target>),
    Interrupt(Box<Interrupt>),
    WmiProvider(Provider),
    WmiInstance(Instance),
    /// The descriptors of a device's hardware resources.
    Resources(Vec<GuestPtr<CM_PARTIAL_RESOURCE_DESCRIPTOR>>),
    Driver(Driver),
    Init(Box<Init>),
    Device(Box<Device>),
    Queue(Box<Queue>),
    Request(Box<Request>),
    File(File),
    Timer(Timer),
    /// A work item or a DPC.
    Work(Work),
    /// The lock, and the IRQL before it was acquired.
    SpinLock {
        word: GuestPtr<u64>,
        old_irql: u8,
    },
    /// The thread that holds the lock, or 0.
    WaitLock {
        owner: u32,
    },
    /// The buffer, and whether the object owns it.
    Memory {
        bytes: GuestSlice<u8>,
        owned: bool,
    },
    /// The size of the buffers, and the attributes of the memory objects.
    Lookaside {
        size: u64,
        memory: Attributes,
    },
    /// The text without its terminating zero.
    String {
        units: GuestSlice<u16>,
    },
    Collection(Vec<Handle>),
    ChildList(Box<ChildList>),
    Key {
        handle: KernelHandle,
    },
}

impl Data {
    /// Returns the name of the kind for reports.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::General => "general object",
            Self::Target(_) => "I/O target",
            Self::Interrupt(_) => "interrupt",
            Self::WmiProvider(_) => "WMI provider",
            Self::WmiInstance(_) => "WMI instance",
            Self::Resources(_) => "resource list",
            Self::Driver(_) => "driver",
            Self::Init(_) => "device initialisation",
            Self::Device(_) => "device",
            Self::Queue(_) => "queue",
            Self::Request(_) => "request",
            Self::File(_) => "file object",
            Self::Timer(_) => "timer",
            Self::Work(_) => "work item",
            Self::SpinLock { .. } => "spin lock",
            Self::WaitLock { .. } => "wait lock",
            Self::Memory { .. } => "memory",
            Self::Lookaside { .. } => "lookaside list",
            Self::String { .. } => "string",
            Self::Collection(_) => "collection",
            Self::ChildList(_) => "child list",
            Self::Key { .. } => "key",
        }
    }
}
