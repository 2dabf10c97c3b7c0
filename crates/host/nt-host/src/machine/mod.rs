//! The machine: everything that one driver runs on, in one value.
//!
//! It is built once in a process. Each layer below finds its part by a reference that it gets here, so that no layer
//! knows those above it.

pub(crate) mod load;
pub(crate) mod plug;
mod routines;

use std::sync::{Mutex, OnceLock};

use crate::config::Config;
use crate::image::{self, Image};
use crate::kernel::{self, Kernel, Table};
use crate::loader::Mapped;
use crate::wdf::{self, Framework};

pub(crate) use routines::can_fail;
pub use routines::{Known, known};

/// The machine of this process.
pub(crate) struct Machine {
    image: Image,
    /// The loaded driver.
    mapped: Mutex<Option<Mapped>>,
    kernel: Kernel,
    framework: Mutex<Framework>,
    clients: Mutex<plug::Clients>,
}

static MACHINE: OnceLock<Machine> = OnceLock::new();

/// Starts the machine of this process.
pub(crate) fn start(config: Config) {
    let machine = MACHINE.get_or_init(|| {
        let table = Table::new(&config, routines::all(), wdf::functions());
        Machine {
            image: Image::default(),
            mapped: Mutex::default(),
            kernel: Kernel::new(config, table),
            framework: Mutex::default(),
            clients: Mutex::default(),
        }
    });
    image::attach(&machine.image);
    kernel::attach(&machine.kernel);
    wdf::attach(&machine.framework, plug::close_all);
}

fn machine() -> &'static Machine {
    MACHINE.get().expect("a machine was started")
}
