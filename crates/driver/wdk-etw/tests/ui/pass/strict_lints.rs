//! Expansions compile without a warning under strict lints, without `std` and without `unsafe`.
#![no_std]
#![forbid(unsafe_code, clippy::unwrap_used, clippy::indexing_slicing)]
#![deny(warnings, missing_docs, unused, unused_qualifications, unreachable_pub, elided_lifetimes_in_paths)]
#![deny(single_use_lifetimes, trivial_casts, unused_results, missing_debug_implementations)]

extern crate std;

use etw_symbols as _;
use wdk_etw::{NtStatus, define_provider, start_activity, write_event};

define_provider!(PROVIDER, "Strict");

/// A tag that is not a literal.
const TAG: u32 = 0x123;

fn main() {
    let status: NtStatus = write_event!(PROVIDER, "Nothing");
    assert!(status.is_success());
    let _ = write_event!(
        PROVIDER,
        "Everything",
        level(Warning),
        keyword(1),
        keyword(2),
        opcode(3),
        task(4),
        channel(TraceLogging),
        id_version(5, 6),
        tag(TAG),
        activity_id(&[0_u8; 16]),
        related_id(&wdk_etw::Guid::ZERO),
        u8("A", &1),
        usize("B", &2, tag(TAG)),
        str8("C", "text"),
        str16("D", &[0x41]),
        cstr8("E", "text"),
        u32_slice("F", &[1, 2, 3]),
        win_sid("G", &[1, 0, 0, 0, 0, 0, 0, 0]),
        ipv6("H", &[0; 16]),
        time32("I", &0),
        time64("J", &0),
        ntstatus("K", &status),
        irql("L", &0),
        kernel_ptr("M", core::ptr::null::<u8>()),
        struct("N", { raw_field("O", U8, &[1], format(wdk_etw::OutType::Hex)), raw_meta("P", HexSize), raw_data(&[0; 8]) }),
        raw_struct("Q", 1),
        f64("R", &1.5),
    );
    let scope = start_activity!(PROVIDER, "Activity", tag(TAG), str8("A", "text"));
    let _ = scope.stop();
}
