//! The description of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use etw_types::NtStatus;
use nt_machine::{Below, Config, Failure, RegistryValue, Resource, Time, can_fail, notes, plan_image};
use pe_image::{Image, Symbols};

use super::NtHost;
use super::host::Inner;
use crate::child::Process;
use crate::{Error, Os};

/// Describes a run; [`Builder::start`] begins it.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    path: PathBuf,
    config: Config,
}

impl Builder {
    /// The driver's file.
    #[must_use]
    pub fn driver(mut self, path: impl AsRef<Path>) -> Self {
        self.path = path.as_ref().to_path_buf();
        self
    }

    /// The Windows release that is imitated; the newest one unless this says otherwise.
    #[must_use]
    pub const fn os(mut self, os: Os) -> Self {
        self.config.os = os;
        self
    }

    /// Hides a routine: a lookup does not find it, and a driver that imports it is not loaded.
    #[must_use]
    pub fn hide(mut self, routine: &str) -> Self {
        self.config.hidden.push(routine.to_owned());
        self
    }

    /// Says what the device below the driver does with requests that reach it, or another driver's device that the driver opens by name. Without this it agrees to everything about
    /// plug and play and power, can be opened and closed, and takes no other request. The first that fits counts.
    #[must_use]
    pub fn below(mut self, below: Below) -> Self {
        self.config.below.push(below);
        self
    }

    /// Gives the driver's devices a hardware resource: the lists that the driver gets when a device starts have it.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.config.resources.push(resource);
        self
    }

    /// Makes a routine fail.
    #[must_use]
    pub fn fail(mut self, failure: Failure) -> Self {
        self.config.failures.push(failure);
        self
    }

    /// Makes the `call`-th call of a routine fail, counted from 1.
    #[must_use]
    pub fn fail_call(self, routine: &str, status: NtStatus, call: u64) -> Self {
        self.fail(Failure { routine: routine.to_owned(), status: Some(status), call: Some(call) })
    }

    /// Makes routines fail now and then, always the same ones for the same seed.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.config.seed = Some(seed);
        self
    }

    /// Lets time pass as on the wall. Without this it stands still while anybody can go on, and jumps when everybody
    /// waits: see [`NtHost::advance`].
    #[must_use]
    pub const fn real_time(mut self) -> Self {
        self.config.time = Time::Real;
        self
    }

    /// Lets time pass as long as things take, so that the durations of a trace mean something. Waiting takes no time.
    #[must_use]
    pub const fn measured_time(mut self) -> Self {
        self.config.time = Time::Measured;
        self
    }

    /// Has each event written as late as can be, so that a thread that races with it comes first.
    #[must_use]
    pub const fn races(mut self) -> Self {
        self.config.races = true;
        self
    }

    /// Has events carry the calls that led to them: see [`Event::stack`](etw_etl::Event::stack) and [`NtHost::locate`].
    #[must_use]
    pub const fn stacks(mut self) -> Self {
        self.config.stacks = true;
        self
    }

    /// Traces everything of every provider, from its registration on: see [`NtHost::trace`].
    #[must_use]
    pub const fn trace_all(mut self) -> Self {
        self.config.trace_all = true;
        self
    }

    /// How many bytes the driver's allocations may take together: 4 GiB unless this says otherwise. Those beyond fail.
    #[must_use]
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.config.memory = Some(bytes);
        self
    }

    /// How long the driver may take for one request, on the wall: 20 seconds unless this says otherwise. A driver that
    /// only waits, and for nothing, is found out at once.
    #[must_use]
    pub const fn patience(mut self, time: Duration) -> Self {
        self.config.patience = Some(time);
        self
    }

    /// Puts a value under the driver's `Parameters` key.
    #[must_use]
    pub fn parameter(mut self, name: &str, value: RegistryValue) -> Self {
        self.config.parameters.push((name.to_owned(), value));
        self
    }

    /// Loads the driver and calls its entry point.
    ///
    /// # Errors
    ///
    /// When the file cannot be loaded, when a scripted failure names a routine that cannot fail, when `DriverEntry`
    /// fails or stops the machine.
    pub fn start(self) -> Result<NtHost, Error> {
        let host = self.prepare()?;
        host.load()?;
        Ok(host)
    }

    /// Makes the host without loading the driver: sessions can be there before it. [`NtHost::load`] loads it.
    ///
    /// # Errors
    ///
    /// As for [`Builder::start`], but for what the driver does.
    pub fn prepare(mut self) -> Result<NtHost, Error> {
        let file = std::fs::read(&self.path).map_err(|error| Error::File(self.path.clone(), error))?;
        let bad = |error| Error::Image(self.path.clone(), error);
        let image = Image::parse(&file).map_err(bad)?;
        let layout = plan_image(&file, &image).map_err(bad)?;
        for failure in &self.config.failures {
            if !can_fail(&failure.routine) {
                return Err(Error::Usage(format!("{} is not a routine that can fail", failure.routine)));
            }
        }
        let stem = self.path.file_stem().unwrap_or_default();
        self.config.name = stem.to_string_lossy().into_owned();
        let notes = notes(&image);
        let symbols = Symbols::beside(&self.path, &image);
        let process = Process::start(&layout, &self.config).map_err(Error::Process)?;
        let size = layout.bytes.len() as u64;
        let (path, traces, stacks) = (self.path, self.config.trace_all, self.config.stacks);
        let pdb = image.pdb().cloned();
        Ok(NtHost::new(Arc::new(Inner { process, symbols, path, traces, notes, size, stacks, pdb })))
    }
}
