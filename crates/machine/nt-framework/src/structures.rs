//! The sizes of the framework's structures.
//!
//! A driver that is newer than the framework reads a table of sizes: the WDK's `WDF_STRUCTURE_SIZE` macro and the
//! functions that initialise configurations use it. The table comes from the public headers of the framework (1.25 to
//! 1.33, 64-bit). Between these versions two structures grew.
//!
//! A framework accepts the sizes of its own version and of older ones, whatever version a driver was built for. The
//! older sizes come from Microsoft's public source of the framework, inc/private/common/fxversionedstructures.h.

use etw_types::NtStatus;
use nt_kernel::kernel;
use nt_processor::memory::{Fault, GuestPtr};
use nt_verifier::routine::{Outcome, fail};
use nt_verifier::verify::{self, Rule};
use windows_releases::Kmdf;

use crate::state::with;

/// The sizes in the order of `WDFSTRUCTENUM`. 0 stands for a structure of class extensions or debuggers that has no
/// public layout.
#[rustfmt::skip]
const SIZES: [u16; 81] = [
    4, 4, 96, 40, 40, 0, 0, 0, 0, 0, 8, 16, 48, 12, 80, 12,
    36, 12, 20, 24, 32, 80, 32, 24, 32, 56, 12, 32, 40, 104, 32, 64,
    8, 96, 40, 136, 16, 24, 56, 40, 64, 144, 88, 64, 32, 48, 24, 8,
    72, 40, 8, 40, 24, 16, 16, 40, 0, 72, 8, 20, 32, 16, 16, 20,
    32, 64, 40, 24, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
    0,
];
const OF_DEVICE_STATE: usize = 20;
const OF_POWER_FRAMEWORK_SETTINGS: usize = 42;

/// Returns the sizes in a version of the framework. As in the WDK, all bits are set for a structure that is not
/// available.
pub(super) fn sizes(kmdf: Kmdf) -> impl Iterator<Item = u64> {
    // Version 1.31 added the last structure.
    let count = if kmdf >= Kmdf::V1_31 { SIZES.len() } else { SIZES.len() - 1 };
    SIZES.into_iter().take(count).enumerate().map(move |(index, size)| match (index, size) {
        (_, 0) => u64::MAX,
        (OF_DEVICE_STATE, _) if kmdf < Kmdf::V1_31 => 28,
        (OF_POWER_FRAMEWORK_SETTINGS, _) if kmdf < Kmdf::V1_33 => 72,
        _ => size.into(),
    })
}

/// A structure that begins with its size.
pub(super) struct Structure {
    name: &'static str,
    /// The sizes, each with the minor version of the framework that introduced it.
    sizes: &'static [(u32, u32)],
}

macro_rules! structures {
    ($($constant:ident = $name:literal: $($since:literal => $size:literal),+;)*) => {
        $(pub(super) const $constant: Structure = Structure { name: $name, sizes: &[$(($since, $size)),+] };)*
    };
}
structures! {
    CHILD_LIST_CONFIG = "WDF_CHILD_LIST_CONFIG": 0 => 96;
    // 1.31 added AssignedToGuest.
    DEVICE_STATE = "WDF_DEVICE_STATE": 0 => 28, 31 => 32;
    COMPLETION_PARAMS = "WDF_REQUEST_COMPLETION_PARAMS": 0 => 72;
    DPC_CONFIG = "WDF_DPC_CONFIG": 0 => 24;
    DRIVER_CONFIG = "WDF_DRIVER_CONFIG": 0 => 32;
    FDO_EVENT_CALLBACKS = "WDF_FDO_EVENT_CALLBACKS": 0 => 32;
    FILEOBJECT_CONFIG = "WDF_FILEOBJECT_CONFIG": 0 => 40;
    // S0 idle: 1.9 added PowerUpIdleDeviceOnSystemWake, 1.11 IdleTimeoutType and ExcludeD3Cold.
    IDLE_SETTINGS = "WDF_DEVICE_POWER_POLICY_IDLE_SETTINGS": 0 => 24, 9 => 28, 11 => 36;
    INTERRUPT_CONFIG = "WDF_INTERRUPT_CONFIG": 0 => 56, 11 => 96, 13 => 104;
    INTERRUPT_EXTENDED_POLICY = "WDF_INTERRUPT_EXTENDED_POLICY": 9 => 32;
    // 1.9 added Group.
    INTERRUPT_INFO = "WDF_INTERRUPT_INFO": 0 => 56, 9 => 64;
    IO_QUEUE_CONFIG = "WDF_IO_QUEUE_CONFIG": 0 => 80, 9 => 88, 11 => 96;
    IO_TARGET_OPEN_PARAMS = "WDF_IO_TARGET_OPEN_PARAMS": 0 => 120, 13 => 136;
    OBJECT_ATTRIBUTES = "WDF_OBJECT_ATTRIBUTES": 0 => 56;
    // 1.1 added UniqueType and EvtDriverGetUniqueContextType.
    OBJECT_CONTEXT_TYPE_INFO = "WDF_OBJECT_CONTEXT_TYPE_INFO": 0 => 24, 1 => 40;
    // 1.11 added EvtDeviceReportedMissing.
    PDO_EVENT_CALLBACKS = "WDF_PDO_EVENT_CALLBACKS": 0 => 56, 11 => 64;
    PNP_CAPABILITIES = "WDF_DEVICE_PNP_CAPABILITIES": 0 => 48;
    PNPPOWER_EVENT_CALLBACKS = "WDF_PNPPOWER_EVENT_CALLBACKS": 0 => 136, 11 => 144;
    // 1.7 added EvtDeviceArmWakeFromSxWithReason.
    POWER_POLICY_EVENT_CALLBACKS = "WDF_POWER_POLICY_EVENT_CALLBACKS": 0 => 56, 7 => 64;
    POWER_CAPABILITIES = "WDF_DEVICE_POWER_CAPABILITIES": 0 => 80;
    QUERY_INTERFACE_CONFIG = "WDF_QUERY_INTERFACE_CONFIG": 0 => 48;
    REMOVE_LOCK_OPTIONS = "WDF_REMOVE_LOCK_OPTIONS": 11 => 8;
    REUSE_PARAMS = "WDF_REQUEST_REUSE_PARAMS": 0 => 24;
    // 1.9 added TolerableDelay, 1.13 UseHighResolutionTimer.
    TIMER_CONFIG = "WDF_TIMER_CONFIG": 0 => 24, 9 => 32, 13 => 40;
    WAKE_SETTINGS = "WDF_DEVICE_POWER_POLICY_WAKE_SETTINGS": 0 => 16, 7 => 20;
    WMI_INSTANCE_CONFIG = "WDF_WMI_INSTANCE_CONFIG": 0 => 64;
    WMI_PROVIDER_CONFIG = "WDF_WMI_PROVIDER_CONFIG": 0 => 40;
    WORKITEM_CONFIG = "WDF_WORKITEM_CONFIG": 0 => 24;
}

impl Structure {
    /// Reads the size at the start of a structure. Fails with `STATUS_INFO_LENGTH_MISMATCH` if the framework of the
    /// imitated Windows does not have a structure of that size.
    pub(super) fn check<T>(&self, place: GuestPtr<T>) -> Outcome<u32> {
        let size = place.cast::<u32>().read()?;
        if self.is_known(size) { Ok(size) } else { fail(NtStatus::InfoLengthMismatch) }
    }

    /// Like [`Self::check`], for functions that return no status. They do nothing if the size is wrong.
    pub(super) fn fits<T>(&self, place: GuestPtr<T>) -> Result<bool, Fault> {
        Ok(self.is_known(place.cast::<u32>().read()?))
    }

    fn is_known(&self, size: u32) -> bool {
        let name = self.name;
        let minor = kernel().config.os.kmdf().minor;
        let is_known = self.has(size, minor);
        if !is_known {
            let built = with(|framework| framework.bound.map(|bound| bound.minor));
            let older = built.filter(|built| *built != minor);
            let built_for =
                older.map(|built| format!(" (the driver was built for KMDF 1.{built})")).unwrap_or_default();
            verify::find(
                Rule::BadArgument,
                format_args!("{name} has the size {size}, which KMDF 1.{minor} does not know{built_for}"),
            );
        }
        is_known
    }

    fn has(&self, size: u32, minor: u32) -> bool {
        self.sizes.iter().any(|(since, known)| *since <= minor && *known == size)
    }
}

#[cfg(test)]
mod tests {
    use windows_releases::Kmdf;

    use super::{IO_QUEUE_CONFIG, OF_DEVICE_STATE, OF_POWER_FRAMEWORK_SETTINGS, TIMER_CONFIG, sizes};

    #[test]
    fn structures_have_the_size_of_their_version() {
        let of = |kmdf| sizes(kmdf).collect::<Vec<u64>>();
        let first = of(Kmdf::V1_25);
        let last = of(Kmdf::V1_33);
        assert_eq!(first.len(), 80);
        assert_eq!(of(Kmdf::V1_29).len(), 80);
        assert_eq!(of(Kmdf::V1_31).len(), 81);
        assert_eq!(last.len(), 81);
        assert_eq!(first[OF_DEVICE_STATE], 28);
        assert_eq!(last[OF_DEVICE_STATE], 32);
        assert_eq!(first[OF_POWER_FRAMEWORK_SETTINGS], 72);
        assert_eq!(last[OF_POWER_FRAMEWORK_SETTINGS], 88);
        // WDF_DRIVER_CONFIG, WDF_IO_QUEUE_CONFIG, WDF_OBJECT_ATTRIBUTES, WDF_PNPPOWER_EVENT_CALLBACKS,
        // WDF_TIMER_CONFIG.
        assert_eq!([24, 33, 38, 41, 55].map(|index| first[index]), [32, 96, 56, 144, 40]);
        // WDF_INTERRUPT_INFO and WDF_TIMER_CONFIG have a last member that is aligned to 8 bytes.
        assert_eq!([31, 55].map(|index| last[index]), [64, 40]);
    }

    /// Microsoft's core/fxtimerapi.cpp and irphandlers/io/fxioqueueapi.cpp compare with the sizes of all versions up to
    /// their own.
    #[test]
    fn a_framework_knows_the_sizes_of_its_version_and_of_older_ones() {
        assert!([24, 32].into_iter().all(|size| TIMER_CONFIG.has(size, 9)));
        assert!(!TIMER_CONFIG.has(40, 9));
        assert!([24, 32, 40].into_iter().all(|size| TIMER_CONFIG.has(size, 33)));
        assert!(!TIMER_CONFIG.has(36, 33));
        assert!(IO_QUEUE_CONFIG.has(88, 9));
        assert!(!IO_QUEUE_CONFIG.has(96, 9));
        assert!(IO_QUEUE_CONFIG.has(80, 33));
    }
}
