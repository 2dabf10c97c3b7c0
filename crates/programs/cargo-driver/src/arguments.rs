//! The command line.

mod driver;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use command_line::units::duration;
use command_line::{OutputPath, VERSION, exit};

pub(crate) use driver::{Driver, TESTS, here, manifest};

/// Builds, tests, runs, traces and packages Windows kernel drivers on Linux, without Windows and without the WDK.
#[derive(Parser)]
#[command(
    name = "cargo driver",
    bin_name = "cargo driver",
    version = VERSION,
    max_term_width = 100,
    after_help = format!("Environment:\n  \
                  CARGO_DRIVER_CACHE  the folder for the driver kit and compiled crates (~/.cache/cargo-driver)\n  \
                  CARGO_DRIVER_CACHE_LIMIT  the size that the cache may have, for example 2GiB (4GiB)\n  \
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
    /// Create a new driver with tracing and tests
    ///
    /// Writes a small driver that traces what it does, tests that run its .sys on Linux, an .inx, a README, settings for editors,
    /// and a workflow for GitHub.
    #[command(after_help = "Examples:\n  cargo driver new my-driver\n  cargo driver new drivers/adder --wdm")]
    New(New),
    /// Add tests and editor settings to an existing driver
    ///
    /// Writes the folder host-tests with a test that loads the driver, adds a device and unloads the driver, and the settings that
    /// `cargo driver editor` writes. Keeps existing files.
    #[command(after_help = "Examples:\n  cargo driver init\n  cargo driver init zed")]
    Init(Init),
    /// Build the driver
    ///
    /// Writes the image (.sys), its debug information (.pdb) and its linker map (.map) to target/driver/x64 or
    /// target/driver/arm64. Cargo runs in the driver's folder and uses its Cargo.lock.
    #[command(after_help = "Examples:\n  cargo driver build\n  cargo driver build --arch arm64 --profile dev\n  \
                            cargo driver build -F verbose --locked\n  cargo +nightly driver build")]
    Build(Driver),
    /// Check the driver with clippy, for Windows
    #[command(after_help = "Examples:\n  cargo driver check\n  cargo driver check --no-clippy --message-format json")]
    Check(Check),
    /// Build the driver, then run its tests in `host-tests`
    ///
    /// Without that folder, run the tests of the workspace's other packages. The tests load the image with the crate nt-host. The
    /// environment variable `DRIVER_IMAGE` has its path.
    #[command(after_help = "Examples:\n  cargo driver test\n  cargo driver test requests -- --nocapture\n  \
                            cargo driver test --junit target/tests.xml --framework 1.33\n  cargo driver test --nextest --retries 2")]
    Test(Test),
    /// Build the driver and run it: load, add a device, send requests, unload; print events and findings
    #[command(
        after_help = "Examples:\n  cargo driver run\n  cargo driver run -- --ioctl 22E000:6869 --os win10-1809\n  \
                            cargo driver run --json -- --open \\\\.\\Name --read 16\n  cargo driver run --debug\n  \
                            cargo driver run -- --help"
    )]
    Run {
        /// Build with the dev profile, print the command that attaches a debugger, and wait for the debugger before `DriverEntry`
        #[arg(long)]
        debug: bool,
        #[command(flatten)]
        run: Run,
    },
    /// Build the driver and run it many times, to fail each fallible call in turn
    #[command(after_help = "Examples:\n  cargo driver matrix\n  cargo driver matrix -- --ioctl 22E000:6869 --seed 5")]
    Matrix(Run),
    /// Build and fuzz the driver: send it generated requests, and print each mistake with the command that reproduces it
    #[command(
        after_help = "Examples:\n  cargo driver fuzz\n  cargo driver fuzz -- --time 1m --jobs 2\n  cargo driver fuzz -- --help"
    )]
    Fuzz(Run),
    /// Build the driver and list which of its imports nt-host implements
    #[command(
        after_help = "Examples:\n  cargo driver list\n  cargo driver list -- --os win7\n  cargo driver list -- --all"
    )]
    List(Run),
    /// Build the driver, run it, and write its events to a trace file (.etl) and a page for a browser (.html)
    #[command(after_help = "Example:\n  cargo driver trace -- --ioctl 22E000:6869")]
    Trace(Run),
    /// Keep copies of Microsoft's framework, which `--framework` names by version
    #[command(
        subcommand,
        after_help = "Examples:\n  cargo driver framework add Wdf01000.sys\n  cargo driver framework list\n  \
                            cargo driver run --framework 1.33"
    )]
    Framework(Framework),
    /// Show the contents of an image and whether Windows would load it
    #[command(
        after_help = "Examples:\n  cargo driver inspect --windows win10-1809\n  cargo driver inspect other.sys --json\n  \
                            cargo driver inspect --rules"
    )]
    Inspect(Inspect),
    /// Verify the signatures of images, catalogs and packages
    #[command(
        after_help = "Examples:\n  cargo driver verify target/package/x64\n  cargo driver verify other.sys --json"
    )]
    Verify(Verify),
    /// Make a test-signed package: image, INF, catalog, certificate and scripts that install it
    #[command(
        after_help = "Examples:\n  cargo driver package\n  cargo driver package --arch arm64 --cert signer.pem\n  \
                            cargo driver package --adopt target/release/my_driver_package"
    )]
    Package(Package),
    /// Exercise the driver on a Windows test machine over SSH: install, record, send requests, uninstall, compare
    ///
    /// Makes the package, copies it, installs it, sends the requests that [package.metadata.exercise] of Cargo.toml names, records,
    /// fetches the trace and the logs, uninstalls, shows the events, and compares them with those of nt-host. Writes evidence.json.
    /// Refuses a machine that is not in test mode, and never changes boot settings.
    #[command(
        after_help = "Examples:\n  cargo driver deploy user@vm\n  cargo driver deploy vm --keep --record 10s\n  \
                            cargo driver deploy vm --reboot --timeout 10m\n  cargo driver deploy vm --remove"
    )]
    Deploy(Deploy),
    /// Write editor settings, so that rust-analyzer checks the driver for Windows as `cargo driver check` does
    ///
    /// Extends existing settings. If it cannot extend a file, it keeps the file and prints the settings.
    #[command(after_help = "Examples:\n  cargo driver editor\n  cargo driver editor zed helix")]
    Editor(Editor),
    /// Remove the driver's images, packages and traces from its target directory
    ///
    /// The certificate that signs packages stays. Once a day, the other commands remove the least recently used crates of
    /// the cache if it is larger than `CARGO_DRIVER_CACHE_LIMIT`.
    #[command(after_help = "Examples:\n  cargo driver clean\n  cargo driver clean --cache")]
    Clean(Clean),
    /// Install what is missing: Rust's targets for Windows, clippy, clang and LLVM
    #[command(after_help = "Example:\n  cargo driver setup")]
    Setup,
}

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options of the command line")]
pub(crate) struct New {
    /// The folder to create, which must not exist or must be empty; its last part is the driver's name
    #[arg(value_name = "NAME")]
    pub(crate) dir: PathBuf,
    /// Use the Kernel-Mode Driver Framework (the default)
    #[arg(long, conflicts_with_all = ["wdm", "wfp"])]
    kmdf: bool,
    /// Use the Windows Driver Model, without a framework
    #[arg(long, conflicts_with = "wfp")]
    pub(crate) wdm: bool,
    /// Make a file system minifilter
    #[arg(long, conflicts_with_all = ["kmdf", "wdm"])]
    pub(crate) minifilter: bool,
    /// Make a callout driver of the Windows Filtering Platform
    #[arg(long, conflicts_with = "minifilter")]
    pub(crate) wfp: bool,
    /// Depend on the crates of this clone of the wdk-etw repository by path (default: what `cargo driver` was installed from)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) wdk_etw: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Run cargo check instead of clippy
    #[arg(long)]
    pub(crate) no_clippy: bool,
}

#[derive(Args)]
pub(crate) struct Test {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Record which lines of the driver the tests reach: prints a table, and writes coverage.info (lcov) and index.html to DIR
    /// (default: target/driver/coverage)
    #[arg(long, value_name = "DIR", require_equals = true)]
    #[expect(clippy::option_option, reason = "the option and its value are both optional")]
    pub(crate) coverage: Option<Option<OutputPath>>,
    /// Run on Microsoft's framework: a version of `cargo driver framework list`, or the folder with Wdf01000.sys (default:
    /// `NT_HOST_FRAMEWORK`, or `framework` in [package.metadata.driver], or the imitation)
    #[arg(long, value_name = "VERSION")]
    pub(crate) framework: Option<PathBuf>,
    /// Run only the tests whose names contain this
    #[arg(value_name = "TESTNAME")]
    pub(crate) filter: Option<String>,
    /// Run only this integration test program; can be repeated
    #[arg(long = "test", value_name = "NAME")]
    pub(crate) programs: Vec<String>,
    /// Run all test programs, even if one fails
    #[arg(long)]
    pub(crate) no_fail_fast: bool,
    /// Also write the results to this file, as XML in the format of `JUnit`
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<OutputPath>,
    /// Run the tests with cargo-nextest, which has to be installed; it runs no doctests
    #[arg(long)]
    pub(crate) nextest: bool,
    /// Run a test that fails up to N more times
    #[arg(long, value_name = "N", requires = "nextest")]
    pub(crate) retries: Option<u32>,
    /// Arguments for the tests, for example -- --nocapture
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Args, Clone)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) driver: Driver,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Run on Microsoft's framework: a version of `cargo driver framework list`, or the folder with Wdf01000.sys (default:
    /// `NT_HOST_FRAMEWORK`, or `framework` in [package.metadata.driver], or the imitation)
    #[arg(long, value_name = "VERSION")]
    pub(crate) framework: Option<PathBuf>,
    /// Options for nt-host, instead of `run` in [package.metadata.driver]; `cargo driver run -- --help` lists them
    #[arg(last = true, value_name = "OPTIONS")]
    pub(crate) rest: Vec<OsString>,
}

#[derive(Subcommand)]
pub(crate) enum Framework {
    /// Check a Wdf01000.sys of a Windows machine, also its signature, and copy it to the cache
    #[command(after_help = "Example:\n  cargo driver framework add Wdf01000.sys")]
    Add {
        /// The framework's image
        #[arg(value_name = "Wdf01000.sys")]
        file: PathBuf,
    },
    /// List the frameworks in the cache
    #[command(after_help = "Example:\n  cargo driver framework list")]
    List,
    /// Remove a framework from the cache
    #[command(after_help = "Example:\n  cargo driver framework remove 1.33")]
    Remove {
        /// The version, for example 1.33
        version: String,
    },
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
    /// Accept the class `Sample`, which is Microsoft's, for one of Microsoft's samples, as `cargo wdk build --sample`
    #[arg(long)]
    pub(crate) sample: bool,
    /// The name of the driver's ETW provider, for the scripts and the recording profile (default: from the image)
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Add this etwctl.exe to the package
    #[arg(long, value_name = "FILE")]
    pub(crate) etwctl: Option<PathBuf>,
    /// Build nothing; add the missing files to a package that `cargo wdk build` or `cargo make` made on Windows
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["cert", "catalog", "sample", "profile"])]
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
    /// Restart Windows after the driver is installed, and record from the start of Windows
    #[arg(long, conflicts_with_all = ["verifier", "remove"])]
    pub(crate) reboot: bool,
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
    pub(crate) out: Option<OutputPath>,
    /// The longest time for one step on the machine, also for its restart
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    pub(crate) timeout: Duration,
    /// Settings for ssh and sftp, instead of ~/.ssh/config
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Editor {
    /// The editors (default: those that the folder has settings for, otherwise VS Code)
    #[arg(value_enum, value_name = "EDITOR")]
    pub(crate) editors: Vec<EditorName>,
    /// The driver's Cargo.toml (default: in this folder, or in the nearest folder above that has one)
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Init {
    #[command(flatten)]
    pub(crate) editor: Editor,
    /// Depend on the crates of this clone of the wdk-etw repository by path (default: what `cargo driver` was installed from)
    #[arg(long, value_name = "FOLDER")]
    pub(crate) wdk_etw: Option<PathBuf>,
}

/// An editor with rust-analyzer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EditorName {
    Vscode,
    Zed,
    Helix,
    Neovim,
}

#[derive(Args)]
pub(crate) struct Clean {
    /// Remove the cache instead: the driver kit and the crates that were compiled for all drivers
    #[arg(long, conflicts_with_all = ["manifest_path", "target_dir"])]
    pub(crate) cache: bool,
    /// The driver's Cargo.toml (default: in this folder, or in the nearest folder above that has one)
    #[arg(long, value_name = "PATH")]
    pub(crate) manifest_path: Option<PathBuf>,
    /// The folder for images and packages (default: cargo's target directory)
    #[arg(long, value_name = "DIR")]
    pub(crate) target_dir: Option<PathBuf>,
}
