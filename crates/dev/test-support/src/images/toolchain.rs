//! Finds the toolchain that compiles for Windows: the one that `cargo xtask` set up, otherwise the one that runs the
//! tests.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The target of every image.
pub const TARGET: &str = "x86_64-pc-windows-msvc";

/// A cargo that can build for a target, with the arguments and variables that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    target: String,
    cargo: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Toolchain {
    /// Finds a toolchain for [`TARGET`].
    ///
    /// # Errors
    ///
    /// Returns how to install a toolchain if there is none.
    pub fn find() -> Result<Self, String> {
        Self::find_for(TARGET)
    }

    /// Finds the toolchain that `cargo xtask` set up, or the current toolchain if it has the target.
    ///
    /// # Errors
    ///
    /// Returns how to install a toolchain if there is none.
    pub fn find_for(target: &str) -> Result<Self, String> {
        if let Some(from_setup) = Self::from_variables(target, |name| env::var(name).ok()) {
            return Ok(from_setup);
        }
        if has_target(target) {
            let linker = format!("CARGO_TARGET_{}_LINKER", target.to_uppercase().replace('-', "_"));
            return Ok(Self {
                target: target.to_owned(),
                cargo: env::var("CARGO").unwrap_or_else(|_| String::from("cargo")),
                args: Vec::new(),
                env: vec![(linker, String::from("rust-lld"))],
            });
        }
        Err(format!("this machine cannot compile for {target} yet; run `cargo xtask test`, which sets it up"))
    }

    /// Returns `cargo VERB --profile PROFILE` for the target, with this manifest and this target folder.
    #[must_use]
    pub fn command(&self, verb: &str, profile: &str, manifest: &Path, target_dir: &Path) -> Command {
        let mut command = Command::new(&self.cargo);
        command
            .args([verb, "--profile", profile, "--target", &self.target])
            .args(&self.args)
            .arg("--manifest-path")
            .arg(manifest)
            .arg("--target-dir")
            .arg(target_dir)
            // Flags of the host's test run do not apply to drivers.
            .env_remove("RUSTFLAGS")
            .env_remove("CARGO_ENCODED_RUSTFLAGS")
            .env_remove("CARGO_BUILD_TARGET")
            .envs(self.env.iter().map(|(key, value)| (key, value)));
        command
    }

    /// Reads the variables that `cargo xtask test` sets. Lists have one item per line.
    fn from_variables(target: &str, variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let lines = |name: &str| -> Vec<String> {
            let text = variable(name).unwrap_or_default();
            text.lines().map(String::from).collect()
        };
        Some(Self {
            target: target.to_owned(),
            cargo: variable("WDK_ETW_WINDOWS_CARGO")?,
            args: lines("WDK_ETW_WINDOWS_ARGS"),
            env: lines("WDK_ETW_WINDOWS_ENV")
                .iter()
                .filter_map(|line| line.split_once('='))
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        })
    }
}

/// Returns whether the target could not be installed for this toolchain. If so, prints that a test is skipped.
#[must_use]
pub fn is_without(target: &str) -> bool {
    let without = env::var("WDK_ETW_WITHOUT").is_ok_and(|list| list.lines().any(|line| line == target));
    if without {
        eprintln!("skipped: the Rust target {target} could not be installed for this toolchain");
    }
    without
}

/// Returns whether the current compiler has `core` for the target.
fn has_target(target: &str) -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output();
    let folder = match &output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout),
        _ => return false,
    };
    fs::read_dir(folder.trim())
        .is_ok_and(|entries| entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("libcore-")))
}

#[cfg(test)]
mod tests {
    use super::{TARGET, Toolchain};

    #[test]
    fn variables_of_the_set_up_are_understood() {
        let from_setup = Toolchain::from_variables(TARGET, |name| {
            let value = match name {
                "WDK_ETW_WINDOWS_CARGO" => "/usr/bin/cargo",
                "WDK_ETW_WINDOWS_ARGS" => "-Zbuild-std=core\n--verbose",
                "WDK_ETW_WINDOWS_ENV" => "RUSTC=/usr/bin/rustc\nFLAGS=-C x=y",
                _ => return None,
            };
            Some(value.to_owned())
        });
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let expected = Toolchain {
            target: TARGET.into(),
            cargo: "/usr/bin/cargo".into(),
            args: vec!["-Zbuild-std=core".into(), "--verbose".into()],
            env: vec![pair("RUSTC", "/usr/bin/rustc"), pair("FLAGS", "-C x=y")],
        };
        assert_eq!(from_setup, Some(expected));
    }

    #[test]
    fn a_target_is_there_if_its_libraries_are() {
        assert!(!super::has_target("mips-no-such-target"));
        assert!(super::has_target(&host()));
    }

    fn host() -> String {
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let output = std::process::Command::new(rustc).arg("-vV").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
    }

    #[test]
    fn without_the_variables_there_is_no_toolchain() {
        assert_eq!(Toolchain::from_variables(TARGET, |_| None), None);
    }
}
