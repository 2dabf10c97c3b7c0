//! Runs the commands.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use command_line::{Activity, OwnDir, end, exit, has_colours, is_quiet, is_verbose};
use driver_build::output::{self, Manner};
use driver_build::setup::{ensure_component, note};
use driver_build::{Error, Host, PackageOptions, Plan, adopt, build, check, ensure_tools, package};

use crate::arguments::{Check, Command, Driver, Inspect, Package, Run, here};
use crate::plan::plan;
use crate::{clean, deploy, editor, framework, internal, new, test, trace};

const SETUP: &str = "cargo driver setup";

/// Runs a command and turns its result into an exit code.
pub(crate) fn run(command: &Command) -> ExitCode {
    output::set(Manner {
        is_quiet: is_quiet(),
        is_verbose: is_verbose(),
        has_colours: has_colours(&io::stderr()),
        activity: |what| Box::new(Activity::begin(what)),
    });
    let result = host().and_then(|host| match command {
        Command::New(line) => new::new(&host, line),
        Command::Init(line) => new::init(&host, line),
        Command::Build(driver) => images(&host, driver).map(drop),
        Command::Check(line) => check_driver(&host, line),
        Command::Test(line) => test::test(&host, line),
        Command::Run { debug: false, run } => nt_host(&host, run, "run"),
        Command::Run { debug: true, run } => debug(&host, run),
        Command::Matrix(run) => nt_host(&host, run, "matrix"),
        Command::Fuzz(run) => nt_host(&host, run, "fuzz"),
        Command::List(run) => nt_host(&host, run, "list"),
        Command::Trace(run) => trace_driver(&host, run),
        Command::Framework(line) => framework::framework(&host, line),
        Command::Inspect(inspect) => inspect_images(&host, inspect),
        Command::Verify(verify) => {
            host.program("driver-package").args(["verify"]).args(&verify.rest).replace_ourselves()
        }
        Command::Package(package) => make_package(&host, package),
        Command::Deploy(line) => deploy::deploy(&host, line),
        Command::Editor(line) => editor::editor(line),
        Command::Clean(line) => clean::clean(&host, line),
        Command::Setup => setup(),
    });
    match result {
        Ok(()) => end(exit::SUCCESS),
        Err(error) => {
            if !matches!(error, Error::Reported(_)) {
                output::error(&error.to_string());
            }
            end(error.exit_code())
        }
    }
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
    if let Some(dir) = env::var_os("CARGO_DRIVER_CACHE").filter(|dir| !dir.is_empty()) {
        return Ok(dir.into());
    }
    let dir = env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let dir = dir.or_else(|| Some(env::home_dir()?.join(".cache"))).map(|dir| dir.join("cargo-driver"));
    dir.ok_or_else(|| {
        Error::Usage("there is no home folder: set CARGO_DRIVER_CACHE to a folder for compiled crates".into())
    })
}

/// Builds the drivers.
fn images(host: &Host, driver: &Driver) -> Result<Vec<PathBuf>, Error> {
    build(host, &plan(host, driver)?)
}

/// Reads the workspace of a driver that is to be run.
fn plan_of_run(host: &Host, run: &Run) -> Result<Plan, Error> {
    if !run.driver.is_for_x64() {
        return Err(Error::Usage("only drivers for x64 can be run here: leave out --arch".into()));
    }
    plan(host, &run.driver)
}

/// Builds the driver to run and returns its image. There must be exactly one.
fn image(host: &Host, plan: &Plan) -> Result<PathBuf, Error> {
    let mut images = build(host, plan)?;
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

fn check_driver(host: &Host, line: &Check) -> Result<(), Error> {
    let plan = plan(host, &line.driver)?;
    if line.no_clippy {
        return check(host, &plan, "check", &[]);
    }
    ensure_component(host, "clippy", host.cargo().args(["clippy", "--version"]))?;
    check(host, &plan, "clippy", &[])
}

/// Whether the options for `nt-host` ask for its help.
fn asks_for_help(run: &Run) -> bool {
    run.rest.iter().any(|word| word == "--help" || word == "-h")
}

/// Builds the driver without optimisation and runs it for a debugger.
fn debug(host: &Host, run: &Run) -> Result<(), Error> {
    let run = Run { driver: run.driver.clone().default_profile("dev"), ..run.clone() };
    run_with(host, &run, "run", &["--debug"])
}

/// Builds the driver and runs a command of `nt-host` on its image.
fn nt_host(host: &Host, run: &Run, command: &str) -> Result<(), Error> {
    run_with(host, run, command, &[])
}

fn run_with(host: &Host, run: &Run, command: &str, own: &[&str]) -> Result<(), Error> {
    let tool = host.program("nt-host").args([command]).args(own);
    if asks_for_help(run) {
        return tool.args(["--help"]).replace_ourselves();
    }
    let json = run.json.then_some("--json");
    // The list of all routines does not depend on a driver.
    if command == "list" && run.rest.iter().any(|word| word == "--all") {
        return tool.args(json).args(&run.rest).replace_ourselves();
    }
    let plan = plan_of_run(host, run)?;
    let image = image(host, &plan)?;
    let runner = (command == "fuzz").then(|| ["--runner".into(), runner(host)]);
    let tool = tool.args([image]).args(json).args(runner.into_iter().flatten());
    tool.args(options(run, &plan, command)).replace_ourselves()
}

/// The command that builds the driver as this command line of `fuzz` does, and runs it. It reproduces findings.
fn runner(host: &Host) -> String {
    let words = env::args_os().skip_while(|word| word != "fuzz").skip(1).take_while(|word| word != "--");
    let words = words.filter(|word| word != "--json");
    host.tool("cargo").args(["driver", "run"]).args(words).args(["--"]).to_string()
}

/// The options for `nt-host`: those of the command line, or `run` of the driver's settings if it has none. The release and the
/// framework of the settings are used unless the options name others. A list of imports depends on no framework.
fn options(run: &Run, plan: &Plan, command: &str) -> Vec<OsString> {
    let settings = plan.workspace.settings();
    let is_list = command == "list";
    let mut words = run.rest.clone();
    if words.is_empty() && !is_list {
        words.extend(settings.run.iter().map(Into::into));
    }
    let framework = framework::chosen(run.framework.as_deref(), settings.framework).filter(|_| !is_list);
    let defaults = [("--os", settings.windows.map(OsString::from)), ("--framework", framework.map(OsString::from))];
    for (option, value) in defaults {
        let is_option = |word: &OsString| {
            word.to_str().is_some_and(|word| {
                word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        };
        if let Some(value) = value.filter(|_| !words.iter().any(is_option)) {
            words.extend([option.into(), value]);
        }
    }
    words
}

fn trace_driver(host: &Host, run: &Run) -> Result<(), Error> {
    if asks_for_help(run) {
        return nt_host(host, run, "run");
    }
    let plan = plan_of_run(host, run)?;
    let image = image(host, &plan)?;
    let dir = image.parent().and_then(Path::parent).unwrap_or(&image).join("trace");
    let dir = OwnDir::new(dir);
    fs::create_dir_all(dir.path()).map_err(|error| Error::Usage(format!("{}: {error}", dir.path().display())))?;
    let etl = dir.path().join(image.file_name().unwrap_or_default()).with_extension("etl");
    let own = [OsString::from("--etl"), etl.clone().into()];
    let tool = host.program("nt-host").args(["run"]).args([&image]).args(own).args(run.json.then_some("--json"));
    let result = tool.args(options(run, &plan, "run")).run_ours();
    if result == Err(Error::Reported(exit::USAGE)) {
        // It wrote no trace; the file is of an earlier run, if there is one.
        return result;
    }
    // A run with findings fails, but its trace is still of use.
    let page = trace::page(&dir, &etl)?;
    note(&format!("{}\n{}", etl.display(), page.display()));
    result
}

fn inspect_images(host: &Host, inspect: &Inspect) -> Result<(), Error> {
    let mut tool = host.program("driver-package").args(["inspect"]);
    if inspect.rules {
        return tool.args(["--rules"]).replace_ourselves();
    }
    let mut release = inspect.windows.clone();
    let files = if inspect.files.is_empty() {
        let plan = plan(host, &inspect.driver)?;
        release = release.or_else(|| plan.workspace.settings().windows);
        build(host, &plan)?
    } else {
        inspect.files.clone()
    };
    if let Some(map) = &inspect.map {
        tool = tool.args([OsString::from("--map"), map.into()]);
    }
    if let Some(release) = &release {
        tool = tool.args(["--windows", release]);
    }
    if inspect.json {
        tool = tool.args(["--json"]);
    }
    tool.args(["--"]).args(files).replace_ourselves()
}

fn make_package(host: &Host, arguments: &Package) -> Result<(), Error> {
    let mut wanted = PackageOptions {
        cert: arguments.cert.as_deref().map(here),
        catalog: arguments.catalog.clone(),
        is_sample: arguments.sample,
        provider: arguments.provider.clone(),
        etwctl: arguments.etwctl.as_deref().map(here),
        ..PackageOptions::default()
    };
    if let Some(dir) = &arguments.adopt {
        // A folder that was copied here need not be in a driver's workspace.
        let manifest = arguments.driver.manifest().unwrap_or_else(|_| here(Path::new("Cargo.toml")));
        return adopt(host, &manifest, &here(dir), &wanted, arguments.replace);
    }
    let plan = plan(host, &arguments.driver)?;
    wanted.out = plan.workspace.target.join("package");
    wanted.keys = plan.workspace.target.join("signing");
    package(host, &plan, &wanted)
}

/// Installs everything that the other commands need. What needs no root comes first, so that a user without it has that.
fn setup() -> Result<(), Error> {
    let host = installing_host()?;
    let toolchain = host.windows()?;
    note(&format!("using {}", toolchain.description));
    let without = toolchain.ensure_driver_targets(&host);
    let clippy = ensure_component(&host, "clippy", host.cargo().args(["clippy", "--version"]));
    ensure_tools(&host)?;
    clippy?;
    if without.is_empty() {
        note("everything is installed");
    } else {
        note(&format!("drivers for {} cannot be built", without.join(" and ")));
    }
    Ok(())
}
