//! Runs the commands.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command_line::{Activity, Deferred, end, error, escaped, exit, has_colours, is_quiet, is_verbose, message};
use driver_build::new::{Kind, NewDriver};
use driver_build::output::{self, Manner};
use driver_build::setup::{ensure_component, note};
use driver_build::{Arch, Error, Host, PackageOptions, Plan, adopt, build, check, ensure_tools, package, prepare};

use crate::arguments::{Command, Driver, Inspect, New, Package, Run, Test};
use crate::{deploy, internal, trace};

const SETUP: &str = "cargo driver setup";

/// Runs a command and turns its result into an exit code.
pub(crate) fn run(command: &Command) -> ExitCode {
    output::set(Manner {
        is_quiet: is_quiet(),
        is_verbose: is_verbose(),
        has_colours: has_colours(&io::stderr()),
        activity: |what| Box::new(Activity::begin(what)),
        escaped: |text| escaped(text).into_owned(),
    });
    let result = host().and_then(|host| match command {
        Command::New(new) => new_driver(new),
        Command::Build(driver) => images(&host, driver).map(drop),
        Command::Check(driver) => check_driver(&host, driver),
        Command::Test(test) => test_driver(&host, test),
        Command::Run(run) => nt_host(&host, run, "run"),
        Command::Matrix(run) => nt_host(&host, run, "matrix"),
        Command::List(run) => nt_host(&host, run, "list"),
        Command::Trace(run) => trace_driver(&host, run),
        Command::Inspect(inspect) => inspect_images(&host, inspect),
        Command::Verify(verify) => {
            host.program("driver-package").args(["verify"]).args(&verify.rest).replace_ourselves()
        }
        Command::Package(package) => make_package(&host, package),
        Command::Deploy(line) => deploy::deploy(&host, line),
        Command::Setup => setup(),
    });
    match result {
        Ok(()) => end(exit::SUCCESS),
        Err(error) => {
            if !matches!(error, Error::Reported(_)) {
                report(&error.to_string());
            }
            end(error.exit_code())
        }
    }
}

/// Prints an error. Its further lines are indented, so that none looks like another message.
fn report(text: &str) {
    let mut lines = text.lines();
    error(lines.next().unwrap_or_default());
    lines.for_each(|line| message(&format!("  {line}")));
}

/// A host that installs nothing: an error about something missing names [`SETUP`].
fn host() -> Result<Host, Error> {
    Ok(installing_host()?.without_installing(SETUP))
}

fn installing_host() -> Result<Host, Error> {
    let here = env::current_dir().map_err(|error| Error::Failed(format!("cannot find the current folder: {error}")))?;
    Ok(Host::new(&here, internal::command, cache()?))
}

/// The folder for the kit and for compiled crates. All drivers of a user share it.
fn cache() -> Result<PathBuf, Error> {
    if let Some(folder) = env::var_os("CARGO_DRIVER_CACHE").filter(|folder| !folder.is_empty()) {
        return Ok(folder.into());
    }
    let folder = env::var_os("XDG_CACHE_HOME").filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let folder = folder.or_else(|| Some(env::home_dir()?.join(".cache"))).map(|folder| folder.join("cargo-driver"));
    folder.ok_or_else(|| {
        Error::Usage("there is no home folder: set CARGO_DRIVER_CACHE to a folder for compiled crates".into())
    })
}

/// Reads the workspace of the drivers and makes what their build needs.
fn plan(host: &Host, driver: &Driver) -> Result<Plan, Error> {
    ensure_tools(host)?;
    Ok(prepare(host, &driver.options())?)
}

/// Builds the drivers.
fn images(host: &Host, driver: &Driver) -> Result<Vec<PathBuf>, Error> {
    build(host, &plan(host, driver)?)
}

/// Builds the driver to run. There must be exactly one.
fn image(host: &Host, driver: &Driver) -> Result<PathBuf, Error> {
    if driver.options().arch != Arch::X64 {
        return Err(Error::Usage("only drivers for x64 can be run here: leave out --arch".into()));
    }
    let mut images = images(host, driver)?;
    match images.pop() {
        Some(image) if images.is_empty() => Ok(image),
        last => {
            let names = images.iter().chain(&last).filter_map(|image| image.file_stem());
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            Err(Error::Usage(format!(
                "the workspace has several drivers: choose one with --package ({})",
                names.join(", ")
            )))
        }
    }
}

fn check_driver(host: &Host, driver: &Driver) -> Result<(), Error> {
    let plan = plan(host, driver)?;
    ensure_component(host, "clippy", host.cargo().args(["clippy", "--version"]))?;
    let settings = check(host, &plan, &["clippy"])?;
    note("for the same checks in rust-analyzer, put these settings into .vscode/settings.json:");
    note(&settings);
    Ok(())
}

fn new_driver(new: &New) -> Result<(), Error> {
    let wdk_etw = fs::canonicalize(&new.wdk_etw).map_err(|error| {
        let text = "name a clone of the wdk-etw repository with --wdk-etw";
        Error::Usage(format!("{}: {error}; {text}", new.wdk_etw.display()))
    })?;
    let kind = match (new.wdm, new.wfp) {
        (true, _) => Kind::Wdm,
        (_, true) => Kind::Wfp,
        _ => Kind::Kmdf,
    };
    let made = NewDriver::at(&new.folder, kind, wdk_etw);
    // The files are small. An interrupt waits for them, so that none is missing.
    let interrupts = Deferred::begin();
    made.write()?;
    drop(interrupts);
    note(&format!("made a new driver in {}. Next, in that folder: cargo driver test", made.dir.display()));
    if is_checkout(&made.wdk_etw) {
        note(&format!(
            "the driver depends on {}, cargo's copy of the repository, which cargo removes after some weeks without use; to avoid this, \
             clone the repository and make the driver with --wdk-etw FOLDER",
            made.wdk_etw.display()
        ));
    }
    Ok(())
}

/// Whether a folder is in cargo's cache, where `cargo install --git` puts the repository.
fn is_checkout(folder: &Path) -> bool {
    let home = env::var_os("CARGO_HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")));
    // The folder is canonical, so the cache must be, too.
    let cache = home.and_then(|home| fs::canonicalize(home.join("git/checkouts")).ok());
    cache.is_some_and(|cache| folder.starts_with(cache))
}

/// The manifest of the tests, relative to the driver's workspace, if they are a workspace of their own.
const TESTS: &str = "host-tests/Cargo.toml";

/// Runs the tests of packages that are not drivers, because a driver does not run on the host: the package in `host-tests`
/// if there is one, otherwise all other packages of the workspace. `DRIVER_IMAGE` has the path of the image if there is only one.
fn test_driver(host: &Host, test: &Test) -> Result<(), Error> {
    let plan = plan(host, &test.driver)?;
    let images = build(host, &plan)?;
    let workspace = &plan.workspace;
    let own = workspace.root.join(TESTS);
    let mut cargo = host.cargo().current_dir(&workspace.root).args(["test"]);
    if let [image] = images.as_slice() {
        cargo = cargo.hidden_env("DRIVER_IMAGE", image);
    }
    if own.is_file() {
        // All drivers share one folder, so nt-host is compiled once for each toolchain and not once for each driver.
        if env::var_os("CARGO_TARGET_DIR").is_none() {
            cargo = cargo.hidden_env("CARGO_TARGET_DIR", host.cache().join("host-tests"));
        }
        return cargo.args(["--manifest-path", TESTS]).args(&test.rest).run_ours();
    }
    if workspace.others == 0 {
        return Err(Error::Failed(format!(
            "{} has no tests: add a package that depends on nt-host, in the folder host-tests or in the driver's workspace; \
             a driver made by `cargo driver new` has one",
            workspace.root.display()
        )));
    }
    cargo = cargo.args(["--workspace"]);
    for driver in workspace.drivers() {
        cargo = cargo.args(["--exclude", driver]);
    }
    cargo.args(&test.rest).run_ours()
}

/// Whether the options for `nt-host` ask for its help.
fn asks_for_help(run: &Run) -> bool {
    run.rest.iter().any(|word| word == "--help" || word == "-h")
}

/// Builds the driver and runs a command of `nt-host` on its image.
fn nt_host(host: &Host, run: &Run, command: &str) -> Result<(), Error> {
    if asks_for_help(run) {
        return host.program("nt-host").args([command, "--help"]).replace_ourselves();
    }
    // The list of all routines does not depend on a driver.
    if command == "list" && run.rest.iter().any(|word| word == "--all") {
        return host.program("nt-host").args([command]).args(&run.rest).replace_ourselves();
    }
    let image = image(host, &run.driver)?;
    host.program("nt-host").args([command]).args([image]).args(&run.rest).replace_ourselves()
}

fn trace_driver(host: &Host, run: &Run) -> Result<(), Error> {
    if asks_for_help(run) {
        return nt_host(host, run, "run");
    }
    let image = image(host, &run.driver)?;
    let folder = image.parent().and_then(Path::parent).unwrap_or(&image).join("trace");
    fs::create_dir_all(&folder).map_err(|error| Error::Failed(format!("{}: {error}", folder.display())))?;
    let etl = folder.join(image.file_name().unwrap_or_default()).with_extension("etl");
    let options = [OsString::from("--etl"), etl.clone().into()];
    let result = host.program("nt-host").args(["run"]).args([&image]).args(options).args(&run.rest).run_ours();
    // A run with findings fails, but its trace is still of use.
    let page = trace::page(&etl)?;
    note(&format!("{}\n{}", etl.display(), page.display()));
    result
}

fn inspect_images(host: &Host, inspect: &Inspect) -> Result<(), Error> {
    let mut tool = host.program("driver-package").args(["inspect"]);
    if inspect.rules {
        return tool.args(["--rules"]).replace_ourselves();
    }
    let files = if inspect.files.is_empty() { images(host, &inspect.driver)? } else { inspect.files.clone() };
    if let Some(map) = &inspect.map {
        tool = tool.args([OsString::from("--map"), map.into()]);
    }
    if let Some(release) = &inspect.windows {
        tool = tool.args(["--windows", release]);
    }
    if inspect.json {
        tool = tool.args(["--json"]);
    }
    tool.args(["--"]).args(files).replace_ourselves()
}

fn make_package(host: &Host, arguments: &Package) -> Result<(), Error> {
    let here = |path: &PathBuf| env::current_dir().unwrap_or_default().join(path);
    let mut wanted = PackageOptions {
        cert: arguments.cert.as_ref().map(here),
        catalog: arguments.catalog.clone(),
        provider: arguments.provider.clone(),
        etwctl: arguments.etwctl.as_ref().map(here),
        ..PackageOptions::default()
    };
    if let Some(folder) = &arguments.adopt {
        return adopt(host, &arguments.driver.options().manifest, &here(folder), &wanted, arguments.replace);
    }
    let plan = plan(host, &arguments.driver)?;
    wanted.out = plan.workspace.target.join("package");
    wanted.keys = plan.workspace.target.join("signing");
    package(host, &plan, &wanted)
}

/// Installs everything that the other commands need.
fn setup() -> Result<(), Error> {
    let host = installing_host()?;
    let toolchain = host.windows()?;
    note(&format!("using {}", toolchain.description));
    ensure_tools(&host)?;
    let without = toolchain.ensure_driver_targets(&host);
    ensure_component(&host, "clippy", host.cargo().args(["clippy", "--version"]))?;
    if without.is_empty() {
        note("everything is installed");
    } else {
        note(&format!("drivers for {} cannot be built", without.join(" and ")));
    }
    Ok(())
}
