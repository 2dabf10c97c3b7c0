//! Exported variables: the imports from the kernel that are not routines.
//!
//! The import of a variable is its address. `MmGetSystemRoutineAddress` finds variables, too.

use nt_processor::layout::{SID, THREAD};
use nt_processor::memory::{Fault, GuestPtr, Opaque, OrStop as _, USER_END};
use nt_processor::sorted::SortedMap;

use super::sync::timer::TICK;
use crate::config::Config;

/// The value of a variable when the driver is loaded.
#[derive(Clone, Copy, Debug)]
enum Value {
    Byte(u8),
    Long(u32),
    Quad(u64),
    /// The build number, with the bits that mark a free build.
    Build,
    /// The address of an opaque object type.
    ObjectType,
    /// The address of the system process.
    Process,
    /// A table. Drivers only take its address.
    Table,
    /// The address of `SE_EXPORTS`.
    Security,
}

use Value::{Build, Byte, Long, ObjectType, Process, Quad, Security, Table};

/// The variables and their values on x64, with two processors and no debugger.
const VARIABLES: [(&str, Value); 47] = [
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
    // The five parameters of a bug check.
    ("KiBugCheckData", Table),
    ("InitSafeBootMode", Long(0)),
    ("KdDebuggerEnabled", Byte(0)),
    ("KdDebuggerNotPresent", Byte(1)),
    ("KeMaximumIncrement", Long(TICK as u32)),
    ("KeNumberProcessors", Byte(2)),
    ("Mm64BitPhysicalAddress", Long(1)),
    ("MmHighestUserAddress", Quad(USER_END - 1)),
    ("MmSystemRangeStart", Quad(0xFFFF_8000_0000_0000)),
    ("MmUserProbeAddress", Quad(USER_END)),
    ("NlsMbCodePageTag", Byte(0)),
    ("NlsMbOemCodePageTag", Byte(0)),
    ("NlsAnsiCodePage", Long(1252)),
    ("NlsOemCodePage", Long(437)),
    ("NtBuildNumber", Build),
    ("NtGlobalFlag", Long(0)),
    ("FsRtlLegalAnsiCharacterArray", Quad(0)),
    ("SeExports", Security),
    ("PsInitialSystemProcess", Process),
];

/// Returns whether there is a variable with this name.
pub fn is_variable(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Returns the names of all variables.
pub fn names() -> impl Iterator<Item = &'static str> {
    VARIABLES.iter().map(|(name, _)| *name)
}

/// The size of a variable, and of an object type or table after the variables, in bytes.
const VARIABLE: u64 = 16;
const OBJECT: u64 = 0x400;
/// The size of the system process and of its name. Drivers that look for the name read as much as three pages.
const SYSTEM_PROCESS: u64 = 0x3000;

/// The variables of a machine, and the objects that they point to.
#[derive(Default)]
pub struct Variables {
    addresses: SortedMap<&'static str, GuestPtr<u64>>,
    process: GuestPtr<THREAD>,
}

impl Variables {
    /// The number of bytes that they take.
    pub const SIZE: u64 = VARIABLES.len() as u64 * (VARIABLE + OBJECT) + SYSTEM_PROCESS;

    /// Creates the variables in pages that have room for them.
    pub fn new(config: &Config, start: GuestPtr<u8>) -> Self {
        make(config, start).or_stop()
    }

    /// Returns the address of a variable.
    pub fn address(&self, name: &str) -> Option<u64> {
        self.addresses.get(name).map(|variable| variable.address())
    }

    /// Returns the object of the system process.
    pub const fn process(&self) -> GuestPtr<THREAD> {
        self.process
    }

    /// Returns the object type that a variable points to.
    pub(crate) fn object_type(&self, name: &str) -> Result<GuestPtr<Opaque>, Fault> {
        match self.addresses.get(name) {
            Some(variable) => variable.read().map(GuestPtr::new),
            None => Ok(GuestPtr::NULL),
        }
    }
}

fn make(config: &Config, start: GuestPtr<u8>) -> Result<Variables, Fault> {
    let count = VARIABLES.len() as u64;
    let mut variables = Variables::default();
    for (index, (name, value)) in (0..).zip(VARIABLES) {
        let variable = start.at(index * VARIABLE).cast::<u64>();
        let mut object = start.at(count * VARIABLE + index * OBJECT);
        if matches!(value, Process) {
            object = start.at(count * (VARIABLE + OBJECT));
            variables.process = object.cast();
            variables.process.Header().initialize(ProcessObject, 0)?;
            // The process name, for routines that return it.
            variables.process.after::<u8>().write_all(b"System\0")?;
        }
        let variable = if matches!(value, Table) { object.cast() } else { variable };
        write(variable, value, object, config)?;
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
        Security => {
            write_security(object)?;
            place.write(object.address())
        }
        Table => Ok(()),
    }
}

/// A member of `SE_EXPORTS`: the number of a privilege, or the authority and the subauthorities of a SID.
#[derive(Clone, Copy)]
enum Exported {
    Privilege(u64),
    Identifier(u8, &'static [u32]),
}

use Exported::{Identifier, Privilege};
use windows_constants::object::ProcessObject;

/// `SE_EXPORTS` up to the SID of all application packages, in the order of ntifs.h.
const SECURITY: [Exported; 66] = [
    Privilege(2),
    Privilege(3),
    Privilege(4),
    Privilege(5),
    Privilege(6),
    Privilege(7),
    Privilege(8),
    Privilege(9),
    Privilege(10),
    Privilege(15),
    Privilege(14),
    Privilege(11),
    Privilege(12),
    Privilege(13),
    Privilege(16),
    Privilege(17),
    Privilege(18),
    Privilege(19),
    Privilege(20),
    Privilege(21),
    Privilege(22),
    Privilege(23),
    Privilege(24),
    // Null, everyone, local, creator owner and creator group.
    Identifier(0, &[0]),
    Identifier(1, &[0]),
    Identifier(2, &[0]),
    Identifier(3, &[0]),
    Identifier(3, &[1]),
    // NT authority, dial-up, network, batch, interactive, local system.
    Identifier(5, &[]),
    Identifier(5, &[1]),
    Identifier(5, &[2]),
    Identifier(5, &[3]),
    Identifier(5, &[4]),
    Identifier(5, &[18]),
    // Administrators, users, guests, power users; account, system, print and backup operators.
    Identifier(5, &[32, 544]),
    Identifier(5, &[32, 545]),
    Identifier(5, &[32, 546]),
    Identifier(5, &[32, 547]),
    Identifier(5, &[32, 548]),
    Identifier(5, &[32, 549]),
    Identifier(5, &[32, 550]),
    Identifier(5, &[32, 551]),
    // Authenticated users, restricted code, anonymous.
    Identifier(5, &[11]),
    Identifier(5, &[12]),
    Identifier(5, &[7]),
    Privilege(25),
    Privilege(26),
    Privilege(27),
    // Local service, network service.
    Identifier(5, &[19]),
    Identifier(5, &[20]),
    Privilege(28),
    Privilege(29),
    Privilege(30),
    Privilege(31),
    Privilege(32),
    Privilege(33),
    Privilege(34),
    Privilege(35),
    // The Internet user; integrity labels from untrusted to system; owner rights; all application packages.
    Identifier(5, &[17]),
    Identifier(16, &[0]),
    Identifier(16, &[0x1000]),
    Identifier(16, &[0x2000]),
    Identifier(16, &[0x3000]),
    Identifier(16, &[0x4000]),
    Identifier(3, &[4]),
    Identifier(15, &[2, 1]),
];

/// Writes `SE_EXPORTS`, followed by the SIDs.
fn write_security(start: GuestPtr<u8>) -> Result<(), Fault> {
    let members = start.cast::<u64>();
    let mut identifier = members.at(SECURITY.len() as u64).cast::<u8>();
    for (index, exported) in (0..).zip(SECURITY) {
        let value = match exported {
            Privilege(number) => number,
            Identifier(authority, parts) => {
                let head = SID {
                    Revision: 1,
                    SubAuthorityCount: parts.len() as u8,
                    IdentifierAuthority: [0, 0, 0, 0, 0, authority],
                };
                let sid = identifier.cast::<SID>();
                sid.write(head)?;
                sid.after::<u32>().write_all(parts)?;
                identifier = identifier.at(sid.size()?);
                sid.address()
            }
        };
        members.at(index).write(value)?;
    }
    Ok(())
}
