//! The command line.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::units::duration;
use command_line::{VERSION, exit};
use driver_build::{Arch, Options};

/// Builds, tests, runs, traces and packages Windows kernel drivers on Linux, without Windows and without the WDK.
#[derive(Parser)]
#[command(
    name = "cargo driver",
    bin_name = "cargo driver",
    version = VERSION,
    max_term_width = 100,
    after_help = format!("Environment:\n  \
                  CARGO_DRIVER_CACHE  the folder for the driver kit and compiled crates (~/.cache/cargo-driver)\n  \
                  WDKContentRoot      the folder of a real WDK to use instead of the kit, as --wdk\n  \
                  WDK_ETW_TOOLCHAIN   rustup or debian: the toolchain that compiles for Windows\n  \
                  NO_COLOR            if set and not empty: no colours\n\n{}", exit::HELP)
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a new driver with tracing and tests
    ///
    /// Writes a small driver that traces what it does, tests that run its .sys on Linux, an .inx, a README and a workflow for
    /// GitHub.
    New(New),
    /// Build the driver
    ///
    /// Writes the image (.sys), its debug information (.pdb) and its linker map (.map) to target/driver/x64 or
    /// target/driver/arm64. Cargo runs in the driver's folder and uses its Cargo.lock.
    Build(Driver),
    /// Check the driver with cargo check and clippy, for Windows
    ///
    /// Also prints settings for rust-analyzer, so that the editor checks the driver in the same way.
    Check(Driver),
    /// Build the driver, then run the tests of the workspace's other packages
    ///
    /// The tests load the image with the crate nt-host. The environment variable `DRIVER_IMAGE` has its path.
    Test(Test),
    /// Build the driver and run it: load, add a device, send requests, unload; print events and findings
    Run(Run),
    /// Build the driver and run it many times; in each run another call fails
    Matrix(Run),
    /// Build the driver and list which of its imports nt-host implements
    List(Run),
    /// Build the driver, run it, and write its events to a trace file (.etl) and a page for a browser (.html)
    Trace(Run),
    /// Show the contents of an image and whether Windows would load it
    Inspect(Inspect),
    /// Verify the signatures of images, catalogs and packages
    Verify(Verify),
    /// Make a test-signed package: image, INF, catalog, certificate and scripts that install it
    Package(Package),
    /// Exercise the driver on a Windows test machine over SSH: install, record, send requests, uninstall, compare
    ///
    /// Makes the package, copies it, installs it, sends the requests that [package.metadata.exercise] of Cargo.toml names, records,
    /// fetches the trace and the logs, uninstalls, shows the events, and compares them with those of nt-host. Writes evidence.json.
    /// Refuses a machine that is not in test mode, and never changes boot settings.
    Deploy(Deploy),
    /// Install what is missing: Rust's targets for Windows, clippy, clang and LLVM
    Setup,
}

#[derive(Args)]
pub(crate) struct New {
    /// The folder to make, which must not exist or must be empty; its last part is the driver's name
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// Use the Kernel-Mode Driver Framework (the default)
    #[arg(long, conflicts_with_all = ["wdm", "wfp"])]
    kmdf: bool,
    /// Use the Windows Driver Model, without a framework
    #[arg(long, conflicts_with = "wfp")]
    pub(crate) wdm: bool,
    /// Make a callout driver of the Windows Filtering Platform
    #[arg(long)]
    pub(crate) wfp: bool,
    /// A clone of the wdk-etw repository; the driver depends on its crates by path
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))]
    pub(crate) wdk_etw: PathBuf,
}

/// Which driver to build, and how.
#[derive(Args, Clone)]
pub(crate) struct Driver {
    /// The driver's Cargo.toml
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    pub(crate) manifest_path: PathBuf,
    /// Build only this driver of the workspace; can be repeated (default: the manifest's package, or all drivers of a workspace)
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// The processor to build for
    #[arg(long, value_enum, default_value_t = Processor::X64)]
    arch: Processor,
    /// Build with the dev profile instead of release
    #[arg(long)]
    debug: bool,
    /// The folder of a real WDK to use instead of the built-in driver kit
    #[arg(long, value_name = "DIR", env = "WDKContentRoot")]
    wdk: Option<PathBuf>,
}

impl Driver {
    pub(crate) fn options(&self) -> Options {
        // Cargo runs in another folder, so relative paths are made absolute.
        let here = |path: &PathBuf| env::current_dir().unwrap_or_default().join(path);
        Options {
            packages: self.package.clone(),
            arch: match self.arch {
                Processor::X64 => Arch::X64,
                Processor::Arm64 => Arch::Arm64,
            },
            debug: self.debug,
            wdk: self.wdk.as_ref().map(here),
            ..Options::new(here(&self.manifest_path))
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Processor {
    X64,
    Arm64,
}

#[derive(Args)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Arguments for cargo test; those after another -- go to the tests, for example -- --release -- --nocapture
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Options for nt-host, for example --os win10-1809 or --ioctl 22E000:6869; `cargo driver run -- --help` lists them
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Inspect {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Images to inspect instead of building the driver
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The release of Windows to check against: a name or a build number, for example win10-1809 or 17763
    #[arg(long, value_name = "RELEASE")]
    pub(crate) windows: Option<String>,
    /// Take the name of the entry point from this linker map instead of the map beside the image
    #[arg(long, value_name = "FILE")]
    pub(crate) map: Option<PathBuf>,
    /// List the rules, and inspect nothing
    #[arg(long, conflicts_with_all = ["files", "windows", "map", "json"])]
    pub(crate) rules: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Verify {
    /// Images, catalogs, .inf files or folders of packages, and options; `cargo driver verify -- --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "PATH")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Package {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Sign with this PEM file (a code signing certificate and its RSA key) instead of a test certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) cert: Option<PathBuf>,
    /// The version of the catalog format (default: v2)
    #[arg(long, value_name = "VERSION", value_parser = ["v1", "v2"])]
    pub(crate) catalog: Option<String>,
    /// The name of the driver's ETW provider, for the recording scripts and the recording profile
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Add this etwctl.exe to the package
    #[arg(long, value_name = "FILE")]
    pub(crate) etwctl: Option<PathBuf>,
    /// Build nothing; add the missing files to a package that `cargo wdk build` or `cargo make` made on Windows
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["cert", "catalog", "debug"])]
    pub(crate) adopt: Option<PathBuf>,
    /// With --adopt: replace existing files that differ from the new ones
    #[arg(long, requires = "adopt")]
    pub(crate) replace: bool,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Deploy {
    /// The machine, as for ssh: a name of ~/.ssh/config, a host, or user@host; the user must be an administrator
    #[arg(value_name = "HOST")]
    pub(crate) host: String,
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Leave the driver installed
    #[arg(long, conflicts_with = "remove")]
    pub(crate) keep: bool,
    /// Only remove what an earlier run left
    #[arg(long)]
    pub(crate) remove: bool,
    /// How long to record after the last request
    #[arg(long, value_name = "TIME", default_value = "0", value_parser = duration)]
    pub(crate) record: Duration,
    /// Switch Driver Verifier on for the driver, as far as that needs no restart
    #[arg(long)]
    pub(crate) verifier: bool,
    /// Also collect whole logs, which name other devices and programs of the machine
    #[arg(long)]
    pub(crate) whole_logs: bool,
    /// Deploy this package instead of making one
    #[arg(long, value_name = "DIR")]
    pub(crate) package_dir: Option<PathBuf>,
    /// The program driver-client for Windows (default: built with MinGW)
    #[arg(long, value_name = "FILE")]
    pub(crate) client: Option<PathBuf>,
    /// The folder for the trace, the logs and evidence.json (default: target/deploy/HOST)
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// The longest time for one step on the machine
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Settings for ssh and sftp, instead of ~/.ssh/config
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,
}
