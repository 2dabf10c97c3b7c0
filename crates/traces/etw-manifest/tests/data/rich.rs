// Generated from an instrumentation manifest by etw-manifest. Do not edit.

use ::wdk_etw as wdk_etw;

/// The provider `WdkEtw-Rich`. Register it before you write its events.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub static PROVIDER: wdk_etw::Provider = wdk_etw::Provider::for_manifest(
    wdk_etw::Guid::from_u128(0x7c2f4a512c8b4f1d9a3e5b6d7e8f9012),
    b"\x0e\x00WdkEtw-Rich\x00",
);

/// Channels.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub mod channel {
    /// WdkEtw-Rich/Admin
    pub const ADMIN: u8 = 0x10;
    /// WdkEtw-Rich/Debug
    pub const WDK_ETW_RICH_DEBUG: u8 = 0x11;
    /// System
    pub const SYSTEM: u8 = 0x8;
}

/// Levels that the manifest defines.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub mod level {
    /// Detail: Detail
    pub const LEVEL_DETAIL: u8 = 0x10;
}

/// Tasks.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub mod task {
    /// Transfer: Transfer of data
    pub const TASK_TRANSFER: u16 = 0x3;
    /// Device
    pub const DEVICE: u16 = 0x1;
}

/// Opcodes that the manifest defines.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub mod opcode {
    /// Probe
    pub const OPCODE_PROBE: u8 = 0xb;
    /// Retry: Retry
    pub const RETRY: u8 = 0x14;
}

/// Keywords that the manifest defines.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub mod keyword {
    /// Read: Reads
    pub const READ: u64 = 0x1;
    /// Write
    pub const WRITE: u64 = 0x100;
}

/// Filters: the ids that a session passes to the enable callback.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub mod filter {
    /// Sized: By size
    pub const FILTER_SIZED: u8 = 0x1;
    /// Errors
    pub const ERRORS: u8 = 0x2;
}

/// The value map `Mode`.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode(
    /// The numeric value.
    pub u32,
);

#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
impl Mode {
    /// Slow
    pub const MODE_SLOW: Self = Self(0x1);
    /// Fast
    pub const FAST: Self = Self(0x2);
}

/// The bit map `Flags`.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(
    /// The numeric value.
    pub u32,
);

#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
impl Flags {
    /// Cached
    pub const CACHED: Self = Self(0x1);
    /// Paged
    pub const PAGED: Self = Self(0x80);
}

/// Descriptor of event 1 version 0.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub const DEVICE_FAILED: wdk_etw::EventDescriptor =
    wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int(2), wdk_etw::Keyword::from_bits(0x8001000000000101))
        .with_id_version(1, 0)
        .with_channel(wdk_etw::Channel::from_int(16))
        .with_opcode(wdk_etw::Opcode::from_int(0))
        .with_task(1);

/// Writes event 1 version 0: The device %12 failed with %17 in mode %2.
///
/// `activity` is the event's activity id. If no session enabled the event, it is not written, and the status is `STATUS_SUCCESS`.
///
/// # Errors
///
/// Returns the errors of [`Provider::write`](wdk_etw::Provider::write), `STATUS_INVALID_PARAMETER` if a length or a value does not fit its field, and `STATUS_INVALID_SID` if a SID is truncated.
///
/// # IRQL
///
/// Any. Above `APC_LEVEL`, all data must be resident.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn device_failed(
    activity: Option<&wdk_etw::Guid>,
    i8: i8,
    u8: Mode,
    i16: i16,
    u16: u16,
    i32: i32,
    u32: Flags,
    i64: i64,
    u64: u64,
    f32: f32,
    f64: f64,
    bool: bool,
    id: &wdk_etw::Guid,
    address: usize,
    time: u64,
    parts: &[u16; 8],
    sid: &[u8],
    status: u32,
    mask: u64,
    text: &[u16],
    ansi: &[u8],
) -> wdk_etw::NtStatus {
    if !PROVIDER.enabled(DEVICE_FAILED.level, DEVICE_FAILED.keyword) {
        return wdk_etw::NtStatus::Success;
    }
    let Ok(u8) = <u8>::try_from(u8.0) else { return wdk_etw::NtStatus::InvalidParameter };
    let u32 = u32.0;
    let bool = u32::from(bool);
    let Some(sid) = wdk_etw::__private::sid(sid) else { return wdk_etw::NtStatus::InvalidSid };
    let text = wdk_etw::__private::until_nul(text);
    let ansi = wdk_etw::__private::until_nul(ansi);
    PROVIDER.write(&DEVICE_FAILED, activity, None, &[
        wdk_etw::__private::value_descriptor(&i8),
        wdk_etw::__private::value_descriptor(&u8),
        wdk_etw::__private::value_descriptor(&i16),
        wdk_etw::__private::value_descriptor(&u16),
        wdk_etw::__private::value_descriptor(&i32),
        wdk_etw::__private::value_descriptor(&u32),
        wdk_etw::__private::value_descriptor(&i64),
        wdk_etw::__private::value_descriptor(&u64),
        wdk_etw::__private::value_descriptor(&f32),
        wdk_etw::__private::value_descriptor(&f64),
        wdk_etw::__private::value_descriptor(&bool),
        wdk_etw::__private::value_descriptor(id),
        wdk_etw::__private::value_descriptor(&address),
        wdk_etw::__private::value_descriptor(&time),
        wdk_etw::__private::value_descriptor(parts),
        wdk_etw::__private::slice_descriptor(sid),
        wdk_etw::__private::value_descriptor(&status),
        wdk_etw::__private::value_descriptor(&mask),
        wdk_etw::__private::slice_descriptor(text),
        wdk_etw::__private::value_descriptor(&0_u16),
        wdk_etw::__private::slice_descriptor(ansi),
        wdk_etw::__private::value_descriptor(&0_u8),
    ])
}

/// Descriptor of event 2 version 1.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub const TRANSFER_RETRIED: wdk_etw::EventDescriptor =
    wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int(16), wdk_etw::Keyword::from_bits(0x4000000000000001))
        .with_id_version(2, 1)
        .with_channel(wdk_etw::Channel::from_int(17))
        .with_opcode(wdk_etw::Opcode::from_int(20))
        .with_task(3);

/// Writes event 2 version 1.
///
/// `activity` is the event's activity id. If no session enabled the event, it is not written, and the status is `STATUS_SUCCESS`.
///
/// # Errors
///
/// Returns the errors of [`Provider::write`](wdk_etw::Provider::write), `STATUS_INVALID_PARAMETER` if a length or a value does not fit its field, and `STATUS_INVALID_SID` if a SID is truncated.
///
/// # IRQL
///
/// Any. Above `APC_LEVEL`, all data must be resident.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn transfer_retried(
    activity: Option<&wdk_etw::Guid>,
    data: &[u8],
    tag: &[u8; 4],
    numbers: &[u32],
    ids: &[u16; 2],
    counted: &[u16],
) -> wdk_etw::NtStatus {
    if !PROVIDER.enabled(TRANSFER_RETRIED.level, TRANSFER_RETRIED.keyword) {
        return wdk_etw::NtStatus::Success;
    }
    let Ok(size) = <u32>::try_from(data.len()) else { return wdk_etw::NtStatus::InvalidParameter };
    let Ok(count) = <u16>::try_from(numbers.len()) else { return wdk_etw::NtStatus::InvalidParameter };
    let counted = wdk_etw::__private::utf16(counted);
    let counted_size = wdk_etw::__private::byte_count(counted);
    PROVIDER.write(&TRANSFER_RETRIED, activity, None, &[
        wdk_etw::__private::value_descriptor(&size),
        wdk_etw::__private::slice_descriptor(data),
        wdk_etw::__private::slice_descriptor(tag),
        wdk_etw::__private::value_descriptor(&count),
        wdk_etw::__private::slice_descriptor(numbers),
        wdk_etw::__private::slice_descriptor(ids),
        wdk_etw::__private::value_descriptor(&counted_size),
        wdk_etw::__private::slice_descriptor(counted),
    ])
}

/// Descriptor of event 3 version 0.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub const PROBED: wdk_etw::EventDescriptor =
    wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int(5), wdk_etw::Keyword::from_bits(0x2000000000000000))
        .with_id_version(3, 0)
        .with_channel(wdk_etw::Channel::from_int(8))
        .with_opcode(wdk_etw::Opcode::from_int(11))
        .with_task(3);

/// Writes event 3 version 0.
///
/// `activity` is the event's activity id. If no session enabled the event, it is not written, and the status is `STATUS_SUCCESS`.
///
/// # Errors
///
/// Returns the errors of [`Provider::write`](wdk_etw::Provider::write), `STATUS_INVALID_PARAMETER` if a length or a value does not fit its field, and `STATUS_INVALID_SID` if a SID is truncated.
///
/// # IRQL
///
/// Any. Above `APC_LEVEL`, all data must be resident.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn probed(
    activity: Option<&wdk_etw::Guid>,
    count: u16,
    items: &[u8],
) -> wdk_etw::NtStatus {
    if !PROVIDER.enabled(PROBED.level, PROBED.keyword) {
        return wdk_etw::NtStatus::Success;
    }
    PROVIDER.write(&PROBED, activity, None, &[
        wdk_etw::__private::value_descriptor(&count),
        wdk_etw::__private::slice_descriptor(items),
    ])
}

/// Descriptor of event 512 version 0.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub const EVENT_512_V0: wdk_etw::EventDescriptor =
    wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int(0), wdk_etw::Keyword::from_bits(0x0))
        .with_id_version(512, 0)
        .with_channel(wdk_etw::Channel::from_int(0))
        .with_opcode(wdk_etw::Opcode::from_int(1))
        .with_task(3);

/// Writes event 512 version 0: A transfer started.
///
/// `activity` is the event's activity id. If no session enabled the event, it is not written, and the status is `STATUS_SUCCESS`.
///
/// # Errors
///
/// Returns the errors of [`Provider::write`](wdk_etw::Provider::write), `STATUS_INVALID_PARAMETER` if a length or a value does not fit its field, and `STATUS_INVALID_SID` if a SID is truncated.
///
/// # IRQL
///
/// Any. Above `APC_LEVEL`, all data must be resident.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn event_512_v0(
    activity: Option<&wdk_etw::Guid>,
) -> wdk_etw::NtStatus {
    if !PROVIDER.enabled(EVENT_512_V0.level, EVENT_512_V0.keyword) {
        return wdk_etw::NtStatus::Success;
    }
    PROVIDER.write(&EVENT_512_V0, activity, None, &[
    ])
}

