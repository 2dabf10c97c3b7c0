//! The runtime library: strings, memory, lists, bit maps, printing.

mod bitmap;
mod crt;
mod debug;
mod list;
mod memory;
mod print;
mod string;

use crate::routine::Routine;

pub(super) const ROUTINES: [&[Routine]; 6] =
    [bitmap::ROUTINES, crt::ROUTINES, debug::ROUTINES, list::ROUTINES, memory::ROUTINES, string::ROUTINES];
