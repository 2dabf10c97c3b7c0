//! The Windows Filtering Platform, for callout drivers: the filter engine, and a network stack around it.
//!
//! A driver registers callouts (`callout`), adds filters (`management`) and lists them (`lookup`). A test describes connections and packets
//! (`traffic`); they pass the layers in the order of Windows (`stack`). At each layer, `classify` finds the filters that
//! match and calls their callouts. Callouts pend operations (`pend`), inject packets (`inject`) and keep contexts for
//! flows (`flow`). All state is in `state`, whose lock is never held while driver code runs.
//!
//! This is written from Microsoft's public documentation. The layouts and keys that Microsoft's metadata has are compared
//! with it.
//!
//! The crate supports Linux on x86-64 only; on other targets it is empty.
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![forbid(unsafe_code)]
#![expect(
    clippy::cast_possible_truncation,
    reason = "registers and stack slots have eight bytes, and a narrower argument is in the low ones"
)]
#![expect(clippy::must_use_candidate, reason = "the interface is for the crates of this folder")]
#![expect(clippy::struct_excessive_bools, reason = "states and switches that the imitated system has as well")]

mod buffers;
mod callout;
mod classify;
mod flow;
mod inject;
mod journey;
mod layers;
mod lists;
mod lookup;
mod management;
mod ndis;
mod packet;
mod pend;
mod record;
mod route;
mod scratch;
mod stack;
mod state;
mod stream;
mod traffic;
mod value;

use nt_processor::image::Leaving;
use nt_verifier::routine::Routine;

pub use state::{Delivered, LayerVerdict, Passage, Verdict};
pub use state::{State, attach};
pub use traffic::{Connection, Packet};
pub use traffic::{connect, disconnect, has_callouts, passage, send, transfer};

/// The routines of `fwpkclnt.sys`, and those of `ndis.sys` for packets.
pub const ROUTINES: &[&[Routine]] = &[
    callout::ROUTINES,
    flow::ROUTINES,
    inject::ROUTINES,
    lists::ROUTINES,
    lookup::ROUTINES,
    management::ROUTINES,
    ndis::ROUTINES,
    pend::ROUTINES,
];

/// Reports what an image left in the filter engine, and removes it.
pub fn report_leaks(leaving: Leaving) {
    callout::report_leaks(leaving);
    pend::report_leaks(leaving);
    lists::report_leaks(leaving);
    if leaving.is_last() {
        state::forget();
    }
}
