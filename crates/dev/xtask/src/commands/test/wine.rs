//! Links the tests that run on Windows, and runs them under Wine.
//!
//! Wine shows what a test says about files, paths, the console and the loader. It says nothing about ETW: its routines
//! do nothing and return success. `docs/exercised.md` lists what Wine cannot show.

use std::fs;
use std::iter;
use std::path::Path;

use super::hosts::tested_on_windows;
use super::{LONG_TESTS, build_once, without_library};
use crate::commands::etwctl::{GNU, LINKER};
use crate::context::Context;
use crate::steps::{Outcome, Step};
use command_line::OwnDir;
use driver_build::{Error, Tool};

pub(super) const STEP: Step = Step::new("wine", "tests for Windows, linked and run under Wine", run);

/// Where Debian's package wine64 has its programs.
const WINE: &str = "/usr/lib/wine/wine64";
const SERVER: &str = "/usr/lib/wine/wineserver64";

/// The folder with Wine's registry and drive C.
const PREFIX: &str = "target/wine";

/// A function for random numbers that Rust's standard library imports and that Wine has from version 9 on.
const RANDOM: &str = "\
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length)
{ return SystemFunction036(data, (ULONG)length); }
";

/// The module of tests that control sessions with `etwctl`. Wine returns success and does nothing.
const SESSIONS: &str = "sessions::";

fn run(context: &Context) -> Result<Outcome, Error> {
    match context.windows() {
        Ok(toolchain) if !toolchain.builds_core() && toolchain.ensure_target(context, GNU).is_ok() => {}
        _ => return Ok(without_library()),
    }
    let (linker, package) = LINKER;
    if !context.tool(linker).args(["--version"]).starts() {
        return Ok(Outcome::Skipped(format!("{linker} is missing (sudo apt-get install {package})")));
    }
    let packages = tested_on_windows(context)?;
    let cargo = build_once(context.cargo()).hidden_env(&setting("LINKER"), linker).args([
        "test",
        "--locked",
        "--no-fail-fast",
        "--no-default-features",
        "--target",
        GNU,
    ]);
    let cargo = packages.iter().fold(cargo, |cargo, name| cargo.args(["--package", name]));
    // The other programs of integration tests build drivers on this host.
    let cargo = cargo.args(["--lib", "--bins", "--test", "it"]);
    if !Path::new(SERVER).is_file() {
        cargo.args(["--no-run"]).run()?;
        return Ok(Outcome::Skipped("the tests were linked; Wine is missing (sudo apt-get install wine64)".into()));
    }
    let wine = Wine::start(context)?;
    let cargo = wine.with_prefix(cargo).hidden_env(&setting("RUNNER"), WINE);
    let skipped = LONG_TESTS.iter().chain([&SESSIONS]);
    cargo.hidden_args(iter::once("--").chain(skipped.flat_map(|name| ["--skip", name]))).run()?;
    Ok(Outcome::Passed)
}

/// The variable with a setting of cargo for the target.
fn setting(name: &str) -> String {
    format!("CARGO_TARGET_{}_{name}", GNU.to_uppercase().replace('-', "_"))
}

/// Wine with a prefix of its own. Its server runs until this is dropped.
struct Wine<'a> {
    context: &'a Context,
    prefix: OwnDir,
}

impl<'a> Wine<'a> {
    fn start(context: &'a Context) -> Result<Self, Error> {
        let wine = Self { context, prefix: OwnDir::new(context.path(PREFIX)) };
        let path = wine.prefix.path().to_owned();
        let failed = |error| Error::Failed(format!("{PREFIX}: {error}"));
        fs::create_dir_all(&path).map_err(failed)?;
        // Otherwise each program that is the first one starts the server, and ends only when the server does.
        wine.tool(SERVER).args(["--persistent"]).start()?.wait()?;
        if !path.join("system.reg").is_file() {
            wine.tool(WINE).args(["wineboot", "--init"]).start()?.wait()?;
        }
        wine.prefix.file("random.c").write(RANDOM)?;
        let library = path.join("drive_c/windows/system32/bcryptprimitives.dll");
        let (linker, _) = LINKER;
        let link = context.tool(linker).args(["-shared", "-o"]).args([&library]).args([path.join("random.c")]);
        link.args(["-ladvapi32"]).capture()?;
        Ok(wine)
    }

    fn tool(&self, program: &str) -> Tool {
        self.with_prefix(self.context.tool(program))
    }

    /// Sets the variables of Wine. Without a display it opens no window.
    fn with_prefix(&self, tool: Tool) -> Tool {
        tool.hidden_env("WINEPREFIX", self.prefix.path()).hidden_env("WINEDEBUG", "-all").env_remove("DISPLAY")
    }
}

impl Drop for Wine<'_> {
    fn drop(&mut self) {
        // A server that ended by itself is not an error.
        let _ = self.tool(SERVER).args(["--kill"]).succeeds();
    }
}
