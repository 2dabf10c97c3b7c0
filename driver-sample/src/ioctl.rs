//! The driver's protocol: control codes and the layouts of their buffers.
//!
//! Plain bytes in, plain bytes out, no WDK types: a test or a client program can include this file as it is.

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

/// Answers the input.
pub(crate) const ECHO: u32 = control_code(0x800, READ_ACCESS | WRITE_ACCESS);
/// Answers [`Statistics`].
pub(crate) const GET_STATISTICS: u32 = control_code(0x801, READ_ACCESS);
/// Sets the timer's interval: a `u32` of milliseconds.
pub(crate) const SET_INTERVAL: u32 = control_code(0x802, WRITE_ACCESS);
/// Returns [`Statuses`].
pub(crate) const GET_STATUSES: u32 = control_code(0x803, READ_ACCESS);

/// What a client asks for.
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

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The code is none of ours.
    UnknownCode,
    /// A buffer is shorter than the code needs.
    BufferTooSmall,
    /// The interval is out of range.
    BadInterval,
}

impl Command {
    /// Intervals that the timer takes, in milliseconds.
    const INTERVALS: core::ops::RangeInclusive<u32> = 1..=60_000;

    /// Reads a request. Looks at everything that a client controls, and trusts none of it.
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

/// What [`GET_STATISTICS`] returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Statistics {
    /// Requests that came.
    pub(crate) requests: u64,
    /// Bytes that were echoed.
    pub(crate) bytes: u64,
    /// Ticks of the timer.
    pub(crate) ticks: u64,
}

impl Statistics {
    /// Bytes of the encoded form.
    pub(crate) const SIZE: usize = 24;

    /// Three little-endian integers.
    pub(crate) fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        for (place, value) in bytes.chunks_exact_mut(8).zip([self.requests, self.bytes, self.ticks]) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}

/// What [`GET_STATUSES`] returns: the statuses of starting the provider, which no event can report if registration
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
}

impl Statuses {
    /// Bytes of the encoded form.
    pub(crate) const SIZE: usize = 16;

    /// Four little-endian integers.
    pub(crate) fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let values = [self.register, self.traits, self.descriptor_types, self.binary];
        for (place, value) in bytes.chunks_exact_mut(4).zip(values) {
            place.copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }
}
