//! Decides how to compile for Windows, from facts alone: nothing is run here.

use crate::toolchain::TARGET;

/// The packages of Debian's own toolchain that builds for Windows.
pub(super) const PACKAGES: [&str; 4] = ["rustc-web", "cargo-web", "rust-web-src", "lld"];

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
    use super::{Decision, Facts, PACKAGES, Rights, Route, decide};

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
    fn rustup_is_asked_before_debian() {
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
