//! The machine: everything that one driver runs on, in one value.
//!
//! It is built once in a process. Each layer below finds its part by a reference that it gets here, so that no layer
//! knows those above it.

mod load;
mod plug;
mod routines;
mod threads;

use std::io;
use std::sync::{Mutex, OnceLock};

use etw_engine::{Engine, Session};

use crate::config::Config;
use crate::cpu::thread::{self, Threads};
use crate::exception::signals;
use crate::image::{self, Image};
use crate::kernel::{self, Kernel, Table, lock};
use crate::loader::Mapped;
use crate::verify::{self, Findings, Verifier};
use crate::wdf;

pub use load::Loaded;
pub use plug::{DeviceId, FileId};
pub use routines::{Known, Listed, can_fail, everything, known, routines};

/// What the machine owns.
struct Parts {
    verifier: Verifier,
    threads: Threads,
    /// The numbers of the thread that serves requests and of the one that runs deferred calls: the same in each run.
    numbers: OnceLock<(u32, u32)>,
    image: Image,
    /// The loaded driver.
    mapped: Mutex<Option<Mapped>>,
    kernel: Kernel,
    framework: wdf::Attached,
    clients: Mutex<plug::Clients>,
}

static MACHINE: OnceLock<Parts> = OnceLock::new();

/// The machine of this process.
#[derive(Clone, Copy)]
pub struct Machine {
    parts: &'static Parts,
}

impl Machine {
    /// Starts the machine of this process, with handlers for the signals of faults. What the driver does wrong goes to
    /// `findings`.
    ///
    /// # Errors
    ///
    /// If there is a machine already, or the system has no pipe or handler for it.
    pub fn start(config: Config, findings: Findings) -> io::Result<Self> {
        let table = Table::new(&config, routines::all(), wdf::functions())?;
        let parts = Parts {
            verifier: Verifier::new(findings)?,
            threads: Threads::default(),
            numbers: OnceLock::new(),
            image: Image::default(),
            mapped: Mutex::default(),
            kernel: Kernel::new(config, table),
            framework: wdf::Attached::new(plug::close_all_of),
            clients: Mutex::default(),
        };
        MACHINE.set(parts).map_err(|_| io::Error::from(io::ErrorKind::AlreadyExists))?;
        let parts = self::parts();
        verify::attach(&parts.verifier);
        thread::attach_to(&parts.threads);
        parts.numbers.get_or_init(|| (thread::reserve_number(), thread::reserve_number()));
        image::attach(&parts.image);
        kernel::attach(&parts.kernel);
        wdf::attach(&parts.framework);
        signals::install()?;
        Ok(Self { parts })
    }

    /// What it was started with.
    #[must_use]
    pub const fn config(self) -> &'static Config {
        &self.parts.kernel.config
    }

    /// Its ETW.
    #[must_use]
    pub const fn engine(self) -> &'static Engine {
        &self.parts.kernel.engine
    }

    /// The session that takes everything, if the configuration asks for one.
    #[must_use]
    pub fn trace(self) -> Option<Session> {
        lock(&self.parts.kernel.etw).session()
    }

    /// How many events the driver has written.
    #[must_use]
    pub fn events_written(self) -> u64 {
        lock(&self.parts.kernel.etw).written()
    }

    /// The routines that the driver called and that can fail, with how often it called each.
    #[must_use]
    pub fn fallible_calls(self) -> Vec<(String, u64)> {
        self.parts.kernel.table.fallible_calls()
    }

    /// Whether the run has ended with a bug check.
    #[must_use]
    pub fn is_stopped(self) -> bool {
        verify::is_stopped()
    }
}

#[expect(clippy::expect_used, reason = "a `Machine` exists only after it was started")]
fn parts() -> &'static Parts {
    MACHINE.get().expect("a machine was started")
}
