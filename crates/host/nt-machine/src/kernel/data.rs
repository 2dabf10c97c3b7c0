//! Exported variables: what a driver imports from the kernel that is no routine.
//!
//! An import of one is the address of a variable. `MmGetSystemRoutineAddress` finds them too.

use std::collections::BTreeMap;
use std::io;

use super::sync::thread::process;
use super::sync::timer::TICK;
use crate::config::Config;
use crate::memory::{Fault, GuestPtr, Protection, Region};

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
}

use Value::{Build, Byte, Long, ObjectType, Quad};

/// Holds the address of the system process.
const SYSTEM_PROCESS: &str = "PsInitialSystemProcess";

/// The variables, and their values on x64 with two processors and no debugger.
const VARIABLES: [(&str, Value); 39] = [
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
    ("PsJobType", ObjectType),
    ("PsProcessType", ObjectType),
    ("PsThreadType", ObjectType),
    ("SeTokenObjectType", ObjectType),
    ("TmEnlistmentObjectType", ObjectType),
    ("TmResourceManagerObjectType", ObjectType),
    ("TmTransactionManagerObjectType", ObjectType),
    ("TmTransactionObjectType", ObjectType),
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
    ("NtBuildNumber", Build),
    ("NtGlobalFlag", Long(0)),
    (SYSTEM_PROCESS, Quad(0)),
];

/// Whether a name is that of a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    VARIABLES.iter().any(|(known, _)| *known == name)
}

/// Bytes of a variable, and of an object type behind the variables.
const VARIABLE: u64 = 16;
const OBJECT: u64 = 0x100;

/// The variables of a machine.
#[derive(Default)]
pub(crate) struct Variables {
    addresses: BTreeMap<&'static str, u64>,
}

impl Variables {
    /// Makes them. A machine without memory for them has none.
    pub(crate) fn new(config: &Config) -> Self {
        make(config).unwrap_or_default()
    }

    /// The address of a variable.
    pub(crate) fn address(&self, name: &str) -> Option<u64> {
        let address = *self.addresses.get(name)?;
        if name == SYSTEM_PROCESS {
            // The process is made when somebody asks for it.
            GuestPtr::new(address).write(process().address()).ok()?;
        }
        Some(address)
    }
}

fn make(config: &Config) -> io::Result<Variables> {
    let count = VARIABLES.len() as u64;
    let region = Region::new(count * (VARIABLE + OBJECT), Protection::ReadWrite, false)?;
    let objects = region.base + count * VARIABLE;
    let mut addresses = BTreeMap::new();
    for (index, (name, value)) in (0..).zip(VARIABLES) {
        let address = region.base + index * VARIABLE;
        let object = objects + index * OBJECT;
        write(address, value, object, config).map_err(|fault| io::Error::other(fault.to_string()))?;
        addresses.insert(name, address);
    }
    Ok(Variables { addresses })
}

fn write(address: u64, value: Value, object: u64, config: &Config) -> Result<(), Fault> {
    let place = GuestPtr::<u64>::new(address);
    match value {
        Byte(value) => place.cast().write(value),
        Long(value) => place.cast().write(value),
        Quad(value) => place.write(value),
        Build => place.cast().write(config.os.build() | 0xF000_0000),
        ObjectType => place.write(object),
    }
}
