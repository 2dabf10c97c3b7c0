//! Uploads packages one after another.

use std::thread;
use std::time::Duration;

use super::packages::Package;
use driver_build::{Error, Tool, output};

/// How often one package is tried while the registry limits new crates: for two hours, if it keeps its own rule.
const TRIES: u32 = 12;

/// Where and how packages are uploaded.
pub(super) struct Uploads<'a> {
    pub(super) cargo: &'a dyn Fn() -> Tool,
    /// The name of a registry of cargo's configuration; crates.io if there is none.
    pub(super) registry: Option<&'a str>,
    /// The time between two tries if the registry limits new crates.
    pub(super) wait: Duration,
}

/// What happened to one package.
enum Upload {
    Done,
    /// The registry has this version.
    WasThere,
    /// The registry takes no further crate at the moment, and says this.
    Limited(String),
}

impl Uploads<'_> {
    /// Uploads the packages in this order.
    pub(super) fn all(&self, packages: &[Package]) -> Result<(), Error> {
        for (index, package) in packages.iter().enumerate() {
            let result = self.until_taken(package);
            let state = result.map_err(|error| stopped(&error, package, packages.len() - index))?;
            output::print_line(&format!("[{}/{}] {package}: {state}", index + 1, packages.len()));
        }
        Ok(())
    }

    /// Uploads one package, and waits as long as the registry limits new crates.
    fn until_taken(&self, package: &Package) -> Result<&'static str, Error> {
        let mut tries = 1;
        loop {
            match self.one(package)? {
                Upload::Done => return Ok("published"),
                Upload::WasThere => return Ok("was published before"),
                Upload::Limited(message) if tries == TRIES => return Err(Error::Failed(message)),
                Upload::Limited(message) => output::note(&format!("{package}: {message}")),
            }
            let minutes = self.wait.as_secs() / 60;
            output::note(&format!("tries again in {minutes} min; after Ctrl-C, the same command goes on here"));
            thread::sleep(self.wait);
            tries += 1;
        }
    }

    /// Tries once. Cargo waits until the registry's index has the package, so that the next one finds it.
    fn one(&self, package: &Package) -> Result<Upload, Error> {
        // A test builds all packages outside of the workspace. Cargo would compile each of them here once more.
        let tool = (self.cargo)().args(["publish", "--no-verify"]).args(super::manifest_path(&package.manifest));
        let tool = match self.registry {
            Some(name) => tool.args(["--registry", name]),
            None => tool,
        };
        let (_, messages, result) = tool.run_silently();
        let Err(error) = result else { return Ok(Upload::Done) };
        // An upload that is refused for another reason stops everything: what comes after it needs it.
        let line = |text: &str| messages.lines().find(|line| line.contains(text)).map(|line| line.trim().to_owned());
        if line("already exists on").is_some() {
            return Ok(Upload::WasThere);
        }
        match line("status 429") {
            Some(message) => Ok(Upload::Limited(message)),
            None => Err(Error::Failed(format!("{error}\n{}", messages.trim_end()))),
        }
    }
}

fn stopped(error: &Error, package: &Package, left: usize) -> Error {
    Error::Failed(format!(
        "{error}\n{package} and {} after it were not uploaded; the same command goes on here",
        left - 1
    ))
}
