//! The command line.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
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
                  CARGO_DRIVER_CACHE  where the driver kit and compiled crates are kept (~/.cache/cargo-driver)\n  \
                  WDKContentRoot      a real WDK instead of the kit, as --wdk\n  \
                  WDK_ETW_TOOLCHAIN   rustup or debian: which toolchain compiles for Windows\n  \
                  NO_COLOR            no colours\n\n{}", exit::HELP)
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a driver with tracing and tests
    ///
    /// The folder gets a small driver that traces what it does, tests that run its .sys on Linux, an .inx, a README and a
    /// workflow for GitHub.
    New(New),
    /// Build the driver
    ///
    /// The image, its debug information and its linker map go to target/driver/x64 or arm64. Cargo runs in the driver's
    /// folder with its own Cargo.lock.
    Build(Driver),
    /// Check the driver with cargo check and clippy, for Windows
    ///
    /// Prints the settings with which rust-analyzer does the same.
    Check(Driver),
    /// Build the driver, then run the tests of the workspace's other packages
    ///
    /// The tests run the image with the crate nt-host.
    Test(Test),
    /// Build the driver and run it: load, add a device, send requests, unload; print events and findings
    Run(Run),
    /// Build the driver and run it again and again, each time with another call failing
    Matrix(Run),
    /// Build the driver and show which of its imports can be run here
    List(Run),
    /// Build the driver, run it, and keep its events as a trace file and as a page for a browser
    Trace(Run),
    /// Show what is in the image and whether Windows would load it
    Inspect(Inspect),
    /// Verify the signatures of images, catalogs and packages, yours or others'
    Verify(Verify),
    /// Make a test-signed package: image, INF, catalog, certificate and scripts that install it
    Package(Package),
    /// Install what is missing: Rust's targets for Windows, clang and LLVM
    Setup,
}

#[derive(Args)]
pub(crate) struct New {
    /// The driver's folder, which must not be there; its last part is the driver's name
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// With the Kernel-Mode Driver Framework (the default)
    #[arg(long, conflicts_with = "wdm")]
    kmdf: bool,
    /// Without a framework
    #[arg(long)]
    pub(crate) wdm: bool,
    /// A clone of the repository of wdk-etw, which the driver depends on by its path
    #[arg(long, value_name = "FOLDER", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))]
    pub(crate) wdk_etw: PathBuf,
}

/// Which driver.
#[derive(Args, Clone)]
pub(crate) struct Driver {
    /// The driver's Cargo.toml
    #[arg(long, value_name = "PATH", default_value = "Cargo.toml")]
    pub(crate) manifest_path: PathBuf,
    /// A driver of the workspace; all of them if none is named
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// The processor
    #[arg(long, value_enum, default_value_t = Processor::X64)]
    arch: Processor,
    /// Build the dev profile instead of release
    #[arg(long)]
    debug: bool,
    /// A real WDK instead of the kit
    #[arg(long, value_name = "DIR", env = "WDKContentRoot")]
    wdk: Option<PathBuf>,
}

impl Driver {
    pub(crate) fn options(&self) -> Options {
        // Cargo runs in another folder.
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
    /// For cargo test, and after another -- for the tests
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// For nt-host, such as --os win10-1809 or --ioctl 22E000:6869; `cargo driver run -- --help` lists them
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
    /// The Windows that is to load it, such as win10-1809
    #[arg(long, value_name = "RELEASE")]
    pub(crate) windows: Option<String>,
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
    /// The catalog's generation
    #[arg(long, value_name = "VERSION", value_parser = ["v1", "v2"])]
    pub(crate) catalog: Option<String>,
    /// The driver's ETW provider, for the scripts that record it and the recording profile
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// etwctl.exe, which goes along
    #[arg(long, value_name = "FILE")]
    pub(crate) etwctl: Option<PathBuf>,
    /// Complete a package that `cargo wdk build` or `cargo make` made on Windows, and build nothing
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["cert", "catalog", "debug"])]
    pub(crate) adopt: Option<PathBuf>,
    /// Replace files of an earlier run that differ
    #[arg(long, requires = "adopt")]
    pub(crate) replace: bool,
}
