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
use nt_kernel::config::Config;
use nt_kernel::{Kernel, Table, lock};
use nt_processor::coverage::{self, callbacks};
use nt_processor::cpu::thread::{self, Threads};
use nt_processor::image::{self, Images};
use nt_verifier::exception::signals;
use nt_verifier::hardware::{self, Hardware, HardwareAccess};
use nt_verifier::verify::{self, Findings, Gap, Verifier};

pub use clients::FileId;
pub use files::FilePort;
pub use guests::{Guest, Guests, Role};
pub use load::Loaded;
pub use plug::DeviceId;
pub use routines::{RoutineInfo, Support, all_routines, can_fail, support};

/// The layers that the machine owns.
struct Layers {
    verifier: Verifier,
    threads: Threads,
    spare: spare::Spare,
    /// The numbers of the thread that serves requests and of the one that runs DPCs. They are the same in every run.
    numbers: OnceLock<(u32, u32)>,
    images: Images,
    /// The loaded images, in the order in which they were loaded.
    residents: Mutex<Vec<load::Resident>>,
    kernel: Kernel,
    framework: nt_framework::Attached,
    filters: nt_filters::Manager,
    hardware: Hardware,
    volume: Mutex<files::Clients>,
    filtering: Mutex<nt_network::State>,
    cryptography: Mutex<nt_crypto::State>,
    human_interface: Mutex<nt_hid::State>,
    clients: Mutex<clients::Clients>,
}

static MACHINE: OnceLock<Layers> = OnceLock::new();

/// The machine of this process.
#[derive(Clone, Copy)]
pub struct Machine {
    layers: &'static Layers,
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
        let table = Table::new(&config, routines::all(), nt_framework::functions())?;
        let layers = Layers {
            verifier: Verifier::new(findings)?,
            threads: Threads::default(),
            spare: spare::Spare::default(),
            numbers: OnceLock::new(),
            images: Images::default(),
            residents: Mutex::default(),
            kernel: Kernel::new(config, table, clients::close_all_of_packets),
            framework: nt_framework::Attached::new(clients::close_all_of),
            filters: nt_filters::Manager::default(),
            hardware: Hardware::new(hardware),
            volume: Mutex::default(),
            filtering: Mutex::default(),
            cryptography: Mutex::default(),
            human_interface: Mutex::default(),
            clients: Mutex::default(),
        };
        MACHINE.set(layers).map_err(|_| io::Error::from(io::ErrorKind::AlreadyExists))?;
        let layers = self::layers();
        verify::attach(&layers.verifier);
        thread::attach_to(&layers.threads);
        layers.numbers.get_or_init(|| (thread::reserve_number(), thread::reserve_number()));
        image::attach(&layers.images);
        nt_kernel::attach(&layers.kernel);
        nt_framework::attach(&layers.framework);
        if let Some(coverage) = &layers.kernel.config.coverage {
            coverage::attach(coverage);
        }
        if let Some(callbacks) = &layers.kernel.config.callbacks {
            callbacks::attach(callbacks);
        }
        nt_filters::attach(&layers.filters);
        nt_network::attach(&layers.filtering);
        nt_crypto::attach(&layers.cryptography);
        nt_hid::attach(&layers.human_interface);
        hardware::attach(&layers.hardware);
        signals::install()?;
        Ok(Self { layers })
    }

    /// Returns the configuration that it was started with.
    #[must_use]
    pub const fn config(self) -> &'static Config {
        &self.layers.kernel.config
    }

    /// Returns its ETW engine.
    #[must_use]
    pub const fn engine(self) -> &'static Engine {
        &self.layers.kernel.engine
    }

    /// Returns the session that records everything, if the configuration requests one.
    #[must_use]
    pub fn trace(self) -> Option<Session> {
        lock(&self.layers.kernel.etw).session()
    }

    /// Returns the number of events that the driver has written.
    #[must_use]
    pub fn events_written(self) -> u64 {
        lock(&self.layers.kernel.etw).written()
    }

    /// Returns the routines that the driver called and that can fail, with the number of calls of each.
    #[must_use]
    pub fn fallible_calls(self) -> Vec<(String, u64)> {
        self.layers.kernel.table.fallible_calls()
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
fn layers() -> &'static Layers {
    MACHINE.get().expect("a machine was started")
}
