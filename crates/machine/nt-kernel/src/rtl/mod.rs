//! The runtime library: strings, memory, lists, bitmaps, printing.

mod bitmap;
mod crt;
mod crt_convert;
mod crt_print;
mod debug;
pub(crate) mod expression;
mod image;
pub(crate) mod list;
mod memory;
mod print;
pub(crate) mod security;
mod string;
pub(crate) mod table;

use nt_verifier::routine::Routine;

pub(super) const ROUTINES: &[&[Routine]] = &[
    bitmap::ROUTINES,
    crt::ROUTINES,
    crt_convert::ROUTINES,
    crt_print::ROUTINES,
    debug::ROUTINES,
    expression::ROUTINES,
    image::ROUTINES,
    list::ROUTINES,
    memory::ROUTINES,
    security::ROUTINES,
    string::ROUTINES,
    table::ROUTINES,
];
