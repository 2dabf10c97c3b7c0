//! Decides how to compile for Windows, from facts alone: nothing is run here.

use crate::toolchain::TARGET;

/// The packages of Debian's own toolchain that builds for Windows.
pub(super) const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

/// A program that installs packages, the words that install some, and its names of packages that have others on Debian.
type Manager = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// The package managers of systems, by the names in their package lists. Only apt-get has been tried.
pub(super) const MANAGERS: [Manager; 4] = [
    ("apt-get", "sudo apt-get update && sudo apt-get install --yes", &[]),
    ("dnf", "sudo dnf install", &[("libclang-dev", "clang-devel"), ("libc6-dev", "glibc-devel")]),
    ("pacman", "sudo pacman -S --needed", &[("libclang-dev", "clang"), ("libc6-dev", "glibc")]),
    ("brew", "brew install", &[("clang", "llvm"), ("libclang-dev", "llvm"), ("libc6-dev", "gcc")]),
];

/// The command that installs packages, which are named as those of Debian.
pub(super) fn install_command(manager: Option<&str>, packages: &[&'static str]) -> String {
    let known = MANAGERS.iter().find(|(program, ..)| Some(*program) == manager);
    let Some((program, command, names)) = known else {
        return format!("install what Debian has in the packages {}", packages.join(", "));
    };
    let mut own: Vec<&str> = Vec::new();
    for package in packages {
        let name = names.iter().find(|(debian, _)| debian == package).map_or(*package, |(_, name)| name);
        if !own.contains(&name) {
            own.push(name);
        }
    }
    // Homebrew does not put LLVM into PATH, because macOS has programs with the same names.
    let path = if *program == "brew" { "; then put \"$(brew --prefix llvm)/bin\" into PATH" } else { "" };
    format!("{command} {}{path}", own.join(" "))
}

/// Where the compiler and the target's libraries come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The installed toolchain with its target for Windows, which rustup can add.
    Rustup,
    /// Debian's packages; the target's libraries are compiled from source.
    Debian,
}

impl Route {
    /// Parses the value of the environment variable. An empty value forces nothing.
    pub(super) fn parse(value: &str) -> Result<Option<Self>, String> {
        match value {
            "" => Ok(None),
            "rustup" => Ok(Some(Self::Rustup)),
            "debian" => Ok(Some(Self::Debian)),
            other => Err(format!("`{other}` is neither `rustup` nor `debian`")),
        }
    }
}

/// How packages can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rights {
    /// The user is root.
    Root,
    /// `sudo` works without a password.
    Sudo,
    /// Packages cannot be installed.
    None,
}

/// The facts about this machine.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) forced: Option<Route>,
    /// Whether the compiler in use has libraries for the target.
    pub(super) target_installed: bool,
    /// Whether rustup is installed and was not yet tried.
    pub(super) rustup: bool,
    /// The packages that are not installed; `None` if there is no apt-get.
    pub(super) missing_packages: Option<Vec<&'static str>>,
    /// [`Rights::None`] also after apt-get was tried, so that it is not tried again.
    pub(super) rights: Rights,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    Use(Route),
    AddTarget,
    AptInstall { packages: Vec<&'static str>, rights: Rights },
    GiveUp(String),
}

/// Returns what to do next. The caller calls it again after each installation, with the new facts.
pub(super) fn decide(facts: &Facts) -> Decision {
    if facts.forced != Some(Route::Debian) {
        if facts.target_installed {
            return Decision::Use(Route::Rustup);
        }
        if facts.rustup {
            return Decision::AddTarget;
        }
        if facts.forced == Some(Route::Rustup) {
            return Decision::GiveUp(format!("the Rust target {TARGET} is missing; run: rustup target add {TARGET}"));
        }
    }
    match &facts.missing_packages {
        Some(missing) if missing.is_empty() => Decision::Use(Route::Debian),
        Some(missing) if facts.rights == Rights::None => Decision::GiveUp(format!(
            "nothing here compiles for Windows; run one of these and try again:\n  \
             rustup target add {TARGET}\n  \
             sudo apt-get update && sudo apt-get install --yes {}",
            missing.join(" ")
        )),
        Some(missing) => Decision::AptInstall { packages: missing.clone(), rights: facts.rights },
        None => Decision::GiveUp(format!(
            "nothing here compiles for Windows; install rustup (https://rustup.rs) and run: rustup target add {TARGET}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{Decision, Facts, PACKAGES, Rights, Route, decide, install_command};

    /// A Debian machine as root, with rustup but without anything for Windows.
    fn fresh() -> Facts {
        Facts {
            forced: None,
            target_installed: false,
            rustup: true,
            missing_packages: Some(PACKAGES.to_vec()),
            rights: Rights::Root,
        }
    }

    fn gives_up(facts: &Facts) -> String {
        match decide(facts) {
            Decision::GiveUp(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_installed_target_is_used_as_it_is() {
        let facts =
            Facts { target_installed: true, rustup: false, missing_packages: None, rights: Rights::None, ..fresh() };
        assert_eq!(decide(&facts), Decision::Use(Route::Rustup));
    }

    #[test]
    fn each_system_gets_its_own_command() {
        let command = |manager| install_command(manager, &["clang", "llvm", "libclang-dev"]);
        assert_eq!(command(Some("dnf")), "sudo dnf install clang llvm clang-devel");
        assert_eq!(command(Some("pacman")), "sudo pacman -S --needed clang llvm");
        assert!(command(Some("apt-get")).ends_with("install --yes clang llvm libclang-dev"));
        assert!(command(Some("brew")).starts_with("brew install llvm; then put"));
        assert!(command(None).contains("clang, llvm, libclang-dev"));
    }

    #[test]
    fn rustup_is_tried_before_debian() {
        assert_eq!(decide(&fresh()), Decision::AddTarget);
    }

    #[test]
    fn without_rustup_debians_packages_are_installed_and_then_used() {
        let mut facts = Facts { rustup: false, ..fresh() };
        let install = Decision::AptInstall { packages: PACKAGES.to_vec(), rights: Rights::Root };
        assert_eq!(decide(&facts), install);
        facts.missing_packages = Some(Vec::new());
        assert_eq!(decide(&facts), Decision::Use(Route::Debian));
    }

    #[test]
    fn only_missing_packages_are_installed_with_root_or_sudo() {
        let facts = Facts { rustup: false, missing_packages: Some(vec!["lld"]), rights: Rights::Sudo, ..fresh() };
        let install = Decision::AptInstall { packages: vec!["lld"], rights: Rights::Sudo };
        assert_eq!(decide(&facts), install);
    }

    #[test]
    fn without_rights_the_exact_commands_are_given() {
        let facts = Facts {
            rustup: false,
            missing_packages: Some(vec!["rust-web-src", "lld"]),
            rights: Rights::None,
            ..fresh()
        };
        let text = gives_up(&facts);
        assert!(text.contains("apt-get install --yes rust-web-src lld"));
        assert!(text.contains("rustup target add x86_64-pc-windows-msvc"));
    }

    #[test]
    fn without_rustup_and_apt_rustup_is_recommended() {
        let facts = Facts { rustup: false, missing_packages: None, ..fresh() };
        assert!(gives_up(&facts).contains("https://rustup.rs"));
    }

    #[test]
    fn a_forced_route_is_never_left() {
        let debian = Facts {
            forced: Some(Route::Debian),
            target_installed: true,
            missing_packages: Some(Vec::new()),
            ..fresh()
        };
        assert_eq!(decide(&debian), Decision::Use(Route::Debian));
        let rustup =
            Facts { forced: Some(Route::Rustup), rustup: false, missing_packages: Some(Vec::new()), ..fresh() };
        assert!(gives_up(&rustup).contains("rustup target add"));
    }

    #[test]
    fn the_variable_names_a_route_or_is_refused() {
        assert_eq!(Route::parse(""), Ok(None));
        assert_eq!(Route::parse("rustup"), Ok(Some(Route::Rustup)));
        assert_eq!(Route::parse("debian"), Ok(Some(Route::Debian)));
        assert!(Route::parse("Debian").unwrap_err().contains("`Debian`"));
    }
}
