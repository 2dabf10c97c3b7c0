//! Functions and types that the macros' expansions use. Do not use them directly: they can change in any version.
//!
//! This module only connects other parts: every item is a re-export or turns a checked model into a constant.

pub use etw_types::tracelogging::{
    Piece, filetime_from_duration_after_1970, filetime_from_duration_before_1970, filetime_from_time32,
    filetime_from_time64, pieces_len,
};

pub use crate::event::data::Event;
pub use crate::event::frame::{CountArg, Counted, Frame, FrameMut, Ids, TableArg, no_id};
pub use crate::event::native_string::{StringPointer, ansi_string, unicode_string};
pub use crate::event::packed::{
    Packed2, Packed3, Packed4, Packed5, Packed6, Packed7, Packed8, Scalar, slice_descriptor, value_descriptor,
};
pub use crate::event::send::{Elements, Kind, Utf8, Utf16, write_text, write_values};
pub use crate::event::stop::{StopMetadata, stop_metadata_size};
pub use crate::event::text::{byte_count, element_count, elements, sid, until_nul, utf8, utf16};
pub use crate::event::value::{ActivityId, KernelPointer, StatusValue, address, id_bytes, ntstatus, reference, value};

pub use crate::format::bytes::FixedBytes;
pub use crate::format::guard::Formatting;

pub use crate::provider::{set_information_in_kernel, set_information_in_user};
pub use wdk_etw_macros::{define_provider, start_activity, stop_activity, write_event};

/// The crate's root. An expansion imports it, because Rust 1.91 does not let it import `$crate`.
pub mod root {
    pub use crate::*;
}

use etw_types::tracelogging::encode_pieces;

use crate::{ActivityResult, ActivityScope, Mode, Provider, Status};

/// The metadata made of `pieces`, for a constant.
///
/// # Panics
///
/// Panics if it is larger than 65535 bytes. In a constant, that is a compile error.
#[must_use]
#[expect(clippy::panic, reason = "evaluated in constants only")]
pub const fn metadata<const N: usize>(pieces: &[Piece<'_>]) -> [u8; N] {
    match encode_pieces(pieces) {
        Some(metadata) => metadata,
        None => panic!("the event's metadata (its name, field names and types) is larger than 65535 bytes"),
    }
}

/// Returns the provider that a macro received. The parameter's type makes anything else a single compile error.
#[must_use]
#[inline(always)]
pub const fn provider<M: Mode>(provider: &Provider<M>) -> &Provider<M> {
    provider
}

/// Returns the scope that a macro received. The parameter's type makes anything else a single compile error.
#[inline(always)]
pub const fn scope<M: Mode, R: ActivityResult>(scope: ActivityScope<M, R>) -> ActivityScope<M, R> {
    scope
}

/// Returns the status of an event that is not enabled.
#[must_use]
#[inline(always)]
pub const fn success<M: Mode>(_provider: &Provider<M>) -> M::Status {
    M::Status::SUCCESS
}
