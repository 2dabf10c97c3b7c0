//! The devices of this driver, in a table that can be read at any IRQL.
//!
//! A capture-state request runs on a thread of ETW, without a device, and needs an event for each device. The framework
//! has no function to enumerate a driver's devices, and a lock would make the callback wait. Therefore each device has
//! a slot of atomics in a static table. Nothing here allocates or waits, and no WDK types are needed.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use core::time::Duration;

use super::ioctl::Statistics;

/// Maximum number of devices in the table.
const CAPACITY: usize = 16;

/// The state of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// The slot is free.
    Free = 0,
    /// Added, not powered.
    Added = 1,
    /// In D0.
    Working = 2,
    /// Out of D0.
    Stopped = 3,
}

impl State {
    fn from_raw(raw: u32) -> Self {
        match raw {
            1 => Self::Added,
            2 => Self::Working,
            3 => Self::Stopped,
            _ => Self::Free,
        }
    }

    /// Returns the name to display.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Added => "added",
            Self::Working => "working",
            Self::Stopped => "stopped",
        }
    }
}

/// The data of one device.
#[derive(Debug)]
pub(crate) struct Device {
    id: AtomicU32,
    state: AtomicU32,
    interval_ms: AtomicU32,
    requests: AtomicU64,
    bytes: AtomicU64,
    ticks: AtomicU64,
}

/// A slot that is taken, but not ready for readers. [`State::from_raw`] treats it as free.
const CLAIMED: u32 = u32::MAX;

static DEVICES: [Device; CAPACITY] = [const { Device::free() }; CAPACITY];
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// Takes a slot for a new device. Returns `None` if all are in use.
pub(crate) fn add() -> Option<&'static Device> {
    let device = DEVICES.iter().find(|device| {
        device.state.compare_exchange(State::Free as u32, CLAIMED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    })?;
    // Readers see the slot only after the values of its previous device are gone.
    device.reset(NEXT_ID.fetch_add(1, Ordering::Relaxed));
    device.set_state(State::Added);
    Some(device)
}

/// Returns the current devices.
pub(crate) fn all() -> impl Iterator<Item = &'static Device> {
    DEVICES.iter().filter(|device| device.state() != State::Free)
}

impl Device {
    const DEFAULT_INTERVAL_MS: u32 = 1000;

    const fn free() -> Self {
        Self {
            id: AtomicU32::new(0),
            state: AtomicU32::new(State::Free as u32),
            interval_ms: AtomicU32::new(Self::DEFAULT_INTERVAL_MS),
            requests: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
        }
    }

    fn reset(&self, id: u32) {
        self.interval_ms.store(Self::DEFAULT_INTERVAL_MS, Ordering::Relaxed);
        for counter in [&self.requests, &self.bytes, &self.ticks] {
            counter.store(0, Ordering::Relaxed);
        }
        self.id.store(id, Ordering::Release);
    }

    /// Frees the slot.
    pub(crate) fn remove(&self) {
        self.state.store(State::Free as u32, Ordering::Release);
    }

    /// Returns a number that is unique while the driver is loaded.
    pub(crate) fn id(&self) -> u32 {
        self.id.load(Ordering::Acquire)
    }

    /// Returns the state of the device.
    pub(crate) fn state(&self) -> State {
        State::from_raw(self.state.load(Ordering::Acquire))
    }

    /// Sets the state of the device.
    pub(crate) fn set_state(&self, state: State) {
        self.state.store(state as u32, Ordering::Release);
    }

    /// Returns the time between two ticks.
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_millis(self.interval_ms.load(Ordering::Relaxed).into())
    }

    /// Sets the time between two ticks.
    pub(crate) fn set_interval(&self, interval: Duration) {
        let milliseconds = u32::try_from(interval.as_millis()).unwrap_or(Self::DEFAULT_INTERVAL_MS);
        self.interval_ms.store(milliseconds, Ordering::Relaxed);
    }

    /// Counts a request.
    pub(crate) fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts echoed bytes.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a tick. Returns the number of ticks so far.
    pub(crate) fn count_tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the counters.
    pub(crate) fn statistics(&self) -> Statistics {
        Statistics {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            ticks: self.ticks.load(Ordering::Relaxed),
        }
    }
}
