//! Which driver to build, and how: cargo's own options, and a few of ours.

use std::env;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use driver_build::{Arch, CargoOptions, Error, Options};

/// The folder of the tests that `cargo driver new` makes. It is a workspace of its own inside of the driver's.
pub(crate) const TESTS: &str = "host-tests";

#[derive(Args, Clone)]
#[command(next_help_heading = "Driver")]
pub(crate) struct Driver {
    /// The driver's Cargo.toml (default: in this folder, or in the nearest folder above that has one)
    #[arg(long, value_name = "PATH")]
    manifest_path: Option<PathBuf>,
    /// Build only this driver of the workspace; can be repeated (default: the manifest's package, or all drivers of a workspace)
    #[arg(long, short, value_name = "NAME")]
    package: Vec<String>,
    /// Build all drivers of the workspace
    #[arg(long, conflicts_with = "package")]
    workspace: bool,
    /// The processor to build for
    #[arg(long, value_enum, default_value_t = Processor::X64)]
    arch: Processor,
    /// Build with this profile (default: release)
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// The folder of a real WDK to use instead of the built-in driver kit
    #[arg(long, value_name = "DIR", env = "WDKContentRoot")]
    wdk: Option<PathBuf>,
    #[command(flatten)]
    cargo: Cargo,
}

/// Options that are cargo's.
#[derive(Args, Clone)]
#[command(next_help_heading = "Cargo")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct Cargo {
    /// Features of the driver, separated by spaces or commas; can be repeated
    #[arg(long, short = 'F', value_name = "FEATURES")]
    features: Vec<String>,
    /// Enable all features of the driver
    #[arg(long)]
    all_features: bool,
    /// Do not enable the driver's default features
    #[arg(long)]
    no_default_features: bool,
    /// Fail if Cargo.lock is missing or would change
    #[arg(long)]
    locked: bool,
    /// Use no network
    #[arg(long)]
    offline: bool,
    /// Same as --locked --offline
    #[arg(long)]
    frozen: bool,
    /// Run this many jobs at the same time
    #[arg(long, short, value_name = "N", allow_negative_numbers = true)]
    jobs: Option<String>,
    /// The format of cargo's messages: human, short, json, …
    #[arg(long, value_name = "FORMAT")]
    message_format: Option<String>,
    /// The folder for images and packages (default: cargo's target directory)
    #[arg(long, value_name = "DIR")]
    target_dir: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Processor {
    X64,
    Arm64,
}

impl Driver {
    /// The options for a build. Cargo runs in another folder, so relative paths become absolute.
    pub(crate) fn options(&self) -> Result<Options, Error> {
        Ok(Options {
            packages: self.package.clone(),
            is_workspace: self.workspace,
            arch: match self.arch {
                Processor::X64 => Arch::X64,
                Processor::Arm64 => Arch::Arm64,
            },
            profile: self.profile.clone().unwrap_or_else(|| String::from("release")),
            wdk: self.wdk.as_deref().map(here),
            target_dir: self.target_dir(),
            cargo: self.cargo.options(),
            ..Options::new(self.manifest()?)
        })
    }

    /// Builds with this profile unless the command line names one.
    pub(crate) fn default_profile(mut self, name: &str) -> Self {
        self.profile.get_or_insert_with(|| name.to_owned());
        self
    }

    /// The driver's manifest.
    pub(crate) fn manifest(&self) -> Result<PathBuf, Error> {
        manifest(self.manifest_path.as_deref())
    }

    /// Whether the driver is built for x64, which nt-host runs.
    pub(crate) fn is_for_x64(&self) -> bool {
        self.arch == Processor::X64
    }

    /// The target directory that the command line names.
    pub(crate) fn target_dir(&self) -> Option<PathBuf> {
        self.cargo.target_dir.as_deref().map(here)
    }

    /// The arguments that also `cargo test` gets for the packages that are not drivers.
    pub(crate) fn for_tests(&self) -> Vec<String> {
        let CargoOptions { lock, jobs, .. } = self.cargo.options();
        lock.into_iter().chain(jobs.into_iter().flat_map(|jobs| [String::from("--jobs"), jobs])).collect()
    }
}

impl Cargo {
    fn options(&self) -> CargoOptions {
        let switches = |all: &[(bool, &str)]| -> Vec<String> {
            all.iter().filter(|(is_on, _)| *is_on).map(|(_, word)| (*word).to_owned()).collect()
        };
        let mut features =
            switches(&[(self.all_features, "--all-features"), (self.no_default_features, "--no-default-features")]);
        features.extend(self.features.iter().map(|list| format!("--features={list}")));
        CargoOptions {
            features,
            lock: switches(&[(self.locked, "--locked"), (self.offline, "--offline"), (self.frozen, "--frozen")]),
            jobs: self.jobs.clone(),
            message_format: self.message_format.clone(),
        }
    }
}

/// The manifest that the command line names, or the nearest one.
pub(crate) fn manifest(named: Option<&Path>) -> Result<PathBuf, Error> {
    named.map_or_else(|| nearest(&env::current_dir().unwrap_or_default()), |path| Ok(here(path)))
}

/// Makes a path of the command line absolute.
pub(crate) fn here(path: &Path) -> PathBuf {
    env::current_dir().unwrap_or_default().join(path)
}

/// Finds the manifest in a folder or in the nearest folder above it, as cargo does. The folder of a driver's tests belongs to the
/// driver.
fn nearest(dir: &Path) -> Result<PathBuf, Error> {
    let is_of_tests =
        |dir: &Path| dir.ends_with(TESTS) && dir.parent().is_some_and(|above| above.join("Cargo.toml").is_file());
    let mut dirs = dir.ancestors().filter(|dir| !is_of_tests(dir));
    dirs.find_map(|dir| Some(dir.join("Cargo.toml")).filter(|path| path.is_file())).ok_or_else(|| {
        Error::Usage(format!(
            "no Cargo.toml in {} or in a folder above it: run the command in a driver's folder, name its Cargo.toml with \
             --manifest-path, or make a driver with `cargo driver new NAME`",
            dir.display()
        ))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, absolute};

    use clap::Parser;
    use driver_build::{CargoOptions, Options};

    use super::{Driver, TESTS, nearest};

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        driver: Driver,
    }

    fn options(line: &str) -> Options {
        Line::parse_from(line.split(' ')).driver.options().unwrap()
    }

    #[test]
    fn options_of_cargo_are_passed_on() {
        let line = "driver --manifest-path /a/Cargo.toml -F one -F two,three --all-features --no-default-features --locked --offline --frozen \
                    -j 3 --message-format short --target-dir /b --profile dev --workspace";
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let expected = Options {
            is_workspace: true,
            profile: String::from("dev"),
            target_dir: Some(absolute("/b").unwrap()),
            cargo: CargoOptions {
                features: words(&["--all-features", "--no-default-features", "--features=one", "--features=two,three"]),
                lock: words(&["--locked", "--offline", "--frozen"]),
                jobs: Some(String::from("3")),
                message_format: Some(String::from("short")),
            },
            ..Options::new(absolute("/a/Cargo.toml").unwrap())
        };
        // A WDK of the environment is an option, too.
        assert_eq!(Options { wdk: None, ..options(line) }, expected);
        let packages = options("driver --manifest-path /a/Cargo.toml -p one --package two");
        assert_eq!(packages.packages, words(&["one", "two"]));
        assert_eq!(packages.profile, String::from("release"));
        assert!(options("driver --manifest-path a/Cargo.toml").manifest.ends_with(Path::new("a/Cargo.toml")));
    }

    #[test]
    fn a_folder_below_a_driver_belongs_to_it() {
        let root = std::env::temp_dir().join(format!("cargo-driver-nearest-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        for dir in ["driver/src/deep", "driver/host-tests/tests"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        let manifest = root.join("driver/Cargo.toml");
        for path in [manifest.clone(), root.join("driver").join(TESTS).join("Cargo.toml")] {
            fs::write(path, "").unwrap();
        }
        for dir in ["driver", "driver/src", "driver/src/deep", "driver/host-tests", "driver/host-tests/tests"] {
            assert_eq!(nearest(&root.join(dir)).ok().as_ref(), Some(&manifest), "{dir}");
        }
        let error = nearest(&root).unwrap_err().to_string();
        assert!(error.contains("--manifest-path"), "{error}");
        assert!(error.contains("cargo driver new"), "{error}");
        fs::remove_dir_all(root).unwrap();
    }
}
