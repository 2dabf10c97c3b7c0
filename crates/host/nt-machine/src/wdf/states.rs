//! The states of a device in the framework's state machines. The names are those of Microsoft's wdfdevice.h.

/// `WDF_DEVICE_PNP_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PnpState(i32);

impl PnpState {
    /// A control device stays in this state.
    pub(super) const OBJECT_CREATED: Self = Self(0x100);
    pub(super) const INIT: Self = Self(0x105);
    pub(super) const HARDWARE_AVAILABLE: Self = Self(0x108);
    pub(super) const QUERY_REMOVE_ASK_DRIVER: Self = Self(0x10B);
    pub(super) const QUERY_REMOVE_PENDING: Self = Self(0x10C);
    pub(super) const QUERIED_REMOVING: Self = Self(0x10E);
    pub(super) const QUERY_STOP_ASK_DRIVER: Self = Self(0x10F);
    pub(super) const QUERY_STOP_PENDING: Self = Self(0x110);
    pub(super) const PDO_REMOVED: Self = Self(0x114);
    pub(super) const REMOVING_DISABLE_INTERFACES: Self = Self(0x117);
    pub(super) const RESTARTING: Self = Self(0x118);
    pub(super) const STARTED: Self = Self(0x119);
    pub(super) const STARTING_FROM_STOPPED: Self = Self(0x11D);
    pub(super) const STOPPED: Self = Self(0x11E);
    pub(super) const STARTED_STOPPING: Self = Self(0x120);
    pub(super) const FDO_REMOVED: Self = Self(0x124);
    pub(super) const SURPRISE_REMOVE_IO_STARTED: Self = Self(0x127);
    pub(super) const FAILED_IO_STARTING: Self = Self(0x129);
    pub(super) const FAILED_OWN_HARDWARE: Self = Self(0x12A);
    pub(super) const FAILED: Self = Self(0x12B);
    pub(super) const FAILED_WAIT_FOR_REMOVE: Self = Self(0x12E);

    pub(super) const fn as_int(self) -> i32 {
        self.0
    }
}

impl Default for PnpState {
    fn default() -> Self {
        Self::INIT
    }
}

/// `WDF_DEVICE_POWER_STATE`, for a device whose power callbacks may be paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PowerState(i32);

impl PowerState {
    pub(super) const OBJECT_CREATED: Self = Self(0x300);
    pub(super) const D0: Self = Self(0x307);
    pub(super) const D0_STARTING: Self = Self(0x30F);
    pub(super) const D0_STARTING_CONNECT_INTERRUPT: Self = Self(0x310);
    pub(super) const D0_STARTING_START_SELF_MANAGED_IO: Self = Self(0x312);
    pub(super) const GOTO_D3_STOPPED: Self = Self(0x314);
    pub(super) const STOPPED: Self = Self(0x315);
    pub(super) const GOTO_DX: Self = Self(0x31A);
    pub(super) const GOTO_DX_IO_STOPPED: Self = Self(0x31C);
    pub(super) const DX: Self = Self(0x31F);
    pub(super) const START_SELF_MANAGED_IO: Self = Self(0x32B);
    pub(super) const WAKING: Self = Self(0x333);
    pub(super) const WAKING_CONNECT_INTERRUPT: Self = Self(0x335);
    /// `WdfDevStateNP`: the power callbacks cannot be paged.
    const NOT_PAGEABLE: i32 = 0x8000;

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
                if !pageable =>
            {
                (self.0 + 1) | Self::NOT_PAGEABLE
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
