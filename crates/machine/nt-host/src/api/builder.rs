//! The description of a run.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use etw_types::NtStatus;
use nt_machine::{
    BeforeEntry, Below, Callbacks, Config, Coverage, Failure, GapKind, Guests, ImportName, Layout, RegistryKey,
    RegistryValue, Resource, Role, Time, all_routines, can_fail, notes,
};
use windows_releases::first_with_routine;

use super::NtHost;
use super::coverage;
use super::frameworks::{self, framework_file};
use super::images::{self, ImageFiles};
use super::target::Target;
use super::volume_files;
use crate::child::wait_for_debugger;
use crate::text::suggestion;
use crate::{Error, LineCoverage, Os};

/// The environment variable that names the framework of builders without one.
const FRAMEWORK_VARIABLE: &str = "NT_HOST_FRAMEWORK";

/// Describes a run; [`Builder::start`] begins it.
///
/// ```no_run
/// use etw_types::NtStatus;
/// use nt_host::{Builder, Failure, NtHost, RegistryValue};
/// use std::time::Duration;
///
/// let builder: Builder = NtHost::builder()
///     .driver("my_driver.sys")
///     // A value in the driver's Parameters key, and a routine that this Windows does not have.
///     .parameter("Timeout", RegistryValue::Dword(5))
///     .hide("EtwSetInformation")
///     // Every call of a routine fails; `fail_call` makes one call fail.
///     .fail(Failure { routine: "ExAllocatePool2".into(), status: Some(NtStatus::InsufficientResources), call: None })
///     // Other routines fail at random, by this seed; events are written late, so that races are found.
///     .seed(7)
///     .races()
///     // Requests have activity ids, and events have stacks. The driver may allocate this much memory, print this much,
///     // and take this long for a request.
///     .request_activities()
///     .stacks()
///     .memory(256 << 20)
///     .debug_output(64 << 20)
///     .patience(Duration::from_secs(10))
///     .cancel_after(Duration::from_secs(1));
/// // By default, time only passes when all threads wait. It can also be measured or real.
/// let host = builder.clone().measured_time().start()?;
/// host.unload()?.assert_clean();
/// builder.real_time().start()?.unload()?.assert_clean();
/// # Ok::<(), nt_host::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the run")]
pub struct Builder {
    path: PathBuf,
    with: Vec<PathBuf>,
    framework: Option<PathBuf>,
    framework_verifier: bool,
    /// Whether the imitated framework is used, whatever the environment says.
    imitates: bool,
    /// The folders that are copied to the volume.
    dirs: Vec<PathBuf>,
    pub(super) config: Config,
    allowed: Vec<GapKind>,
    measures_coverage: bool,
    records_callbacks: bool,
    coverage: Option<PathBuf>,
}

impl Builder {
    /// Sets the path of the driver's file.
    #[must_use]
    pub fn driver(mut self, path: impl AsRef<Path>) -> Self {
        self.path = path.as_ref().to_path_buf();
        self
    }

    /// Loads another image before the driver, such as a driver that exports routines. Imports from its file name lead to
    /// its exports. Images are loaded after those that they import from, and unloaded in reverse order.
    ///
    /// A finding is about the driver under test if the driver made the mistake or called, directly, the code that did.
    /// Otherwise it is in [`Report::other_findings`](crate::Report::other_findings).
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").with("my_library.sys").start()?;
    /// host.unload()?.assert_clean();
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn with(mut self, path: impl AsRef<Path>) -> Self {
        self.with.push(path.as_ref().to_path_buf());
        self
    }

    /// Uses a framework that is an image of its own in place of the imitation: Microsoft's `Wdf01000.sys` of a Windows
    /// machine, or the folder with it. The driver needs a version of the framework that this one has.
    ///
    /// The environment variable `NT_HOST_FRAMEWORK` does the same for every builder that names no framework, so that a test
    /// suite can run on both.
    #[must_use]
    pub fn framework(mut self, path: impl AsRef<Path>) -> Self {
        self.framework = Some(path.as_ref().to_path_buf());
        self
    }

    /// Switches on the verifier of the framework that [`Builder::framework`] names, for the driver under test: `VerifierOn`
    /// in the driver's `Parameters\Wdf` key. Where it breaks into a debugger, the run stops with a finding. The imitation
    /// checks in any case; here `WdfVerifierDbgBreakPoint` then breaks.
    ///
    /// ```no_run
    /// use nt_host::{Device, NtHost, Report};
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").framework("frameworks/1.33").framework_verifier().start()?;
    /// let device: Device = host.add_device()?;
    /// device.rebalance()?;
    /// let report: Report = host.unload()?;
    /// assert!(report.other_findings().is_empty(), "findings about the framework");
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub const fn framework_verifier(mut self) -> Self {
        self.framework_verifier = true;
        self
    }

    /// Uses the imitated framework, also if `NT_HOST_FRAMEWORK` names another one.
    #[must_use]
    pub(super) const fn imitated_framework(mut self) -> Self {
        self.imitates = true;
        self
    }

    /// Sets the Windows release to imitate; the default is Windows 11 24H2.
    #[must_use]
    pub const fn os(mut self, os: Os) -> Self {
        self.config.os = os;
        self
    }

    /// Hides a routine: lookups do not find it, and a driver that imports it is not loaded.
    #[must_use]
    pub fn hide(mut self, routine: &str) -> Self {
        self.config.hidden.push(routine.to_owned());
        self
    }

    /// Scripts how the device below the driver completes requests, or how a device of another driver does, which the
    /// driver opens by name. By default, the device below accepts all Plug and Play and power requests, can be opened
    /// and closed, and refuses all other requests. The first entry that matches a request applies.
    #[must_use]
    pub fn below(mut self, below: Below) -> Self {
        self.config.below.push(below);
        self
    }

    /// Adds a hardware resource to the driver's devices. The driver receives it in the resource lists when a device
    /// starts.
    #[must_use]
    pub fn resource(mut self, resource: Resource) -> Self {
        self.config.resources.push(resource);
        self
    }

    /// States that the test intends gaps of this kind, so that the report can be clean with them.
    ///
    /// ```no_run
    /// use nt_host::{GapKind, NtHost};
    ///
    /// // Without memory, the device does not start, and the driver must not leak anything.
    /// let builder = NtHost::builder().driver("my_driver.sys").memory(0).allow(GapKind::NotStarted);
    /// let host = builder.start()?;
    /// assert!(host.add_device().is_err());
    /// host.unload()?.assert_clean();
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn allow(mut self, kind: GapKind) -> Self {
        self.allowed.push(kind);
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

    /// Makes routines fail at random; the same seed gives the same failures.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.config.seed = Some(seed);
        self
    }

    /// Uses real time. By default, time is virtual: it stands still while any thread can run, and jumps ahead when all
    /// threads wait. See [`NtHost::advance`].
    #[must_use]
    pub const fn real_time(mut self) -> Self {
        self.config.time = Time::Real;
        self
    }

    /// Uses measured time: running code takes the time that it really takes, so that durations in a trace are
    /// meaningful. Waiting takes no time.
    #[must_use]
    pub const fn measured_time(mut self) -> Self {
        self.config.time = Time::Measured;
        self
    }

    /// Writes each event as late as possible, so that a thread that races with the write runs first.
    #[must_use]
    pub const fn races(mut self) -> Self {
        self.config.races = true;
        self
    }

    /// Gives each request of a client an activity id, as while a session traces I/O activities. A driver reads it with
    /// `IoGetActivityIdIrp`.
    #[must_use]
    pub const fn request_activities(mut self) -> Self {
        self.config.request_activities = true;
        self
    }

    /// Makes events carry their call stack: see [`Event::stack`](etw_etl::Event::stack) and [`NtHost::locate`].
    #[must_use]
    pub const fn stacks(mut self) -> Self {
        self.config.stacks = true;
        self
    }

    /// Traces all events of all providers, from their registration on: see [`NtHost::trace`].
    #[must_use]
    pub const fn trace_all(mut self) -> Self {
        self.config.trace_all = true;
        self
    }

    /// Sets the maximum number of bytes for all allocations of the driver together; the default is 4 GiB. Allocations
    /// beyond it fail.
    #[must_use]
    pub const fn memory(mut self, bytes: u64) -> Self {
        self.config.memory = Some(bytes);
        self
    }

    /// Sets the maximum number of bytes of debug output that are kept; the default is 4 MiB. A run that drops debug output
    /// is not clean: see [`Losses::output`](crate::Losses::output).
    #[must_use]
    pub const fn debug_output(mut self, bytes: u64) -> Self {
        self.config.debug_output = Some(bytes);
        self
    }

    /// Sets the maximum time that the driver may take for one request, in real time; the default is 20 seconds. If all
    /// threads wait and nothing can wake them, the host reports it immediately, except with [`Builder::real_time`].
    #[must_use]
    pub const fn patience(mut self, time: Duration) -> Self {
        self.config.patience = Some(time);
        self
    }

    /// Sets how long a client waits for a request before it cancels it, in the driver's time; the default is 60 seconds. With
    /// [`Builder::real_time`] it must be shorter than [`Builder::patience`], and the default is at most half of that.
    #[must_use]
    pub const fn cancel_after(mut self, time: Duration) -> Self {
        self.config.cancel_after = Some(time);
        self
    }

    /// Waits for a debugger when the driver is in memory and none of its code has run; the run goes on when the debugger continues the
    /// process. Before, `announce` gets the address of the
    /// image, in the process that runs the driver. The time that a request takes is not limited.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let announce = |base: u64| eprintln!("process {}, image at {base:#x}", std::process::id());
    /// let host = NtHost::builder().driver("my_driver.sys").debugger(announce).start()?;
    /// host.unload()?.assert_clean();
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn debugger(mut self, announce: impl Fn(u64) + Send + Sync + 'static) -> Self {
        self.config.before_entry = Some(BeforeEntry(Arc::new(move |base| {
            announce(base);
            wait_for_debugger();
        })));
        self.patience(Duration::MAX)
    }

    /// Adds a value to the driver's `Parameters` key.
    #[must_use]
    pub fn parameter(self, name: &str, value: RegistryValue) -> Self {
        self.registry(RegistryKey::Parameters, name, value)
    }

    /// Adds a value to a registry key.
    ///
    /// ```no_run
    /// use nt_host::{NtHost, RegistryKey, RegistryValue};
    ///
    /// let host = NtHost::builder()
    ///     .driver("serial.sys")
    ///     .registry(RegistryKey::Device, "PortName", RegistryValue::Text("COM5".into()))
    ///     .start();
    /// ```
    #[must_use]
    pub fn registry(mut self, key: RegistryKey, name: &str, value: RegistryValue) -> Self {
        self.config.registry.push((key, name.to_owned(), value));
        self
    }

    /// Records which code of the driver runs: see [`NtHost::coverage`] and [`NtHost::line_coverage`]. The driver needs no
    /// special build. With its PDB, lines are known; without, only blocks of instructions.
    ///
    /// While this is on, a driver that reads its own code, for example for a checksum, reads other bytes.
    #[must_use]
    pub const fn measure_coverage(mut self) -> Self {
        self.measures_coverage = true;
        self
    }

    /// Writes which source lines of the driver ran: a page for the browser if the name ends with `.html`, otherwise a file in
    /// lcov's format. The file has the lines of all hosts of this process that name it, and is written when each of them
    /// ends. A run of a driver without line information is refused.
    ///
    /// The environment variable `NT_HOST_COVERAGE` names a folder, into which every program writes one such file for its
    /// builders that name none. `cargo driver test --coverage` sets it.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// for release in [nt_host::Os::Win10_22H2, nt_host::Os::default()] {
    ///     let host = NtHost::builder().driver("my_driver.sys").os(release).coverage("coverage.html").start()?;
    ///     host.unload()?.assert_clean();
    /// }
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn coverage(mut self, path: impl AsRef<Path>) -> Self {
        self.coverage = Some(path.as_ref().to_path_buf());
        self.measure_coverage()
    }

    /// Records the calls of the driver's functions by the framework and the kernel: see [`NtHost::callbacks`]. What a driver
    /// can notice is the same as for [`Builder::measure_coverage`].
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder().driver("my_driver.sys").record_callbacks().start()?;
    /// host.load()?;
    /// for callback in host.callbacks() {
    ///     println!("{callback}");
    /// }
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub const fn record_callbacks(mut self) -> Self {
        self.records_callbacks = true;
        self
    }

    /// Adds a file to the volume, which clients of a minifilter use: see [`NtHost::volume`].
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let host = NtHost::builder()
    ///     .driver("my_filter.sys")
    ///     .volume_file(r"\dir\a.txt", "hello")
    ///     .volume_from("tests/files")
    ///     .start()?;
    /// let file = host.volume().open(r"\dir\a.txt")?;
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    #[must_use]
    pub fn volume_file(mut self, path: &str, contents: impl Into<Vec<u8>>) -> Self {
        self.config.files.push((path.to_owned(), Some(contents.into())));
        self
    }

    /// Copies a folder of this machine to the root of the volume. The run changes only the copy.
    #[must_use]
    pub fn volume_from(mut self, dir: impl AsRef<Path>) -> Self {
        self.dirs.push(dir.as_ref().to_path_buf());
        self
    }

    /// Loads the driver and calls its entry point.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be loaded, if a scripted failure names a routine that cannot fail, or if `DriverEntry`
    /// fails or stops the machine.
    pub fn start(self) -> Result<NtHost, Error> {
        let host = self.prepare()?;
        host.load()?;
        Ok(host)
    }

    /// Checks that a client cancels a request before that is a hang.
    fn check_times(&self) -> Result<(), Error> {
        let Some((wait, limit)) = self.config.too_patient() else { return Ok(()) };
        Err(Error::Usage(format!(
            "a request would be canceled after {wait:?} (--cancel-after), but in real time the run ends after {limit:?} \
             (--timeout): choose a longer --timeout or a shorter --cancel-after"
        )))
    }

    /// Checks that the routines that the description names exist.
    fn check_names(&self, layout: &Layout) -> Result<(), Error> {
        if self.config.failures.is_empty() && self.config.hidden.is_empty() {
            return Ok(());
        }
        let all = all_routines(self.config.os);
        let is_known = |name: &str| all.iter().any(|routine| routine.name == name);
        if let Some(Failure { routine, .. }) = self.config.failures.iter().find(|failure| !can_fail(&failure.routine)) {
            if is_known(routine) {
                return Err(Error::Usage(format!("{routine} is not a routine that can fail")));
            }
            let names: Vec<&str> = all.iter().filter(|routine| routine.can_fail).map(|routine| routine.name).collect();
            let near = suggestion(routine, &names);
            return Err(Error::Usage(format!("there is no routine {routine} that can fail{near}")));
        }
        let imports = layout.imports.iter().filter_map(|import| match &import.name {
            ImportName::Name(name) => Some(name.as_str()),
            ImportName::Ordinal(_) => None,
        });
        let exported = all.iter().filter(|routine| !routine.is_of_framework()).map(|routine| routine.name);
        let names: Vec<&str> = exported.chain(imports).collect();
        let can_hide = |name: &str| names.contains(&name) || first_with_routine(name).is_some();
        match self.config.hidden.iter().find(|hidden| !can_hide(hidden)) {
            None => Ok(()),
            Some(function) if is_known(function) => Err(Error::Usage(format!(
                "{function} is a function of the framework and cannot be hidden: choose a release with an older framework with --os"
            ))),
            Some(hidden) => {
                let near = suggestion(hidden, &names);
                let reason =
                    format!("there is no routine {hidden} to hide: the command `list --all` lists the routines{near}");
                Err(Error::Usage(reason))
            }
        }
    }

    /// Returns the files that the run reads: the images with their PDBs and linker maps, and the files for the volume. A program
    /// should write to none of them.
    ///
    /// ```no_run
    /// use nt_host::NtHost;
    ///
    /// let builder = NtHost::builder().driver("my_driver.sys").framework("frameworks/1.33");
    /// assert!(builder.files()?.contains(&"my_driver.pdb".into()));
    /// # Ok::<(), nt_host::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if an image or a folder cannot be read.
    pub fn files(&self) -> Result<Vec<PathBuf>, Error> {
        let mut images = vec![self.path.clone()];
        if let Some(path) = self.framework_path() {
            images.push(framework_file(&path)?);
            images.extend(frameworks::loader_file(&path)?);
        }
        images.extend(self.with.iter().cloned());
        let mut files = Vec::new();
        for path in &images {
            files.extend(images::files(path)?);
        }
        for dir in &self.dirs {
            volume_files::list(dir, &mut files).map_err(|error| unreadable_volume(dir, &error))?;
        }
        Ok(files)
    }

    /// Returns the path of a framework that is an image of its own: the one of the description, or that of the environment.
    fn framework_path(&self) -> Option<PathBuf> {
        let environment = || std::env::var_os(FRAMEWORK_VARIABLE).filter(|path| !self.imitates && !path.is_empty());
        self.framework.clone().or_else(|| environment().map(PathBuf::from))
    }

    /// Creates the host without loading the driver, so that sessions can be started first. [`NtHost::load`] loads it.
    ///
    /// # Errors
    ///
    /// Fails like [`Builder::start`], except for errors of the driver.
    pub fn prepare(self) -> Result<NtHost, Error> {
        self.read()?.host()
    }

    /// Reads the images, so that many hosts can be made of them.
    pub(crate) fn read(mut self) -> Result<Target, Error> {
        self.check_times()?;
        let (driver, image, guest) = images::read(&self.path)?;
        self.check_names(&guest.layout)?;
        guest.service().clone_into(&mut self.config.name);
        if self.framework_verifier {
            let service = format!(r"\Registry\Machine\System\CurrentControlSet\Services\{}", self.config.name);
            let key = RegistryKey::Path(format!(r"{service}\Parameters\Wdf"));
            self.config.registry.push((key, "VerifierOn".to_owned(), RegistryValue::Dword(1)));
        }
        for dir in &self.dirs {
            volume_files::copy(dir, "", &mut self.config.files).map_err(|error| unreadable_volume(dir, &error))?;
        }
        let mut notes = notes(&image, &guest.layout);
        let coverage_file = self.coverage.clone().or_else(coverage::file_of_process);
        if self.measures_coverage || coverage_file.is_some() {
            let lines = driver.symbols.line_starts();
            let measured = Coverage::new(&guest.layout, &lines).map_err(Error::Process)?;
            if let Some(path) =
                self.coverage.as_deref().filter(|_| LineCoverage::new(&measured, &driver.symbols).is_empty())
            {
                return Err(without_lines(path, &self.path));
            }
            self.config.coverage = Some(measured);
        }
        if self.records_callbacks {
            self.config.callbacks = Some(Callbacks::new(&guest.layout).map_err(Error::Process)?);
        }
        coverage_file.as_deref().map(coverage::check).transpose()?;
        let mut files = Vec::new();
        let mut others = Vec::new();
        for path in &self.with {
            let (file, _, guest) = images::read(path)?;
            files.push(file);
            others.push(guest);
        }
        let mut refusal = None;
        let uses_framework = others.iter().chain([&guest]).any(|guest| frameworks::is_imported(&guest.layout));
        if let Some(path) = self.framework_path() {
            let framework = framework_file(&path)?;
            let (file, _, framework_guest) = images::read(&framework)?;
            // Windows loads the framework for drivers that import it, and no other driver is to blame for it.
            if !uses_framework && self.framework.is_some() {
                notes.push(format!("{} is not loaded: no image imports from WdfLdr.sys", framework.display()));
            }
            if uses_framework {
                files.push(file);
                let mut images = Vec::new();
                if let Some(loader) = frameworks::loader_file(&path)? {
                    let (file, _, loader) = images::read(&loader)?;
                    files.push(file);
                    images.push(loader.with_role(Role::Loader));
                    self.config.registry.push(frameworks::service_value(&framework_guest));
                    refusal = frameworks::refusal(&framework, image.framework);
                }
                images.push(framework_guest.with_role(Role::Framework));
                others.splice(0..0, images);
            }
        }
        let guests = Guests::new(guest, others).map_err(Error::Usage)?.refused_by_loader(refusal);
        // In the order in which they are loaded.
        files.sort_by_key(|file| guests.others().iter().position(|guest| guest.name == file.name));
        files.insert(0, driver);
        let numbered = (1..).zip(guests.others());
        let frameworks = numbered.filter(|(_, guest)| guest.role != Role::Driver).map(|(number, _)| number).collect();
        let images = Arc::new(ImageFiles { files, frameworks });
        Ok(Target { guests, config: self.config, images, notes, allowed: self.allowed, coverage_file })
    }
}

fn unreadable_volume(dir: &Path, error: &io::Error) -> Error {
    Error::Usage(format!("cannot copy {} to the volume: {error}", dir.display()))
}

/// The error for a driver whose lines cannot be written, because they are not known.
fn without_lines(path: &Path, driver: &Path) -> Error {
    Error::Usage(format!(
        "cannot write the lines that ran to {}: {} has no line information, because there is no PDB beside it or it belongs to \
         another build; --coverage without a file counts the blocks that ran",
        path.display(),
        driver.display()
    ))
}
