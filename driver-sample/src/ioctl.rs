//! The driver's protocol: control codes and the layouts of their buffers.
//!
//! The input and output are plain bytes, without WDK types: a test or a client program can include this file as it is.

use core::time::Duration;

/// `FILE_DEVICE_UNKNOWN`.
const DEVICE_TYPE: u32 = 0x22;
/// `METHOD_BUFFERED`: input and output share one buffer in the kernel.
const METHOD: u32 = 0;
const READ_ACCESS: u32 = 1;
const WRITE_ACCESS: u32 = 2;

/// `CTL_CODE`.
const fn control_code(function: u32, access: u32) -> u32 {
    (DEVICE_TYPE << 16) | (access << 14) | (function << 2) | METHOD
}

/// Returns the input.
pub(crate) const ECHO: u32 = control_code(0x800, READ_ACCESS | WRITE_ACCESS);
/// Returns [`Statistics`].
pub(crate) const GET_STATISTICS: u32 = control_code(0x801, READ_ACCESS);
/// Sets the timer's interval: a `u32` of milliseconds.
pub(crate) const SET_INTERVAL: u32 = control_code(0x802, WRITE_ACCESS);
/// Returns [`Statuses`].
pub(crate) const GET_STATUSES: u32 = control_code(0x803, READ_ACCESS);

/// The request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// [`ECHO`].
    Echo,
    /// [`GET_STATISTICS`].
    GetStatistics,
    /// [`SET_INTERVAL`].
    SetInterval(Duration),
    /// [`GET_STATUSES`].
    GetStatuses,
}

/// The reason that a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The control code is unknown.
    UnknownCode,
    /// A buffer is smaller than the control code needs.
    BufferTooSmall,
    /// The interval is out of range.
    BadInterval,
}

impl Command {
    /// The valid intervals of the timer, in milliseconds.
    const INTERVALS: core::ops::RangeInclusive<u32> = 1..=60_000;

    /// Parses a request. All of it is untrusted and is checked.
    pub(crate) fn parse(code: u32, input: &[u8], output_length: usize) -> Result<Self, Refusal> {
        match code {
            ECHO if output_length < input.len() => Err(Refusal::BufferTooSmall),
            ECHO => Ok(Self::Echo),
            GET_STATISTICS if output_length < Statistics::SIZE => Err(Refusal::BufferTooSmall),
            GET_STATISTICS => Ok(Self::GetStatistics),
            GET_STATUSES if output_length < Statuses::SIZE => Err(Refusal::BufferTooSmall),
            GET_STATUSES => Ok(Self::GetStatuses),
            SET_INTERVAL => {
                let milliseconds = input.first_chunk().ok_or(Refusal::BufferTooSmall)?;
                let milliseconds = u32::from_le_bytes(*milliseconds);
                if Self::INTERVALS.contains(&milliseconds) {
                    Ok(Self::SetInterval(Duration::from_millis(milliseconds.into())))
                } else {
                    Err(Refusal::BadInterval)
                }
            }
            _ => Err(Refusal::UnknownCode),
        }
    }
}

/// The output of [`GET_STATISTICS`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Number of requests.
    pub(crate) requests: u64,
    /// Number of echoed bytes.
    pub(crate) bytes: u64,
    /// Number of ticks of the timer.
    pub(crate) ticks: u64,
}

impl Statistics {
    /// Size of the encoded form in bytes.
    pub(crate) const SIZE: usize = 24;

    /// Encodes the values as three little-endian integers.
    pub(crate) fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        for (place, value) in bytes.chunks_exact_mut(8).zip([self.requests, self.bytes, self.ticks]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

/// The output of [`GET_STATUSES`]: the statuses of starting the providers, which no event can report if the registration
/// failed. Each is an `NTSTATUS`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statuses {
    /// `EtwRegister`.
    pub(crate) register: u32,
    /// Set-information, class 2: name and group.
    pub(crate) traits: u32,
    /// Set-information, class 3: descriptor types.
    pub(crate) descriptor_types: u32,
    /// Set-information, class 0: binary tracking.
    pub(crate) binary: u32,
    /// `EtwRegister` of the manifest's provider.
    pub(crate) admin_register: u32,
    /// Set-information, class 0, of the manifest's provider.
    pub(crate) admin_binary: u32,
}

impl Statuses {
    /// Size of the encoded form in bytes.
    pub(crate) const SIZE: usize = 24;

    /// Encodes the values as six little-endian integers.
    pub(crate) fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let values =
            [self.register, self.traits, self.descriptor_types, self.binary, self.admin_register, self.admin_binary];
        for (place, value) in bytes.chunks_exact_mut(4).zip(values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}
