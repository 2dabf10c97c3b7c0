//! The states of a device in the framework's state machines. The names are those of Microsoft's wdfdevice.h.

/// `WDF_DEVICE_PNP_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PnpState(i32);

impl PnpState {
    /// A control device stays in this state.
    pub(super) const OBJECT_CREATED: Self = Self(0x100);
    pub(super) const INIT: Self = Self(0x105);
    pub(super) const INIT_STARTING: Self = Self(0x106);
    pub(super) const HARDWARE_AVAILABLE: Self = Self(0x108);
    pub(super) const QUERY_REMOVE_ASK_DRIVER: Self = Self(0x10B);
    pub(super) const QUERY_REMOVE_PENDING: Self = Self(0x10C);
    pub(super) const QUERIED_REMOVING: Self = Self(0x10E);
    pub(super) const QUERY_STOP_ASK_DRIVER: Self = Self(0x10F);
    pub(super) const QUERY_STOP_PENDING: Self = Self(0x110);
    pub(super) const PDO_REMOVED: Self = Self(0x114);
    /// The child stays until its parent is removed.
    pub(super) const REMOVED_PDO_WAIT: Self = Self(0x115);
    pub(super) const REMOVING_DISABLE_INTERFACES: Self = Self(0x117);
    pub(super) const RESTARTING: Self = Self(0x118);
    pub(super) const STARTED: Self = Self(0x119);
    pub(super) const STARTING_FROM_STOPPED: Self = Self(0x11D);
    pub(super) const STOPPED: Self = Self(0x11E);
    pub(super) const STOPPED_WAIT_FOR_START_COMPLETION: Self = Self(0x11F);
    pub(super) const STARTED_STOPPING: Self = Self(0x120);
    pub(super) const FDO_REMOVED: Self = Self(0x124);
    pub(super) const SURPRISE_REMOVE_IO_STARTED: Self = Self(0x127);
    pub(super) const FAILED_IO_STARTING: Self = Self(0x129);
    pub(super) const FAILED_OWN_HARDWARE: Self = Self(0x12A);
    pub(super) const FAILED: Self = Self(0x12B);
    pub(super) const FAILED_SURPRISE_REMOVED: Self = Self(0x12C);
    pub(super) const FAILED_WAIT_FOR_REMOVE: Self = Self(0x12E);
    pub(super) const QUERY_REMOVE_ENSURE_DEVICE_AWAKE: Self = Self(0x137);
    pub(super) const QUERY_STOP_ENSURE_DEVICE_AWAKE: Self = Self(0x138);

    pub(super) const fn as_int(self) -> i32 {
        self.0
    }
}

impl Default for PnpState {
    fn default() -> Self {
        Self::INIT
    }
}

/// `WdfDevStateNP`: the power callbacks cannot be paged.
const NOT_PAGEABLE: i32 = 0x8000;

/// `WDF_DEVICE_POWER_STATE`, for a device whose power callbacks may be paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PowerState(i32);

impl PowerState {
    pub(super) const OBJECT_CREATED: Self = Self(0x300);
    pub(super) const D0: Self = Self(0x307);
    pub(super) const D0_STARTING: Self = Self(0x30F);
    pub(super) const D0_STARTING_CONNECT_INTERRUPT: Self = Self(0x310);
    pub(super) const D0_STARTING_DMA_ENABLE: Self = Self(0x311);
    pub(super) const D0_STARTING_START_SELF_MANAGED_IO: Self = Self(0x312);
    pub(super) const GOTO_D3_STOPPED: Self = Self(0x314);
    pub(super) const STOPPED: Self = Self(0x315);
    pub(super) const GOTO_DX: Self = Self(0x31A);
    pub(super) const GOTO_DX_IO_STOPPED: Self = Self(0x31C);
    pub(super) const DX: Self = Self(0x31F);
    pub(super) const START_SELF_MANAGED_IO: Self = Self(0x32B);
    pub(super) const WAKING: Self = Self(0x333);
    pub(super) const WAKING_CONNECT_INTERRUPT: Self = Self(0x335);
    pub(super) const WAKING_DMA_ENABLE: Self = Self(0x339);

    /// Returns the number of the state. Some states have a variant for devices whose power callbacks cannot be paged: the
    /// next number, with a flag.
    pub(super) const fn as_int(self, pageable: bool) -> i32 {
        match self {
            Self::D0
            | Self::GOTO_DX
            | Self::GOTO_DX_IO_STOPPED
            | Self::DX
            | Self::START_SELF_MANAGED_IO
            | Self::WAKING
            | Self::WAKING_CONNECT_INTERRUPT
            | Self::WAKING_DMA_ENABLE
                if !pageable =>
            {
                (self.0 + 1) | NOT_PAGEABLE
            }
            _ => self.0,
        }
    }
}

impl Default for PowerState {
    fn default() -> Self {
        Self::OBJECT_CREATED
    }
}

/// `WDF_DEVICE_POWER_POLICY_STATE`, for a device whose power callbacks may be paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PolicyState(i32);

impl PolicyState {
    pub(super) const OBJECT_CREATED: Self = Self(0x500);
    pub(super) const STARTING: Self = Self(0x501);
    pub(super) const STARTED_IDLE_CAPABLE: Self = Self(0x505);
    pub(super) const TIMER_EXPIRED_NO_WAKE: Self = Self(0x506);
    pub(super) const TIMER_EXPIRED_NO_WAKE_COMPLETE_POWER_DOWN: Self = Self(0x507);
    pub(super) const WAITING_UNARMED: Self = Self(0x508);
    pub(super) const S0_NO_WAKE_POWER_UP: Self = Self(0x50A);
    pub(super) const S0_NO_WAKE_COMPLETE_POWER_UP: Self = Self(0x50B);
    pub(super) const SYSTEM_SLEEP_NEED_WAKE: Self = Self(0x50D);
    pub(super) const SYSTEM_SLEEP_NEED_WAKE_COMPLETE_POWER_UP: Self = Self(0x50E);
    pub(super) const SLEEPING_WAKE_WAKE_ARRIVED: Self = Self(0x511);
    pub(super) const SLEEPING_WAKE_REVERT_ARM_WAKE: Self = Self(0x512);
    pub(super) const SYSTEM_ASLEEP_WAKE_ARMED: Self = Self(0x513);
    pub(super) const SYSTEM_WAKE_DEVICE_WAKE_ENABLED_WAKE_CANCELED: Self = Self(0x515);
    pub(super) const SYSTEM_WAKE_DEVICE_WAKE_DISARM: Self = Self(0x516);
    pub(super) const SYSTEM_WAKE_DEVICE_WAKE_COMPLETE_POWER_UP: Self = Self(0x525);
    pub(super) const SLEEPING_NO_WAKE_POWER_DOWN: Self = Self(0x527);
    pub(super) const SLEEPING_NO_WAKE_COMPLETE_POWER_DOWN: Self = Self(0x528);
    pub(super) const SLEEPING_WAKE_POWER_DOWN: Self = Self(0x52A);
    pub(super) const SYSTEM_ASLEEP_NO_WAKE: Self = Self(0x52C);
    pub(super) const SYSTEM_WAKE_DEVICE_TO_D0: Self = Self(0x52E);
    pub(super) const SYSTEM_WAKE_DEVICE_TO_D0_COMPLETE_POWER_UP: Self = Self(0x52F);
    pub(super) const STARTED_WAKE_CAPABLE: Self = Self(0x531);
    pub(super) const TIMER_EXPIRED_WAKE_CAPABLE_POWER_DOWN: Self = Self(0x533);
    pub(super) const TIMER_EXPIRED_WAKE_CAPABLE_WAKE_ARRIVED: Self = Self(0x536);
    pub(super) const TIMER_EXPIRED_WAKE_COMPLETED_POWER_DOWN: Self = Self(0x53B);
    pub(super) const TIMER_EXPIRED_WAKE_COMPLETED_POWER_UP: Self = Self(0x53C);
    pub(super) const WAITING_ARMED: Self = Self(0x53E);
    pub(super) const IO_PRESENT_ARMED_WAKE_CANCELED: Self = Self(0x541);
    pub(super) const S0_WAKE_DISARM: Self = Self(0x542);
    pub(super) const S0_WAKE_COMPLETE_POWER_UP: Self = Self(0x543);
    pub(super) const CANCELING_WAKE_FOR_SYSTEM_SLEEP_WAKE_CANCELED: Self = Self(0x54D);
    pub(super) const DISARMING_WAKE_FOR_SYSTEM_SLEEP_COMPLETE_POWER_UP: Self = Self(0x54E);
    pub(super) const STOPPING: Self = Self(0x55B);
    pub(super) const STOPPED: Self = Self(0x563);
    pub(super) const STARTED: Self = Self(0x565);
    pub(super) const REMOVED: Self = Self(0x58E);

    /// Returns the number of the state. Some states have a variant for devices whose power callbacks cannot be paged.
    pub(super) const fn as_int(self, pageable: bool) -> i32 {
        let variant = match self {
            Self::SLEEPING_WAKE_WAKE_ARRIVED => 0x51A,
            Self::SLEEPING_WAKE_REVERT_ARM_WAKE => 0x51B,
            Self::SYSTEM_ASLEEP_WAKE_ARMED => 0x51E,
            Self::SYSTEM_WAKE_DEVICE_WAKE_ENABLED_WAKE_CANCELED => 0x520,
            Self::SYSTEM_WAKE_DEVICE_WAKE_DISARM => 0x521,
            _ => return self.0,
        };
        if pageable { self.0 } else { variant | NOT_PAGEABLE }
    }
}

impl Default for PolicyState {
    fn default() -> Self {
        Self::OBJECT_CREATED
    }
}
