//! Data that the kernel exports: variables, whose addresses are what an import or a lookup gives.
//!
//! The names and types are those of Microsoft's headers. Addresses of a driver are addresses of a Linux process here, so
//! those below which Windows has user memory say nothing about them.

use std::collections::HashMap;
use std::io;

use crate::Os;
use crate::layout::THREAD;
use crate::memory::{Fault, GuestPtr, Opaque, OrStop as _, Protection, Region};

/// What a variable holds.
#[derive(Clone, Copy)]
enum Value {
    Number(u64),
    /// `NtBuildNumber`: that of a free build.
    Build,
    /// A pointer to an object type.
    Type,
    /// A pointer to the system's process.
    Process,
    /// Room of this many bytes, zeroed: a table of which drivers only take the address.
    Room(u64),
}

use Value::{Build, Number, Process, Room, Type};

const EXPORTS: [(&str, Value); 43] = [
    ("CmKeyObjectType", Type),
    ("ExDesktopObjectType", Type),
    ("ExEventObjectType", Type),
    ("ExSemaphoreObjectType", Type),
    ("ExWindowStationObjectType", Type),
    ("IoAdapterObjectType", Type),
    ("IoDeviceHandlerObjectType", Type),
    ("IoDeviceObjectType", Type),
    ("IoDriverObjectType", Type),
    ("IoFileObjectType", Type),
    ("LpcPortObjectType", Type),
    ("MmSectionObjectType", Type),
    ("ObDirectoryObjectType", Type),
    ("PsJobType", Type),
    ("PsProcessType", Type),
    ("PsThreadType", Type),
    ("SeTokenObjectType", Type),
    ("TmEnlistmentObjectType", Type),
    ("TmResourceManagerObjectType", Type),
    ("TmTransactionManagerObjectType", Type),
    ("TmTransactionObjectType", Type),
    ("PsInitialSystemProcess", Process),
    ("NtBuildNumber", Build),
    ("NtGlobalFlag", Number(0)),
    ("InitSafeBootMode", Number(0)),
    ("KdDebuggerEnabled", Number(0)),
    ("KdDebuggerNotPresent", Number(1)),
    ("KeNumberProcessors", Number(2)),
    ("Mm64BitPhysicalAddress", Number(1)),
    ("MmHighestUserAddress", Number(0x7FFF_FFFE_FFFF)),
    ("MmSystemRangeStart", Number(0xFFFF_8000_0000_0000)),
    ("MmUserProbeAddress", Number(0x7FFF_FFFF_0000)),
    ("NlsAnsiCodePage", Number(1252)),
    ("NlsMbCodePageTag", Number(0)),
    ("NlsMbOemCodePageTag", Number(0)),
    ("NlsOemCodePage", Number(437)),
    ("FsRtlLegalAnsiCharacterArray", Room(8)),
    ("HalDispatchTable", Room(0x200)),
    ("HalPrivateDispatchTable", Room(0x400)),
    ("IoStatisticsLock", Number(0)),
    ("KeLoaderBlock", Number(0)),
    ("NlsLeadByteInfo", Room(8)),
    ("SeExports", Room(8)),
];

/// Bytes of an object type, which is opaque.
const TYPE_SIZE: u64 = 0x100;
/// `ProcessObject`.
const PROCESS: u8 = 3;

/// The variables, and what they lead to.
#[derive(Clone, Debug)]
pub(crate) struct Exports {
    variables: HashMap<&'static str, GuestPtr<u64>>,
    process: GuestPtr<THREAD>,
}

impl Exports {
    pub(crate) fn new(os: Os) -> io::Result<Self> {
        let sizes = EXPORTS.iter().map(|(_, value)| match value {
            Type => 0x10 + TYPE_SIZE,
            Room(size) => 0x10 + size.next_multiple_of(0x10),
            _ => 0x10,
        });
        let size = sizes.sum::<u64>() + size_of::<THREAD>() as u64;
        let region = Region::new(size, Protection::ReadWrite, false)?;
        let mut next = GuestPtr::<u8>::new(region.base);
        let mut take = |size: u64| {
            let taken = next;
            next = next.at(size);
            taken
        };
        let process: GuestPtr<THREAD> = take(size_of::<THREAD>() as u64).cast();
        process.Header().initialize(PROCESS, 0).or_stop();
        let mut variables = HashMap::new();
        for (name, value) in EXPORTS {
            let variable = take(0x10).cast::<u64>();
            let content = match value {
                Number(number) => number,
                Build => u64::from(os.build() | 0xF000_0000),
                Type => take(TYPE_SIZE).address(),
                Process => process.address(),
                Room(size) => {
                    take(size.next_multiple_of(0x10));
                    0
                }
            };
            variable.write(content).or_stop();
            variables.insert(name, variable);
        }
        Ok(Self { variables, process })
    }

    /// The address of a variable.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        self.variables.get(name).map(|variable| variable.address())
    }

    /// The object of the system's process.
    pub(crate) const fn process(&self) -> GuestPtr<THREAD> {
        self.process
    }

    /// The type that a variable points to.
    pub(crate) fn object_type(&self, name: &str) -> Result<GuestPtr<Opaque>, Fault> {
        match self.variables.get(name) {
            Some(variable) => variable.read().map(GuestPtr::new),
            None => Ok(GuestPtr::NULL),
        }
    }
}

/// Whether a name is that of data.
pub(crate) fn is_data(name: &str) -> bool {
    EXPORTS.iter().any(|(known, _)| *known == name)
}

/// The names of all data.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    EXPORTS.iter().map(|(name, _)| *name)
}
