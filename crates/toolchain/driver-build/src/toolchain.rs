//! How to run cargo so that it compiles for Windows. Nothing is run here: `setup` finds a toolchain and adds what runs it.

/// The target every driver image is built for.
pub const TARGET: &str = "x86_64-pc-windows-msvc";

/// The targets that drivers are built for.
pub const DRIVER_TARGETS: [&str; 2] = [TARGET, "aarch64-pc-windows-msvc"];

const DEBIAN_CARGO: &str = "/usr/bin/cargo";
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// How to run cargo so that it compiles for Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowsToolchain {
    /// A description for the user.
    pub description: String,
    pub(crate) cargo: String,
    pub(crate) args: Vec<String>,
    pub(crate) env: Vec<(String, String)>,
}

impl WindowsToolchain {
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

    /// The installed toolchain with its own target.
    pub(crate) fn rustup(cargo: &str, linker: &str) -> Self {
        Self {
            description: format!("the installed toolchain's own target {TARGET}, linker {linker}"),
            cargo: cargo.to_owned(),
            args: Vec::new(),
            env: linker_variables(linker).into(),
        }
    }

    /// Debian's packages, which compile the target's libraries with every build.
    pub(crate) fn debian() -> Self {
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        Self {
            description: String::from(
                "Debian's rustc-web, which compiles core and alloc from rust-web-src, linker lld-link",
            ),
            cargo: String::from(DEBIAN_CARGO),
            args: vec![String::from("-Zbuild-std=core,alloc,panic_abort")],
            env: [
                pair("RUSTC", DEBIAN_RUSTC),
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

#[cfg(test)]
mod tests {
    use super::WindowsToolchain;

    #[test]
    fn tests_learn_how_to_build_with_the_installed_toolchain() {
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
    fn tests_learn_to_build_core_with_debians_compiler() {
        let [cargo, args, env, _] = WindowsToolchain::debian().to_env(&[]);
        assert_eq!(cargo.1, "/usr/bin/cargo");
        assert_eq!(args.1, "-Zbuild-std=core,alloc,panic_abort");
        assert!(env.1.contains("RUSTC=/usr/bin/rustc\nRUSTC_BOOTSTRAP=1\n"));
    }
}
