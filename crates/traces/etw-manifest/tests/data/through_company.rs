// Generated from an instrumentation manifest by etw-manifest. Do not edit.

use super::company::etw as wdk_etw;

/// The provider `Test-Structs`. Register it before you write its events.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub static PROVIDER: wdk_etw::Provider = wdk_etw::Provider::for_manifest(
    wdk_etw::Guid::from_u128(0x5f0f3f6c58a24c0b9f430d3c1c7a9b11),
    b"\x0f\x00Test-Structs\x00",
);

/// The value map `State`.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(
    /// The numeric value.
    pub u32,
);

#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
impl State {
    /// on
    pub const ON: Self = Self(0x1);
}

/// Descriptor of event 1 version 0.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub const BLOCKS_READ: wdk_etw::EventDescriptor =
    wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int(4), wdk_etw::Keyword::from_bits(0x0))
        .with_id_version(1, 0)
        .with_channel(wdk_etw::Channel::from_int(0))
        .with_opcode(wdk_etw::Opcode::from_int(0))
        .with_task(0);

/// The structure `Where` of [`blocks_read`]. Create it with [`blocks_read_where`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub type BlocksReadWhere = wdk_etw::__private::Packed3<u64, u32, u32>;

/// Creates the structure `Where` of [`blocks_read`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn blocks_read_where(
    block: u64,
    cached: bool,
    state: State,
) -> BlocksReadWhere {
    wdk_etw::__private::Packed3(block, u32::from(cached), state.0)
}

/// The structure `Parts` of [`blocks_read`]. Create it with [`blocks_read_parts`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub type BlocksReadParts = wdk_etw::__private::Packed2<u16, [u8; 3]>;

/// Creates the structure `Parts` of [`blocks_read`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn blocks_read_parts(
    id: u16,
    tag: [u8; 3],
) -> BlocksReadParts {
    wdk_etw::__private::Packed2(id, tag)
}

/// The structure `Pair` of [`blocks_read`]. Create it with [`blocks_read_pair`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub type BlocksReadPair = u8;

/// Creates the structure `Pair` of [`blocks_read`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn blocks_read_pair(
    only: u8,
) -> BlocksReadPair {
    only
}

/// Writes event 1 version 0.
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
pub fn blocks_read(
    activity: Option<&wdk_etw::Guid>,
    where_: &BlocksReadWhere,
    parts: &[BlocksReadParts],
    pair: &[BlocksReadPair; 2],
) -> wdk_etw::NtStatus {
    if !PROVIDER.enabled(BLOCKS_READ.level, BLOCKS_READ.keyword) {
        return wdk_etw::NtStatus::Success;
    }
    let Ok(count) = <u16>::try_from(parts.len()) else { return wdk_etw::NtStatus::InvalidParameter };
    PROVIDER.write(&BLOCKS_READ, activity, None, &[
        wdk_etw::__private::value_descriptor(where_),
        wdk_etw::__private::value_descriptor(&count),
        wdk_etw::__private::slice_descriptor(parts),
        wdk_etw::__private::slice_descriptor(pair),
    ])
}

/// Descriptor of event 2 version 0.
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub const WIDE_ONE: wdk_etw::EventDescriptor =
    wdk_etw::EventDescriptor::new(wdk_etw::Level::from_int(4), wdk_etw::Keyword::from_bits(0x0))
        .with_id_version(2, 0)
        .with_channel(wdk_etw::Channel::from_int(0))
        .with_opcode(wdk_etw::Opcode::from_int(0))
        .with_task(0);

/// The structure `All` of [`wide_one`]. Create it with [`wide_one_all`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub type WideOneAll = wdk_etw::__private::Packed8<u8, u16, [u32; 2], wdk_etw::Guid, usize, u64, [u16; 2], wdk_etw::__private::Packed2<u8, i16>>;

/// Creates the structure `All` of [`wide_one`].
#[allow(dead_code, unreachable_pub, clippy::all, clippy::pedantic, reason = "generated from a manifest")]
pub fn wide_one_all(
    a: u8,
    b: u16,
    c: [u32; 2],
    d: wdk_etw::Guid,
    e: usize,
    f: u64,
    g: [u16; 2],
    h: u8,
    i: i16,
) -> WideOneAll {
    wdk_etw::__private::Packed8(a, b, c, d, e, f, g, wdk_etw::__private::Packed2(h, i))
}

/// Writes event 2 version 0.
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
pub fn wide_one(
    activity: Option<&wdk_etw::Guid>,
    all: &WideOneAll,
) -> wdk_etw::NtStatus {
    if !PROVIDER.enabled(WIDE_ONE.level, WIDE_ONE.keyword) {
        return wdk_etw::NtStatus::Success;
    }
    PROVIDER.write(&WIDE_ONE, activity, None, &[
        wdk_etw::__private::value_descriptor(all),
    ])
}

