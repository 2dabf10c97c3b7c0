//! Set-up: finds the tools that compile for Windows, installs missing ones if the host allows it, and prints what it installs.
//!
//! `plan` decides what to do from facts; `system` gathers the facts and acts. No file of the repository is changed.

mod plan;
mod system;

use std::env;

use crate::error::Error;
use crate::host::Host;
pub use crate::output::note;
use crate::process::Tool;
pub use plan::Rights;
use plan::{Decision, Route, decide};
pub use system::{apt_install, has_apt, rights};

/// The target every driver image is built for.
pub const TARGET: &str = "x86_64-pc-windows-msvc";

/// The targets that drivers are built for.
pub const DRIVER_TARGETS: [&str; 2] = [TARGET, "aarch64-pc-windows-msvc"];

/// The environment variable that forces a route.
const FORCE: &str = "WDK_ETW_TOOLCHAIN";

/// How to run cargo so that it compiles for Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowsToolchain {
    /// A description for the user.
    pub description: String,
    cargo: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

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

    /// Environment variables with which tests that build images run the same cargo. Lists have one item per line. The last
    /// variable lists the targets that could not be installed: tests that need them are skipped.
    #[must_use]
    pub fn to_env(&self, without: &[&str]) -> [(&'static str, String); 4] {
        let pairs: Vec<String> = self.env.iter().map(|(k, v)| format!("{k}={v}")).collect();
        [
            ("WDK_ETW_WINDOWS_CARGO", self.cargo.clone()),
            ("WDK_ETW_WINDOWS_ARGS", self.args.join("\n")),
            ("WDK_ETW_WINDOWS_ENV", pairs.join("\n")),
            ("WDK_ETW_WITHOUT", without.join("\n")),
        ]
    }

    /// Rustup's name of the toolchain; `None` if it is the one that runs this program.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.env.iter().find(|(key, _)| key == "RUSTUP_TOOLCHAIN").map(|(_, name)| name.as_str())
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

    /// Whether the linker is LLVM's `lld-link` and not the toolchain's `rust-lld`.
    #[must_use]
    pub fn needs_lld(&self) -> bool {
        self.env.iter().any(|(_, value)| value == "lld-link")
    }

    /// Whether the target's libraries are compiled with every build.
    #[must_use]
    pub fn builds_core(&self) -> bool {
        !self.args.is_empty()
    }

    fn rustup(cargo: &str, linker: &str) -> Self {
        Self {
            description: format!("the installed toolchain's own target {TARGET}, linker {linker}"),
            cargo: cargo.to_owned(),
            args: Vec::new(),
            env: linker_variables(linker).into(),
        }
    }

    fn debian() -> Self {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Self {
            description: String::from(
                "Debian's rustc-web, which compiles core and alloc from rust-web-src, linker lld-link",
            ),
            cargo: String::from(system::DEBIAN_CARGO),
            args: vec![String::from("-Zbuild-std=core,alloc,panic_abort")],
            env: [
                pair("RUSTC", system::DEBIAN_RUSTC),
                // build-std is unstable, and Debian has no nightly compiler.
                pair("RUSTC_BOOTSTRAP", "1"),
            ]
            .into_iter()
            .chain(linker_variables("lld-link"))
            .collect(),
        }
    }
}

fn linker_variables(linker: &str) -> [(String, String); 2] {
    DRIVER_TARGETS.map(|target| {
        let key = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
        (key, linker.to_owned())
    })
}

/// Finds a toolchain that compiles for Windows. A missing one is installed if the host allows it.
///
/// # Errors
///
/// If it is missing and was not installed.
pub fn ensure_windows(host: &Host) -> Result<WindowsToolchain, Error> {
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
                permit(host, &format!("the Rust target {TARGET}"), &format!("rustup target add {TARGET}"))?;
                note(&format!("installing the Rust target {TARGET} with rustup"));
                match system::add_target(host, &[], TARGET) {
                    Ok(()) => facts.target_installed = system::has_target(host, &[], TARGET),
                    Err(error) => note(&format!("rustup could not install it: {error}")),
                }
                facts.rustup = false;
            }
            Decision::AptInstall { packages, rights } => {
                permit(host, "a toolchain for Windows", &format!("apt-get install {}", packages.join(" ")))?;
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
    permit(host, &format!("the Rust target {target}{of}"), &command)?;
    note(&format!("installing the Rust target {target}{of} with rustup"));
    system::add_target(host, env, target)
        .map_err(|error| Error::Missing(format!("the Rust target {target}{of} is missing; run: {command}\n{error}")))
}

/// Installs Debian packages.
///
/// # Errors
///
/// If they were not installed; the error says how to install them.
pub fn ensure_packages(host: &Host, packages: &[&'static str]) -> Result<(), Error> {
    let list = packages.join(" ");
    permit(host, &packages.join(", "), &format!("sudo apt-get install {list}"))?;
    let rights = rights(host);
    if rights == Rights::None || !has_apt(host) {
        return Err(Error::Missing(format!(
            "programs are missing (Debian's packages: {list}); run: \
             sudo apt-get update && sudo apt-get install --yes {list}"
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
    permit(host, &format!("the Rust component {name}"), &format!("rustup component add {name}"))?;
    note(&format!("installing the Rust component {name} with rustup"));
    host.tool("rustup")
        .args(["component", "add", name])
        .capture()
        .map(drop)
        .map_err(|error| Error::Missing(format!("{name} is missing and could not be added: {error}")))
}

/// Returns an error that says how to get what is missing, unless this host installs it.
pub(crate) fn permit(host: &Host, what: &str, how: &str) -> Result<(), Error> {
    match host.installs() {
        None => Ok(()),
        Some(command) => Err(Error::Missing(format!(
            "{what} is not installed; run `{command}`, which installs everything that is missing, or install it yourself: {how}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::WindowsToolchain;

    #[test]
    fn tests_are_told_how_to_build_with_the_installed_toolchain() {
        let [cargo, args, env, without] =
            WindowsToolchain::rustup("/bin/cargo", "rust-lld").to_env(&["aarch64-pc-windows-msvc"]);
        assert_eq!(without, ("WDK_ETW_WITHOUT", "aarch64-pc-windows-msvc".into()));
        assert_eq!(cargo, ("WDK_ETW_WINDOWS_CARGO", "/bin/cargo".into()));
        assert_eq!(args, ("WDK_ETW_WINDOWS_ARGS", String::new()));
        let linkers = "CARGO_TARGET_X86_64_PC_WINDOWS_MSVC_LINKER=rust-lld\n\
                       CARGO_TARGET_AARCH64_PC_WINDOWS_MSVC_LINKER=rust-lld";
        assert_eq!(env, ("WDK_ETW_WINDOWS_ENV", linkers.into()));
    }

    #[test]
    fn tests_are_told_to_build_core_with_debians_compiler() {
        let [cargo, args, env, _] = WindowsToolchain::debian().to_env(&[]);
        assert_eq!(cargo.1, "/usr/bin/cargo");
        assert_eq!(args.1, "-Zbuild-std=core,alloc,panic_abort");
        assert!(env.1.contains("RUSTC=/usr/bin/rustc\nRUSTC_BOOTSTRAP=1\n"));
    }
}
