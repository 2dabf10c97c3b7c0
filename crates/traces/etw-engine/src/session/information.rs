//! What was set through the information classes.

use std::collections::BTreeMap;

use etw_types::session::TraceInfoClass;
use etw_types::session::info::{Information, Settable, SystemFlags};

/// Values that were set on a session or on the machine, including what cannot be queried on Windows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetInformation(BTreeMap<TraceInfoClass, Vec<u8>>);

/// Values of the machine.
#[derive(Default)]
pub(crate) struct MachineInformation {
    /// Class 5: intervals by source.
    pub(crate) intervals: BTreeMap<u32, u32>,
    /// The values of other classes.
    pub(crate) values: SetInformation,
}

impl SetInformation {
    pub(crate) fn new(enable_flags: u32) -> Self {
        let mut information = Self::default();
        information.set_enable_flags(enable_flags);
        information
    }

    /// Returns the value of a class, if it was set. A list that was set to nothing counts as not set.
    #[must_use]
    pub fn get<T: Settable>(&self) -> Option<T> {
        self.bytes(T::CLASS).and_then(|bytes| T::decode(bytes).ok())
    }

    /// Returns the data of a class, if it was set.
    pub(crate) fn bytes(&self, class: TraceInfoClass) -> Option<&[u8]> {
        self.0.get(&class).map(Vec::as_slice)
    }

    /// Keeps data in the layout of the class; no data clears it. Returns all values.
    pub(crate) fn keep(&mut self, class: TraceInfoClass, data: Vec<u8>) -> &Self {
        if data.is_empty() {
            self.0.remove(&class);
        } else {
            self.0.insert(class, data);
        }
        self
    }

    /// Replaces the public flags. Flags that alias other groups are not moved (our choice: Windows may move them).
    pub(crate) fn set_enable_flags(&mut self, flags: u32) {
        let SystemFlags(mut mask) = self.get().unwrap_or_default();
        if let Some(first) = mask.masks.first_mut() {
            *first = flags;
        }
        self.keep(SystemFlags::CLASS, SystemFlags(mask).encode());
    }
}
