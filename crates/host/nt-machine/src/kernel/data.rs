//! Exported variables: what a driver imports from the kernel that is no routine.
//!
//! An import of one is the address of a variable. `MmGetSystemRoutineAddress` finds them too.

use std::collections::BTreeMap;
use std::io;

use super::sync::timer::TICK;
use crate::config::Config;
use crate::layout::THREAD;
use crate::memory::{Fault, GuestPtr, Opaque, Protection, Region};

/// What a variable holds when the driver is loaded.
#[derive(Clone, Copy, Debug)]
enum Value {
    Byte(u8),
    Long(u32),
    Quad(u64),
    /// The build number, with the bits of a free build.
    Build,
    /// The address of an object type, which is opaque.
    ObjectType,
    /// The address of the system process.
    Process,
    /// A table; drivers only take its address.
    Table,
}

use Value::{Build, Byte, Long, ObjectType, Process, Quad, Table};

/// The variables, and their values on x64 with two processors and no debugger.
const VARIABLES: [(&str, Value); 46] = [
    ("CmKeyObjectType", ObjectType),
    ("ExActivationObjectType", ObjectType),
    ("ExCompositionObjectType", ObjectType),
    ("ExDesktopObjectType", ObjectType),
    ("ExEventObjectType", ObjectType),
    ("ExMutantObjectType", ObjectType),
    ("ExSemaphoreObjectType", ObjectType),
    ("ExTimerObjectType", ObjectType),
    ("ExWindowStationObjectType", ObjectType),
    ("IoAdapterObjectType", ObjectType),
    ("IoCompletionObjectType", ObjectType),
    ("IoDeviceHandlerObjectType", ObjectType),
    ("IoDeviceObjectType", ObjectType),
    ("IoDriverObjectType", ObjectType),
    ("IoFileObjectType", ObjectType),
    ("LpcPortObjectType", ObjectType),
    ("MmSectionObjectType", ObjectType),
    ("ObDirectoryObjectType", ObjectType),
    ("PsJobType", ObjectType),
    ("PsProcessType", ObjectType),
    ("PsThreadType", ObjectType),
    ("SeTokenObjectType", ObjectType),
    ("TmEnlistmentObjectType", ObjectType),
    ("TmResourceManagerObjectType", ObjectType),
    ("TmTransactionManagerObjectType", ObjectType),
    ("TmTransactionObjectType", ObjectType),
    ("HalDispatchTable", Table),
    ("HalPrivateDispatchTable", Table),
    ("InitSafeBootMode", Long(0)),
    ("KdDebuggerEnabled", Byte(0)),
    ("KdDebuggerNotPresent", Byte(1)),
    ("KeMaximumIncrement", Long(TICK as u32)),
    ("KeNumberProcessors", Byte(2)),
    ("Mm64BitPhysicalAddress", Long(1)),
    ("MmHighestUserAddress", Quad(0x7FFF_FFFE_FFFF)),
    ("MmSystemRangeStart", Quad(0xFFFF_8000_0000_0000)),
    ("MmUserProbeAddress", Quad(0x7FFF_FFFF_0000)),
    ("NlsMbCodePageTag", Byte(0)),
    ("NlsMbOemCodePageTag", Byte(0)),
    ("NlsAnsiCodePage", Long(1252)),
    ("NlsOemCodePage", Long(437)),
    ("NtBuildNumber", Build),
    ("NtGlobalFlag", Long(0)),
    ("FsRtlLegalAnsiCharacterArray", Quad(0)),
    ("SeExports", Quad(0)),
    ("PsInitialSystemProcess", Process),
];

/// Whether a name is that of a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    names().any(|known| known == name)
}

/// The names of all variables.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(name, _)| *name)
}

/// Bytes of a variable, and of an object type or a table behind the variables.
const VARIABLE: u64 = 16;
const OBJECT: u64 = 0x400;
/// `ProcessObject`.
const PROCESS: u8 = 3;

/// The variables of a machine, and what they lead to.
#[derive(Default)]
pub(crate) struct Variables {
    addresses: BTreeMap<&'static str, GuestPtr<u64>>,
    process: GuestPtr<THREAD>,
}

impl Variables {
    /// Makes them. A machine without memory for them has none.
    pub(crate) fn new(config: &Config) -> Self {
        make(config).unwrap_or_default()
    }

    /// The address of a variable.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        self.addresses.get(name).map(|variable| variable.address())
    }

    /// The object of the system's process.
    pub(crate) const fn process(&self) -> GuestPtr<THREAD> {
        self.process
    }

    /// The object type that a variable points to.
    pub(crate) fn object_type(&self, name: &str) -> Result<GuestPtr<Opaque>, Fault> {
        match self.addresses.get(name) {
            Some(variable) => variable.read().map(GuestPtr::new),
            None => Ok(GuestPtr::NULL),
        }
    }
}

fn make(config: &Config) -> io::Result<Variables> {
    let fault = |fault: Fault| io::Error::other(fault.to_string());
    let count = VARIABLES.len() as u64;
    let region = Region::new(count * (VARIABLE + OBJECT), Protection::ReadWrite, false)?;
    let start = GuestPtr::<u8>::new(region.base);
    let mut variables = Variables::default();
    for (index, (name, value)) in (0..).zip(VARIABLES) {
        let variable = start.at(index * VARIABLE).cast::<u64>();
        let object = start.at(count * VARIABLE + index * OBJECT);
        if matches!(value, Process) {
            variables.process = object.cast();
            variables.process.Header().initialize(PROCESS, 0).map_err(fault)?;
        }
        let variable = if matches!(value, Table) { object.cast() } else { variable };
        write(variable, value, object, config).map_err(fault)?;
        variables.addresses.insert(name, variable);
    }
    Ok(variables)
}

fn write(place: GuestPtr<u64>, value: Value, object: GuestPtr<u8>, config: &Config) -> Result<(), Fault> {
    match value {
        Byte(value) => place.cast().write(value),
        Long(value) => place.cast().write(value),
        Quad(value) => place.write(value),
        Build => place.cast().write(config.os.build() | 0xF000_0000),
        ObjectType | Process => place.write(object.address()),
        Table => Ok(()),
    }
}
