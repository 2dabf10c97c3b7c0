//! What drivers register with the power management framework.

use super::{GUID, layout};
use crate::memory::{Code, GuestPtr, Opaque};

layout! {
    /// Version 1, without its components, which follow. The callbacks are those for the active and the idle condition, the idle
    /// state, required power, power that is not required, and power control.
    PO_FX_DEVICE: 64 {
        Version: u32,
        ComponentCount: u32,
        Callbacks: [GuestPtr<Code>; 6],
        DeviceContext: u64,
    }

    PO_FX_DEVICE_V2: 80 {
        Version: u32,
        Padding1: u32,
        Flags: u64,
        Callbacks: [GuestPtr<Code>; 6],
        DeviceContext: u64,
        ComponentCount: u32,
        Padding2: u32,
    }

    PO_FX_DEVICE_V3: 104 {
        Version: u32,
        Padding1: u32,
        Flags: u64,
        Callbacks: [GuestPtr<Code>; 6],
        DirectedPowerUpCallback: GuestPtr<Code>,
        DirectedPowerDownCallback: GuestPtr<Code>,
        DirectedFxTimeoutInSeconds: u32,
        Padding2: u32,
        DeviceContext: u64,
        ComponentCount: u32,
        Padding3: u32,
    }

    PO_FX_COMPONENT: 32 {
        Id: GUID,
        IdleStateCount: u32,
        DeepestWakeableIdleState: u32,
        IdleStates: GuestPtr<Opaque>,
    }

    PO_FX_COMPONENT_V2: 56 {
        Id: GUID,
        Flags: u64,
        DeepestWakeableIdleState: u32,
        IdleStateCount: u32,
        IdleStates: GuestPtr<Opaque>,
        ProviderCount: u32,
        Padding: u32,
        Providers: GuestPtr<u32>,
    }
}
