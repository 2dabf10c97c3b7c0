//! The states of a device in the framework's state machines. The names are those of Microsoft's wdfdevice.h.

use windows_constants::framework_states as wdf;

/// `WDF_DEVICE_PNP_STATE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PnpState(i32);

impl PnpState {
    /// A control device stays in this state.
    pub(crate) const OBJECT_CREATED: Self = Self(wdf::WdfDevStatePnpObjectCreated);
    pub(crate) const INIT: Self = Self(wdf::WdfDevStatePnpInit);
    pub(crate) const INIT_STARTING: Self = Self(wdf::WdfDevStatePnpInitStarting);
    pub(crate) const HARDWARE_AVAILABLE: Self = Self(wdf::WdfDevStatePnpHardwareAvailable);
    pub(crate) const QUERY_REMOVE_ASK_DRIVER: Self = Self(wdf::WdfDevStatePnpQueryRemoveAskDriver);
    pub(crate) const QUERY_REMOVE_PENDING: Self = Self(wdf::WdfDevStatePnpQueryRemovePending);
    pub(crate) const QUERIED_REMOVING: Self = Self(wdf::WdfDevStatePnpQueriedRemoving);
    pub(crate) const QUERY_STOP_ASK_DRIVER: Self = Self(wdf::WdfDevStatePnpQueryStopAskDriver);
    pub(crate) const QUERY_STOP_PENDING: Self = Self(wdf::WdfDevStatePnpQueryStopPending);
    pub(crate) const PDO_REMOVED: Self = Self(wdf::WdfDevStatePnpPdoRemoved);
    /// The child stays until its parent is removed.
    pub(crate) const REMOVED_PDO_WAIT: Self = Self(wdf::WdfDevStatePnpRemovedPdoWait);
    pub(crate) const REMOVING_DISABLE_INTERFACES: Self = Self(wdf::WdfDevStatePnpRemovingDisableInterfaces);
    pub(crate) const RESTARTING: Self = Self(wdf::WdfDevStatePnpRestarting);
    pub(crate) const STARTED: Self = Self(wdf::WdfDevStatePnpStarted);
    pub(crate) const STARTING_FROM_STOPPED: Self = Self(wdf::WdfDevStatePnpStartingFromStopped);
    pub(crate) const STOPPED: Self = Self(wdf::WdfDevStatePnpStopped);
    pub(crate) const STOPPED_WAIT_FOR_START_COMPLETION: Self = Self(wdf::WdfDevStatePnpStoppedWaitForStartCompletion);
    pub(crate) const STARTED_STOPPING: Self = Self(wdf::WdfDevStatePnpStartedStopping);
    pub(crate) const FDO_REMOVED: Self = Self(wdf::WdfDevStatePnpFdoRemoved);
    pub(crate) const SURPRISE_REMOVE_IO_STARTED: Self = Self(wdf::WdfDevStatePnpSurpriseRemoveIoStarted);
    pub(crate) const FAILED_IO_STARTING: Self = Self(wdf::WdfDevStatePnpFailedIoStarting);
    pub(crate) const FAILED_OWN_HARDWARE: Self = Self(wdf::WdfDevStatePnpFailedOwnHardware);
    pub(crate) const FAILED: Self = Self(wdf::WdfDevStatePnpFailed);
    pub(crate) const FAILED_SURPRISE_REMOVED: Self = Self(wdf::WdfDevStatePnpFailedSurpriseRemoved);
    pub(crate) const FAILED_WAIT_FOR_REMOVE: Self = Self(wdf::WdfDevStatePnpFailedWaitForRemove);
    pub(crate) const QUERY_REMOVE_ENSURE_DEVICE_AWAKE: Self = Self(wdf::WdfDevStatePnpQueryRemoveEnsureDeviceAwake);
    pub(crate) const QUERY_STOP_ENSURE_DEVICE_AWAKE: Self = Self(wdf::WdfDevStatePnpQueryStopEnsureDeviceAwake);

    pub(crate) const fn as_int(self) -> i32 {
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
pub(crate) struct PowerState(i32);

impl PowerState {
    pub(crate) const OBJECT_CREATED: Self = Self(wdf::WdfDevStatePowerObjectCreated);
    pub(crate) const D0: Self = Self(wdf::WdfDevStatePowerD0);
    pub(crate) const D0_STARTING: Self = Self(wdf::WdfDevStatePowerD0Starting);
    pub(crate) const D0_STARTING_CONNECT_INTERRUPT: Self = Self(wdf::WdfDevStatePowerD0StartingConnectInterrupt);
    pub(crate) const D0_STARTING_DMA_ENABLE: Self = Self(wdf::WdfDevStatePowerD0StartingDmaEnable);
    pub(crate) const D0_STARTING_START_SELF_MANAGED_IO: Self = Self(wdf::WdfDevStatePowerD0StartingStartSelfManagedIo);
    pub(crate) const GOTO_D3_STOPPED: Self = Self(wdf::WdfDevStatePowerGotoD3Stopped);
    pub(crate) const STOPPED: Self = Self(wdf::WdfDevStatePowerStopped);
    pub(crate) const GOTO_DX: Self = Self(wdf::WdfDevStatePowerGotoDx);
    pub(crate) const GOTO_DX_IO_STOPPED: Self = Self(wdf::WdfDevStatePowerGotoDxIoStopped);
    pub(crate) const DX: Self = Self(wdf::WdfDevStatePowerDx);
    pub(crate) const START_SELF_MANAGED_IO: Self = Self(wdf::WdfDevStatePowerStartSelfManagedIo);
    pub(crate) const WAKING: Self = Self(wdf::WdfDevStatePowerWaking);
    pub(crate) const WAKING_CONNECT_INTERRUPT: Self = Self(wdf::WdfDevStatePowerWakingConnectInterrupt);
    pub(crate) const WAKING_DMA_ENABLE: Self = Self(wdf::WdfDevStatePowerWakingDmaEnable);

    /// Returns the number of the state. Some states have a variant for devices whose power callbacks cannot be paged: the
    /// next number, with a flag.
    pub(crate) const fn as_int(self, pageable: bool) -> i32 {
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
                (self.0 + 1) | wdf::WdfDevStateNP
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
pub(crate) struct PolicyState(i32);

impl PolicyState {
    pub(crate) const OBJECT_CREATED: Self = Self(wdf::WdfDevStatePwrPolObjectCreated);
    pub(crate) const STARTING: Self = Self(wdf::WdfDevStatePwrPolStarting);
    pub(crate) const STARTED_IDLE_CAPABLE: Self = Self(wdf::WdfDevStatePwrPolStartedIdleCapable);
    pub(crate) const TIMER_EXPIRED_NO_WAKE: Self = Self(wdf::WdfDevStatePwrPolTimerExpiredNoWake);
    pub(crate) const TIMER_EXPIRED_NO_WAKE_COMPLETE_POWER_DOWN: Self =
        Self(wdf::WdfDevStatePwrPolTimerExpiredNoWakeCompletePowerDown);
    pub(crate) const WAITING_UNARMED: Self = Self(wdf::WdfDevStatePwrPolWaitingUnarmed);
    pub(crate) const S0_NO_WAKE_POWER_UP: Self = Self(wdf::WdfDevStatePwrPolS0NoWakePowerUp);
    pub(crate) const S0_NO_WAKE_COMPLETE_POWER_UP: Self = Self(wdf::WdfDevStatePwrPolS0NoWakeCompletePowerUp);
    pub(crate) const SYSTEM_SLEEP_NEED_WAKE: Self = Self(wdf::WdfDevStatePwrPolSystemSleepNeedWake);
    pub(crate) const SYSTEM_SLEEP_NEED_WAKE_COMPLETE_POWER_UP: Self =
        Self(wdf::WdfDevStatePwrPolSystemSleepNeedWakeCompletePowerUp);
    pub(crate) const SLEEPING_WAKE_WAKE_ARRIVED: Self = Self(wdf::WdfDevStatePwrPolSleepingWakeWakeArrived);
    pub(crate) const SLEEPING_WAKE_REVERT_ARM_WAKE: Self = Self(wdf::WdfDevStatePwrPolSleepingWakeRevertArmWake);
    pub(crate) const SYSTEM_ASLEEP_WAKE_ARMED: Self = Self(wdf::WdfDevStatePwrPolSystemAsleepWakeArmed);
    pub(crate) const SYSTEM_WAKE_DEVICE_WAKE_ENABLED_WAKE_CANCELED: Self =
        Self(wdf::WdfDevStatePwrPolSystemWakeDeviceWakeEnabledWakeCanceled);
    pub(crate) const SYSTEM_WAKE_DEVICE_WAKE_DISARM: Self = Self(wdf::WdfDevStatePwrPolSystemWakeDeviceWakeDisarm);
    pub(crate) const SYSTEM_WAKE_DEVICE_WAKE_COMPLETE_POWER_UP: Self =
        Self(wdf::WdfDevStatePwrPolSystemWakeDeviceWakeCompletePowerUp);
    pub(crate) const SLEEPING_NO_WAKE_POWER_DOWN: Self = Self(wdf::WdfDevStatePwrPolSleepingNoWakePowerDown);
    pub(crate) const SLEEPING_NO_WAKE_COMPLETE_POWER_DOWN: Self =
        Self(wdf::WdfDevStatePwrPolSleepingNoWakeCompletePowerDown);
    pub(crate) const SLEEPING_WAKE_POWER_DOWN: Self = Self(wdf::WdfDevStatePwrPolSleepingWakePowerDown);
    pub(crate) const SYSTEM_ASLEEP_NO_WAKE: Self = Self(wdf::WdfDevStatePwrPolSystemAsleepNoWake);
    pub(crate) const SYSTEM_WAKE_DEVICE_TO_D0: Self = Self(wdf::WdfDevStatePwrPolSystemWakeDeviceToD0);
    pub(crate) const SYSTEM_WAKE_DEVICE_TO_D0_COMPLETE_POWER_UP: Self =
        Self(wdf::WdfDevStatePwrPolSystemWakeDeviceToD0CompletePowerUp);
    pub(crate) const STARTED_WAKE_CAPABLE: Self = Self(wdf::WdfDevStatePwrPolStartedWakeCapable);
    pub(crate) const TIMER_EXPIRED_WAKE_CAPABLE_POWER_DOWN: Self =
        Self(wdf::WdfDevStatePwrPolTimerExpiredWakeCapablePowerDown);
    pub(crate) const TIMER_EXPIRED_WAKE_CAPABLE_WAKE_ARRIVED: Self =
        Self(wdf::WdfDevStatePwrPolTimerExpiredWakeCapableWakeArrived);
    pub(crate) const TIMER_EXPIRED_WAKE_COMPLETED_POWER_DOWN: Self =
        Self(wdf::WdfDevStatePwrPolTimerExpiredWakeCompletedPowerDown);
    pub(crate) const TIMER_EXPIRED_WAKE_COMPLETED_POWER_UP: Self =
        Self(wdf::WdfDevStatePwrPolTimerExpiredWakeCompletedPowerUp);
    pub(crate) const WAITING_ARMED: Self = Self(wdf::WdfDevStatePwrPolWaitingArmed);
    pub(crate) const IO_PRESENT_ARMED_WAKE_CANCELED: Self = Self(wdf::WdfDevStatePwrPolIoPresentArmedWakeCanceled);
    pub(crate) const S0_WAKE_DISARM: Self = Self(wdf::WdfDevStatePwrPolS0WakeDisarm);
    pub(crate) const S0_WAKE_COMPLETE_POWER_UP: Self = Self(wdf::WdfDevStatePwrPolS0WakeCompletePowerUp);
    pub(crate) const CANCELING_WAKE_FOR_SYSTEM_SLEEP_WAKE_CANCELED: Self =
        Self(wdf::WdfDevStatePwrPolCancelingWakeForSystemSleepWakeCanceled);
    pub(crate) const DISARMING_WAKE_FOR_SYSTEM_SLEEP_COMPLETE_POWER_UP: Self =
        Self(wdf::WdfDevStatePwrPolDisarmingWakeForSystemSleepCompletePowerUp);
    pub(crate) const STOPPING: Self = Self(wdf::WdfDevStatePwrPolStopping);
    pub(crate) const STOPPED: Self = Self(wdf::WdfDevStatePwrPolStopped);
    pub(crate) const STARTED: Self = Self(wdf::WdfDevStatePwrPolStarted);
    pub(crate) const REMOVED: Self = Self(wdf::WdfDevStatePwrPolRemoved);

    /// Returns the number of the state. Some states have a variant for devices whose power callbacks cannot be paged.
    pub(crate) const fn as_int(self, pageable: bool) -> i32 {
        let variant = match self {
            Self::SLEEPING_WAKE_WAKE_ARRIVED => wdf::WdfDevStatePwrPolSleepingWakeWakeArrivedNP,
            Self::SLEEPING_WAKE_REVERT_ARM_WAKE => wdf::WdfDevStatePwrPolSleepingWakeRevertArmWakeNP,
            Self::SYSTEM_ASLEEP_WAKE_ARMED => wdf::WdfDevStatePwrPolSystemAsleepWakeArmedNP,
            Self::SYSTEM_WAKE_DEVICE_WAKE_ENABLED_WAKE_CANCELED => {
                wdf::WdfDevStatePwrPolSystemWakeDeviceWakeEnabledWakeCanceledNP
            }
            Self::SYSTEM_WAKE_DEVICE_WAKE_DISARM => wdf::WdfDevStatePwrPolSystemWakeDeviceWakeDisarmNP,
            _ => return self.0,
        };
        if pageable { self.0 } else { variant }
    }
}

impl Default for PolicyState {
    fn default() -> Self {
        Self::OBJECT_CREATED
    }
}
