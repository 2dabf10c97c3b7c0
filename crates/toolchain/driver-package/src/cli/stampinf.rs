//! A stand-in for Microsoft's stampinf, for build scripts that run it. It has the options that Learn documents, "Stampinf Command
//! Options", except that it reads no Ntverp.h. Dates and times are UTC, because inf2cat takes them as UTC.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use command_line::{Inputs, Outputs, error, exit, info};
use der::DateTime;

use super::failure::Failure;
use crate::inf::{Arch, DriverVersion, Stamp, Text, parse_date, stamp};
use crate::package::{Clock, add, describe};

/// Runs the program. `words` begins with its name.
#[must_use]
pub fn main(words: impl Iterator<Item = OsString>) -> ExitCode {
    let words: Vec<String> = words.skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let stamped = Clock::new(SystemTime::now(), variable("SOURCE_DATE_EPOCH").as_deref())
        .map_err(Failure::Clock)
        .and_then(|clock| DateTime::from_unix_duration(clock.stamp).map_err(Failure::Time))
        .and_then(|now| Line::parse(&words, now, &variable))
        .and_then(|line| line.run());
    match stamped {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            error(&format!("stampinf: {reason}"));
            ExitCode::from(exit::FAILED)
        }
    }
}

/// What the command line and the environment ask for.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    file: PathBuf,
    stamp: Stamp,
    is_verbose: bool,
}

impl Line {
    fn parse(words: &[String], now: DateTime, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, Failure> {
        let mut file = None;
        let mut section = "Version".to_owned();
        let mut catalog = None;
        let mut kmdf = None;
        let mut umdf = None;
        let mut date = None;
        let mut version = None;
        let mut arch = None;
        let mut is_verbose = false;
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let option = word.strip_prefix(['-', '/']).ok_or_else(|| Failure::Word(word.clone()))?;
            // The values of some options can be left out.
            let value = words.next_if(|next| !next.starts_with('-') && option != "n").cloned();
            let needed = || value.clone().ok_or_else(|| Failure::NoValue(option.to_owned()));
            match option {
                "f" => file = Some(PathBuf::from(needed()?)),
                "s" => section = needed()?,
                "c" => catalog = Some(needed()?),
                "k" => kmdf = Some(needed()?),
                "u" => umdf = Some(needed()?),
                "d" => date = value,
                "v" => version = value,
                "a" => arch = value,
                "i" => drop(needed()?),
                "n" => is_verbose = true,
                _ => return Err(Failure::Option(format!("-{option}"))),
            }
        }
        let file = file.ok_or(Failure::Missing("no file is named: expected -f FILE"))?;
        let arch = arch.or_else(|| variable("Platform")).map(|name| processor(&name)).transpose()?;
        // A driver under development gets the current time, whatever the options say.
        let is_private = variable("PRIVATE_DRIVER_PACKAGE").is_some();
        let date = date.or_else(|| variable("STAMPINF_DATE")).filter(|date| date != "*" && !is_private);
        let date = date.map_or(Ok(now), |date| {
            let form = "a date: expected month/day/year, for example 10/20/2026";
            parse_date(&date).ok_or(Failure::Value(date, form))
        })?;
        let version = version.or_else(|| variable("STAMPINF_VERSION")).or_else(|| is_private.then(|| "*".to_owned()));
        let missing = "there is no version: expected -v VERSION, -v * or the variable STAMPINF_VERSION";
        let version = version.ok_or(Failure::Missing(missing))?;
        let parts = match version.as_str() {
            "*" => DriverVersion::from_time(now).parts,
            _ if is_private => DriverVersion::from_time(now).parts,
            version => parse_version(version)?,
        };
        let catalog = catalog.or_else(|| is_private.then(|| "delta.cat".to_owned()));
        let stamp = Stamp { arch, kmdf, umdf, section, version: DriverVersion { date, parts }, catalog };
        Ok(Self { file, stamp, is_verbose })
    }

    fn run(&self) -> Result<(), Failure> {
        let file = &self.file;
        let shown = Failure::file(file);
        let bytes = fs::read(file).map_err(&shown)?;
        let text = Text::decode(&bytes).map_err(|fault| describe(file, &fault))?;
        let stamped = stamp(&text, &self.stamp).map_err(|fault| describe(file, &fault))?;
        // A link to the file stays a link.
        let target = fs::canonicalize(file).map_err(shown)?;
        let name = target.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let (dir, name) = target.parent().zip(name).ok_or_else(|| Failure::content(file, "its name is not UTF-8"))?;
        // It changes this file: there is no other input.
        let outputs = Outputs::new(Inputs::new()).dir(&dir.to_owned().into());
        add(&outputs, &[(name, stamped.text.encode())])?;
        if self.is_verbose {
            info(&format!("{}: DriverVer = {}", file.display(), self.stamp.version));
        }
        Ok(())
    }
}

/// Finds a processor by any name that build environments have for it.
fn processor(name: &str) -> Result<Arch, Failure> {
    match name.to_ascii_lowercase().as_str() {
        "x64" | "amd64" => Ok(Arch::X64),
        "arm64" => Ok(Arch::Arm64),
        _ => {
            let form = "a processor that packages can be made for: expected amd64 or arm64";
            Err(Failure::Value(name.to_owned(), form))
        }
    }
}

/// Parses a version. Windows accepts one to four parts, at least one of them not zero.
fn parse_version(text: &str) -> Result<[u16; 4], Failure> {
    let parts: Option<Vec<u16>> = text.split('.').map(|part| part.parse::<u16>().ok()).collect();
    let parts = parts.filter(|parts| parts.len() <= 4 && parts.iter().any(|part| *part != 0));
    let parts = parts.ok_or_else(|| Failure::Value(text.to_owned(), "a version: expected for example 1.0.0.1"))?;
    let mut parts = parts.into_iter();
    Ok([(); 4].map(|()| parts.next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use der::DateTime;

    use super::{Failure, Line, parse_version};
    use crate::inf::Arch;

    fn parse(line: &str, variables: &[(&str, &str)]) -> Result<Line, Failure> {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let now = DateTime::new(2026, 3, 9, 13, 4, 5).unwrap();
        let variable =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        Line::parse(&words, now, &variable)
    }

    #[test]
    fn options_and_variables_are_those_of_the_original() {
        let line = parse("-f a.inf -d * -a amd64 -c a.cat -v * -k 1.33", &[]).unwrap();
        assert_eq!(line.stamp.version.to_string(), "03/09/2026,13.4.5.0");
        assert_eq!(line.stamp.arch, Some(Arch::X64));
        assert_eq!(line.stamp.catalog.as_deref(), Some("a.cat"));
        assert_eq!(line.stamp.kmdf.as_deref(), Some("1.33"));
        assert_eq!(line.stamp.section.as_str(), "Version");
        let line = parse("-f a.inf -s I -d 10/20/2011 -v 11.30.20.15 -u 2.15.0 -n", &[("Platform", "ARM64")]).unwrap();
        assert_eq!(line.stamp.version.to_string(), "10/20/2011,11.30.20.15");
        assert_eq!(line.stamp.arch, Some(Arch::Arm64));
        assert_eq!(line.stamp.section.as_str(), "I");
        assert!(line.is_verbose);
        let set = [("STAMPINF_DATE", "01/02/2020"), ("STAMPINF_VERSION", "3.4")];
        assert_eq!(parse("-f a.inf -d", &set).unwrap().stamp.version.to_string(), "01/02/2020,3.4.0.0");
        let private = parse("-f a.inf -d 10/20/2011 -v 1.2.3.4", &[("PRIVATE_DRIVER_PACKAGE", "1")]).unwrap().stamp;
        assert_eq!(private.version.to_string().as_str(), "03/09/2026,13.4.5.0");
        assert_eq!(private.catalog.as_deref(), Some("delta.cat"));
    }

    #[test]
    fn a_wrong_line_is_refused_with_what_is_expected() {
        for (line, part) in [
            ("-d *", "-f FILE"),
            ("-f a.inf", "STAMPINF_VERSION"),
            ("-f a.inf -v 0.0", "not a version"),
            ("-f a.inf -v * -d 13/45/2020", "month/day/year"),
            ("-f a.inf -v * -a x86", "amd64 or arm64"),
            ("-f a.inf -v * -q", "no option -q"),
            ("a.inf", "not an option"),
            ("-f", "-f has no value"),
        ] {
            let reason = parse(line, &[]).unwrap_err().to_string();
            assert!(reason.contains(part), "{line}: {reason}");
        }
        assert_eq!(parse_version("1.2.3.65535").unwrap(), [1, 2, 3, 65535]);
    }
}
