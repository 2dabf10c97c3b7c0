//! The machine: everything that a driver runs on, in one value.
//!
//! A process creates it once. Each layer finds its part through a reference that is set here, so that no layer depends
//! on those above it.

mod clients;
#[cfg(test)]
mod documentation;
mod files;
mod gaps;
mod guests;
mod load;
#[cfg(test)]
mod metadata;
mod network;
#[cfg(test)]
mod pages;
mod plug;
mod probe;
mod routines;
mod spare;
mod threads;
#[cfg(test)]
mod undeclared;

use std::io;
use std::sync::{Mutex, OnceLock};

use etw_engine::{Engine, Session};

use crate::cng;
use crate::config::Config;
use crate::coverage::{self, callbacks};
use crate::cpu::thread::{self, Threads};
use crate::exception::signals;
use crate::filter;
use crate::hardware::{self, Hardware, HardwareAccess};
use crate::hid;
use crate::image::{self, Images};
use crate::kernel::{self, Kernel, Table, lock};
use crate::verify::{self, Findings, Gap, Verifier};
use crate::wdf;
use crate::wfp;

pub use clients::FileId;
pub use files::FilePort;
pub use guests::{Guest, Guests, Role};
pub use load::Loaded;
pub use plug::DeviceId;
pub use routines::{RoutineInfo, Support, all_routines, can_fail, support};

/// The parts that the machine owns.
struct Parts {
    verifier: Verifier,
    threads: Threads,
    spare: spare::Spare,
    /// The numbers of the thread that serves requests and of the one that runs DPCs. They are the same in every run.
    numbers: OnceLock<(u32, u32)>,
    images: Images,
    /// The loaded images, in the order in which they were loaded.
    residents: Mutex<Vec<load::Resident>>,
    kernel: Kernel,
    framework: wdf::Attached,
    filters: filter::Manager,
    hardware: Hardware,
    volume: Mutex<files::Clients>,
    filtering: Mutex<wfp::State>,
    cryptography: Mutex<cng::State>,
    human_interface: Mutex<hid::State>,
    clients: Mutex<clients::Clients>,
}

static MACHINE: OnceLock<Parts> = OnceLock::new();

/// The machine of this process.
#[derive(Clone, Copy)]
pub struct Machine {
    parts: &'static Parts,
}

impl Machine {
    /// Starts the machine of this process and installs signal handlers for faults. The driver's mistakes are recorded
    /// in `findings`.
    ///
    /// # Errors
    ///
    /// Fails if this process already has a machine, or if memory, a pipe or signal handlers are not available.
    pub fn start(config: Config, findings: Findings) -> io::Result<Self> {
        let hardware = config.hardware.clone();
        let table = Table::new(&config, routines::all(), wdf::functions())?;
        let parts = Parts {
            verifier: Verifier::new(findings)?,
            threads: Threads::default(),
            spare: spare::Spare::default(),
            numbers: OnceLock::new(),
            images: Images::default(),
            residents: Mutex::default(),
            kernel: Kernel::new(config, table, clients::close_all_of_packets),
            framework: wdf::Attached::new(clients::close_all_of),
            filters: filter::Manager::default(),
            hardware: Hardware::new(hardware),
            volume: Mutex::default(),
            filtering: Mutex::default(),
            cryptography: Mutex::default(),
            human_interface: Mutex::default(),
            clients: Mutex::default(),
        };
        MACHINE.set(parts).map_err(|_| io::Error::from(io::ErrorKind::AlreadyExists))?;
        let parts = self::parts();
        verify::attach(&parts.verifier);
        thread::attach_to(&parts.threads);
        parts.numbers.get_or_init(|| (thread::reserve_number(), thread::reserve_number()));
        image::attach(&parts.images);
        kernel::attach(&parts.kernel);
        wdf::attach(&parts.framework);
        if let Some(coverage) = &parts.kernel.config.coverage {
            coverage::attach(coverage);
        }
        if let Some(callbacks) = &parts.kernel.config.callbacks {
            callbacks::attach(callbacks);
        }
        filter::attach(&parts.filters);
        wfp::attach(&parts.filtering);
        cng::attach(&parts.cryptography);
        hid::attach(&parts.human_interface);
        hardware::attach(&parts.hardware);
        signals::install()?;
        Ok(Self { parts })
    }

    /// Returns the configuration that it was started with.
    #[must_use]
    pub const fn config(self) -> &'static Config {
        &self.parts.kernel.config
    }

    /// Returns its ETW engine.
    #[must_use]
    pub const fn engine(self) -> &'static Engine {
        &self.parts.kernel.engine
    }

    /// Returns the session that records everything, if the configuration requests one.
    #[must_use]
    pub fn trace(self) -> Option<Session> {
        lock(&self.parts.kernel.etw).session()
    }

    /// Returns the number of events that the driver has written.
    #[must_use]
    pub fn events_written(self) -> u64 {
        lock(&self.parts.kernel.etw).written()
    }

    /// Returns the routines that the driver called and that can fail, with the number of calls of each.
    #[must_use]
    pub fn fallible_calls(self) -> Vec<(String, u64)> {
        self.parts.kernel.table.fallible_calls()
    }

    /// Returns what the run should have exercised so far and did not.
    #[must_use]
    pub fn gaps(self) -> Vec<Gap> {
        verify::gap::all()
    }

    /// Takes the driver's accesses to ports and scripted registers since the last call, and the number of those for which
    /// there was no room.
    #[must_use]
    pub fn take_hardware_accesses(self) -> (Vec<HardwareAccess>, u64) {
        hardware::take()
    }

    /// Returns whether the run has ended with a bug check.
    #[must_use]
    pub fn is_stopped(self) -> bool {
        verify::is_stopped()
    }
}

#[expect(clippy::expect_used, reason = "a `Machine` exists only after it was started")]
fn parts() -> &'static Parts {
    MACHINE.get().expect("a machine was started")
}
