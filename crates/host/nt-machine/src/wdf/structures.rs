//! The sizes of the framework's structures. A driver that is newer than the framework reads them.
//!
//! The WDK's `WDF_STRUCTURE_SIZE` macro and the functions that initialise configurations use these sizes. They come
//! from the public headers of the framework (1.25 to 1.33, 64-bit). Between these versions two structures grew.

use windows_releases::Kmdf;

/// The sizes in the order of `WDFSTRUCTENUM`. 0 stands for a structure of class extensions or debuggers that has no
/// public layout.
#[rustfmt::skip]
const SIZES: [u16; 81] = [
    4, 4, 96, 40, 40, 0, 0, 0, 0, 0, 8, 16, 48, 12, 80, 12,
    36, 12, 20, 24, 32, 80, 32, 24, 32, 56, 12, 32, 40, 104, 32, 56,
    8, 96, 40, 136, 16, 24, 56, 40, 64, 144, 88, 64, 32, 48, 24, 8,
    72, 40, 8, 40, 24, 16, 16, 32, 0, 72, 8, 20, 32, 16, 16, 20,
    32, 64, 40, 24, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
    0,
];
const DEVICE_STATE: usize = 20;
const POWER_FRAMEWORK_SETTINGS: usize = 42;

/// Returns the sizes in a version of the framework. As in the WDK, all bits are set for a structure that is not
/// available.
pub(super) fn sizes(kmdf: Kmdf) -> impl Iterator<Item = u64> {
    // Version 1.31 added the last structure.
    let count = if kmdf >= Kmdf::V1_31 { SIZES.len() } else { SIZES.len() - 1 };
    SIZES.into_iter().take(count).enumerate().map(move |(index, size)| match (index, size) {
        (_, 0) => u64::MAX,
        (DEVICE_STATE, _) if kmdf < Kmdf::V1_31 => 28,
        (POWER_FRAMEWORK_SETTINGS, _) if kmdf < Kmdf::V1_33 => 72,
        _ => size.into(),
    })
}

/// Returns the size of `WDF_IO_QUEUE_CONFIG` in a driver that was built for this minor version. 1.9 added the number of
/// presented requests, and 1.11 added the driver. The public sources of the framework compare against these sizes.
pub(super) const fn queue_config(minor: u32) -> u32 {
    match minor {
        0..9 => 80,
        9..11 => 88,
        _ => 96,
    }
}

/// Returns the size of `WDF_PNPPOWER_EVENT_CALLBACKS` for this minor version. 1.11 added a callback.
pub(super) const fn pnp_callbacks(minor: u32) -> u32 {
    if minor < 11 { 136 } else { 144 }
}

#[cfg(test)]
mod tests {
    use windows_releases::Kmdf;

    use super::{DEVICE_STATE, POWER_FRAMEWORK_SETTINGS, sizes};

    #[test]
    fn structures_have_the_size_of_their_version() {
        let of = |kmdf| sizes(kmdf).collect::<Vec<u64>>();
        let (first, last) = (of(Kmdf::V1_25), of(Kmdf::V1_33));
        assert_eq!((first.len(), of(Kmdf::V1_29).len(), of(Kmdf::V1_31).len(), last.len()), (80, 80, 81, 81));
        assert_eq!((first[DEVICE_STATE], last[DEVICE_STATE]), (28, 32));
        assert_eq!((first[POWER_FRAMEWORK_SETTINGS], last[POWER_FRAMEWORK_SETTINGS]), (72, 88));
        // WDF_DRIVER_CONFIG, WDF_IO_QUEUE_CONFIG, WDF_OBJECT_ATTRIBUTES, WDF_PNPPOWER_EVENT_CALLBACKS,
        // WDF_TIMER_CONFIG.
        assert_eq!([24, 33, 38, 41, 55].map(|index| first[index]), [32, 96, 56, 144, 32]);
    }
}
