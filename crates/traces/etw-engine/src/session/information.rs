//! What was set on a session through the information classes.

use etw_types::Guid;
use etw_types::session::{ClassicEventId, ContextRegisterInfo, GroupMask, PeriodicCaptureStateInfo, StackCachingInfo};

/// Everything that was set on one session, including what cannot be queried on Windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionInformation {
    /// Class 3.
    pub stack_tracing: Vec<ClassicEventId>,
    /// Class 4.
    pub system_flags: GroupMask,
    /// Class 8.
    pub pmc_events: Vec<ClassicEventId>,
    /// Class 9.
    pub pmc_counters: Vec<u32>,
    /// Class 16.
    pub periodic_capture: Option<(PeriodicCaptureStateInfo, Vec<Guid>)>,
    /// Class 18.
    pub binary_tracking: bool,
    /// Class 20.
    pub lbr_configuration: Option<u32>,
    /// Class 21.
    pub lbr_events: Vec<u32>,
    /// Class 24.
    pub stack_caching: Option<StackCachingInfo>,
    /// Class 26.
    pub unified_stack_caching: Option<StackCachingInfo>,
    /// Class 28.
    pub context_registers: Option<(ContextRegisterInfo, Vec<ClassicEventId>)>,
}

impl SessionInformation {
    pub(crate) fn new(enable_flags: u32) -> Self {
        let mut information = Self::default();
        information.set_enable_flags(enable_flags);
        information
    }

    /// Replaces the public flags. Flags that alias other groups are not moved (our choice: Windows may move them).
    pub(crate) fn set_enable_flags(&mut self, flags: u32) {
        if let Some(mask) = self.system_flags.masks.first_mut() {
            *mask = flags;
        }
    }
}
