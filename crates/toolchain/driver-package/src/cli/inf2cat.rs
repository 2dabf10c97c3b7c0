//! A stand-in for Microsoft's inf2cat, for build scripts that run it: makes the unsigned catalog of each INF in a folder. It checks that
//! the files of the package are there and that the date is not in the future, as inf2cat does (Learn, "`Inf2Cat`"); `lint` has the rules of
//! infverif.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::SystemTime;

use command_line::{Inputs, Outputs, device_of_name, error, exit, info};
use der::DateTime;

use super::failure::Failure;
use crate::catalog::{Catalog, Member, Version};
use crate::inf::{Arch, Inf, Text};
use crate::package::{Clock, add, catalog_of, describe, driver_date, files_of, has_extension, is_plain};

/// Runs the program. `words` begins with its name.
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().filter(|value| !value.is_empty());
    let made = Clock::new(SystemTime::now(), epoch.as_deref())
        .map_err(Failure::Clock)
        .and_then(|clock| Line::parse(&words).and_then(|line| line.run(clock)));
    match made {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error(&format!("inf2cat: {reason}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    dir: PathBuf,
    /// The operating systems, as catalogs name them.
    systems: Vec<String>,
    processors: Vec<Arch>,
    makes_catalogs: bool,
}

/// A catalog.
struct Made {
    name: String,
    bytes: Vec<u8>,
    /// The names of the files that it lists, besides its INF.
    members: Vec<String>,
}

impl Line {
    fn parse(words: &[String]) -> Result<Self, Failure> {
        let mut dir = None;
        let mut systems = Vec::new();
        let mut processors = Vec::new();
        let mut makes_catalogs = true;
        for word in words {
            let option = word.strip_prefix(['/', '-']).ok_or_else(|| Failure::Word(word.clone()))?;
            let (name, value) = option.split_once(':').unwrap_or((option, ""));
            match name.to_ascii_lowercase().as_str() {
                "driver" | "drv" => dir = Some(PathBuf::from(value)),
                "os" => {
                    for identifier in value.split(',') {
                        let (system, arch) = system(identifier)?;
                        systems.extend(Some(system).filter(|system| !systems.contains(system)));
                        processors.extend(Some(arch).filter(|arch| !processors.contains(arch)));
                    }
                }
                "nocat" => makes_catalogs = false,
                "verbose" | "v" | "uselocaltime" => {}
                _ => return Err(Failure::Option(format!("/{name}"))),
            }
        }
        let dir = dir.filter(|dir| !dir.as_os_str().is_empty());
        let dir = dir.ok_or(Failure::Missing("no folder is named: expected /driver:FOLDER"))?;
        if systems.is_empty() {
            return Err(Failure::Missing("no version of Windows is named: expected /os:10_X64 or another one"));
        }
        Ok(Self { dir, systems, processors, makes_catalogs })
    }

    fn run(&self, clock: Clock) -> Result<(), Failure> {
        let shown = Failure::file(&self.dir);
        let entries: Result<Vec<_>, _> = fs::read_dir(&self.dir).map_err(&shown)?.collect();
        let paths = entries.map_err(shown)?.into_iter().map(|entry| entry.path());
        let mut setups: Vec<PathBuf> = paths.filter(|path| has_extension(path, "inf")).collect();
        setups.sort();
        if setups.is_empty() {
            return Err(Failure::content(&self.dir, "there is no .inf file"));
        }
        let mut inputs = Inputs::new().files(&setups);
        let mut catalogs = Vec::new();
        for path in &setups {
            let catalog = self.catalog(path, clock)?;
            inputs = inputs.files(catalog.members.iter().map(|name| self.dir.join(name)));
            catalogs.push((catalog.name, catalog.bytes));
        }
        if self.makes_catalogs {
            let outputs = Outputs::new(inputs).dir(&self.dir.clone().into());
            add(&outputs, &catalogs)?;
            for (name, _) in catalogs {
                info(&format!("{}: without a signature", self.dir.join(name).display()));
            }
        }
        Ok(())
    }

    /// Makes the catalog of an INF.
    fn catalog(&self, path: &Path, clock: Clock) -> Result<Made, Failure> {
        let read = |path: &Path| fs::read(path).map_err(Failure::file(path));
        let described = |fault| describe(path, &fault);
        let bytes = read(path)?;
        let inf = Inf::parse(&Text::decode(&bytes).map_err(described)?.text).map_err(described)?;
        let at = |what: &str| Failure::content(path, what);
        let name = catalog_of(&inf, &self.processors).ok_or_else(|| at("[Version] names no CatalogFile"))?;
        // The name comes from the INF, and must not be that of another file.
        if !is_plain(&name) || !has_extension(&name, "cat") {
            return Err(at(&format!("CatalogFile is '{name}': expected the name of a .cat file, without a folder")));
        }
        if let Some(device) = device_of_name(&name) {
            return Err(at(&format!(
                "CatalogFile is '{name}', which is not a file on Windows: {device} is the name of a device"
            )));
        }
        let date = driver_date(&inf).ok_or_else(|| at("[Version] has no DriverVer with a date"))?;
        let today = DateTime::from_unix_duration(clock.now).map_err(Failure::Time)?;
        if date > today {
            return Err(at("DriverVer is a date in the future"));
        }
        let setup = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut members = vec![Member::new(&setup, &bytes)];
        let files = files_of(&inf);
        for file in &files {
            members.push(Member::new(file, &read(&self.dir.join(file))?));
        }
        let mut hardware_ids = Vec::new();
        for id in self.processors.iter().flat_map(|arch| inf.hardware_ids(*arch)) {
            if !hardware_ids.contains(&id) {
                hardware_ids.push(id);
            }
        }
        let systems = self.systems.join(",");
        let catalog = Catalog { version: Version::V2, systems, hardware_ids, members, time: clock.stamp };
        let bytes = catalog.unsigned().map_err(|error| at(&error.to_string()))?;
        Ok(Made { name, bytes, members: files })
    }
}

/// What a catalog says about an identifier such as `10_VB_X64`, and its processor. All releases since Windows 10 have one name.
fn system(identifier: &str) -> Result<(String, Arch), Failure> {
    let upper = identifier.to_ascii_uppercase();
    let (release, processor) = upper.rsplit_once('_').unwrap_or((&upper, ""));
    let kind = if release == "10" || release.starts_with("10_") {
        Some("")
    } else {
        ["SERVER10", "SERVER2016", "SERVERRS5", "SERVERFE", "SERVER2025"].contains(&release).then_some("Server")
    };
    let arch = [Arch::X64, Arch::Arm64].into_iter().find(|arch| arch.name().eq_ignore_ascii_case(processor));
    let (kind, arch) = kind.zip(arch).ok_or_else(|| {
        let form = "a version of Windows that catalogs are made for: expected for example 10_X64 or Server10_ARM64";
        Failure::Value(identifier.to_owned(), form)
    })?;
    Ok((format!("{kind}_v100_{processor}"), arch))
}

#[cfg(test)]
mod tests {
    use super::{Failure, Line};
    use crate::catalog::systems;
    use crate::inf::Arch;

    fn parse(line: &str) -> Result<Line, Failure> {
        Line::parse(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_those_of_the_original() {
        let line = parse("/driver:dir /os:10_x64,10_NI_X64,Server10_arm64 /verbose /uselocaltime").unwrap();
        assert_eq!(line.systems, [systems(Arch::X64), systems(Arch::Arm64)]);
        assert_eq!(line.processors.as_slice(), [Arch::X64, Arch::Arm64].as_slice());
        assert!(line.makes_catalogs);
        assert!(!parse("-drv:dir -os:10_X64 -nocat").unwrap().makes_catalogs);
        for (line, part) in [
            ("/os:10_X64", "/driver:FOLDER"),
            ("/driver:dir", "/os:10_X64"),
            ("/driver:dir /os:7_X64", "'7_X64' is not a version"),
            ("/driver:dir /os:10_X86", "'10_X86' is not a version"),
            ("/driver:dir /os:10_X64 /pageHashes", "no option /pageHashes"),
            ("dir", "not an option"),
        ] {
            let reason = parse(line).unwrap_err().to_string();
            assert!(reason.contains(part), "{line}: {reason}");
        }
    }
}
