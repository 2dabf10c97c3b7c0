//! Creates an `.inf` from an `.inx`: replaces variables, and writes `DriverVer` and `CatalogFile`.
//!
//! Everything else, including comments and line endings, is not changed.

use std::cmp::Ordering;
use std::fmt;

use der::DateTime;

use super::{Arch, Fault, Inf, Section, Text};

/// The values that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// For `$ARCH$`; `None` for a file without this variable.
    pub arch: Option<Arch>,
    /// For `$KMDFVERSION$`, such as `1.33`; `None` for a driver without the framework.
    pub kmdf: Option<String>,
    /// For `$UMDFVERSION$`, such as `2.15.0`; `None` for a driver without the framework.
    pub umdf: Option<String>,
    /// The section that `DriverVer` is written to; usually `Version`.
    pub section: String,
    /// For `DriverVer`.
    pub version: DriverVersion,
    /// For `CatalogFile`; `None` keeps what the file has.
    pub catalog: Option<String>,
}

/// The value of `DriverVer`. If there are two drivers for a device, Windows uses the one with the later date or, if the
/// dates are equal, the higher version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverVersion {
    /// The date.
    pub date: DateTime,
    /// The four parts of the version.
    pub parts: [u16; 4],
}

impl DriverVersion {
    /// Makes a version from the time of day, as stampinf does: hours, minutes, seconds, and zero for the milliseconds.
    ///
    /// At midnight the last part is one, because a version of only zeros is not allowed.
    #[must_use]
    pub fn from_time(date: DateTime) -> Self {
        let parts = [date.hour(), date.minutes(), date.seconds()].map(u16::from);
        let last = u16::from(parts == [0, 0, 0]);
        let [hour, minute, second] = parts;
        Self { date, parts: [hour, minute, second, last] }
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d] = self.parts;
        write!(f, "{:02}/{:02}/{:04},{a}.{b}.{c}.{d}", self.date.month(), self.date.day(), self.date.year())
    }
}

/// Parses a date of `DriverVer`: month, day and year.
pub(crate) fn parse_date(text: &str) -> Option<DateTime> {
    let mut parts = text.splitn(3, ['/', '-']);
    let month = parts.next()?;
    let day = parts.next()?;
    let year = parts.next()?;
    DateTime::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?, 0, 0, 0).ok()
}

/// A stamped file, with the mapping to the lines of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The `.inf`.
    pub text: Text,
    /// For each line that was added, the line of the source that it follows.
    added: Vec<usize>,
}

impl Stamped {
    /// Returns the line of the source from which a line of the result comes. An added line comes from the one before it.
    #[must_use]
    pub fn source_line(&self, line: usize) -> usize {
        let mut source = line;
        for (count, behind) in (1..).zip(&self.added) {
            match line.cmp(&(behind + count)) {
                Ordering::Less => break,
                Ordering::Equal => return *behind,
                Ordering::Greater => source = line - count,
            }
        }
        source
    }
}

/// Creates an `.inf`.
///
/// # Errors
///
/// Returns rule 1001 or 1002 if there is no `[Version]` section to write to, 1006 if a variable has no value, and 1203 if there is no
/// section for `DriverVer`.
pub fn stamp(source: &Text, stamp: &Stamp) -> Result<Stamped, Fault> {
    let inf = Inf::parse(&source.text)?;
    let missing = || Fault::new(1001, 1, "there is no section [Version]");
    let version = inf.section("Version").ok_or_else(missing)?;
    let missing = || Fault::new(1203, 1, format!("there is no section [{}]", stamp.section));
    let dated = inf.section(&stamp.section).ok_or_else(missing)?;
    let end = if source.text.contains("\r\n") { "\r\n" } else { "\n" };
    let catalog = stamp.catalog.iter().map(|name| (version, "CatalogFile", name.clone()));
    let values: Vec<_> = catalog.chain([(dated, "DriverVer", stamp.version.to_string())]).collect();
    let line_of = |section: &Section, key: &str| section.first(key).map(|entry| entry.line);
    let variables = variables(stamp);

    let mut result = String::new();
    let mut added = Vec::new();
    for (index, line) in source.text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        let replaced = values.iter().find(|(section, key, _)| line_of(section, key) == Some(number));
        match (replaced, line.split_once('=')) {
            (Some((_, _, value)), Some((key, _))) => result.extend([key, "= ", value, end]),
            _ => result.push_str(&replace_variables(line, number, &variables)?),
        }
        for (section, key, value) in values.iter().filter(|(section, _, _)| section.line == number) {
            if line_of(section, key).is_none() {
                if !result.ends_with('\n') {
                    result.push_str(end);
                }
                result.extend([key, " = ", value.as_str(), end]);
                added.push(number);
            }
        }
    }
    Ok(Stamped { text: Text { encoding: source.encoding, text: result }, added })
}

/// A variable of an `.inx`: its name, its value, and what is missing without one.
type Variable = (&'static str, Option<String>, &'static str);

fn variables(stamp: &Stamp) -> [Variable; 5] {
    const KMDF: &str = "the driver's manifest names no KMDF version";
    const UMDF: &str = "no UMDF version is named";
    // Major and minor version as in the name of a co-installer: 01033 for 1.33.
    let joined = |version: &Option<String>| {
        let mut parts = version.as_ref()?.split('.').map(|part| part.parse::<u16>().ok());
        Some(format!("{:02}{:03}", parts.next()??, parts.next()??))
    };
    [
        ("$ARCH$", stamp.arch.map(|arch| arch.inf_name().to_owned()), "no architecture is named"),
        ("$KMDFVERSION$", stamp.kmdf.clone(), KMDF),
        ("$KMDFCOINSTALLERVERSION$", joined(&stamp.kmdf), KMDF),
        ("$UMDFVERSION$", stamp.umdf.clone(), UMDF),
        ("$UMDFCOINSTALLERVERSION$", joined(&stamp.umdf), UMDF),
    ]
}

fn replace_variables(line: &str, number: usize, variables: &[Variable]) -> Result<String, Fault> {
    let mut line = line.to_owned();
    for (name, value, missing) in variables.iter().filter(|(name, _, _)| line.contains(name)).collect::<Vec<_>>() {
        let missing = || Fault::new(1006, number, format!("`{name}` has no value: {missing}"));
        line = line.replace(name, value.as_ref().ok_or_else(missing)?);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use der::DateTime;

    use super::{DriverVersion, Stamp, Stamped, stamp};
    use crate::inf::{Arch, Text};

    fn what() -> Stamp {
        Stamp {
            arch: Some(Arch::Arm64),
            kmdf: Some("1.33".into()),
            umdf: None,
            section: "Version".into(),
            version: DriverVersion::from_time(DateTime::new(2024, 3, 9, 13, 4, 5).unwrap()),
            catalog: Some("a.cat".into()),
        }
    }

    fn made(source: &str) -> Stamped {
        stamp(&Text::decode(source.as_bytes()).unwrap(), &what()).unwrap()
    }

    #[test]
    fn values_and_variables_are_replaced_and_nothing_else() {
        let source = "; x\r\n[Version]\r\nDriverVer   =  ; later\r\ncatalogfile=x.cat\r\n[M.NT$ARCH$]\r\nk = $KMDFVERSION$ ; v\r\n";
        let expected = "; x\r\n[Version]\r\nDriverVer   = 03/09/2024,13.4.5.0\r\ncatalogfile= a.cat\r\n[M.NTarm64]\r\nk = 1.33 ; v\r\n";
        assert_eq!(made(source).text.text, expected);
    }

    #[test]
    fn missing_values_are_added_and_lines_are_found_again() {
        let result = made("; x\n[Version]\nClass = X\n");
        assert_eq!(
            result.text.text,
            "; x\n[Version]\nCatalogFile = a.cat\nDriverVer = 03/09/2024,13.4.5.0\nClass = X\n"
        );
        assert_eq!([1, 2, 3, 4, 5].map(|line| result.source_line(line)), [1, 2, 2, 2, 3]);
        let unchanged = made("[Version]\nDriverVer=\nCatalogFile=x.cat\n");
        assert_eq!([1, 2, 3].map(|line| unchanged.source_line(line)), [1, 2, 3]);
    }

    #[test]
    fn a_version_is_never_all_zero() {
        let midnight = DriverVersion::from_time(DateTime::new(1999, 12, 31, 0, 0, 0).unwrap());
        assert_eq!(midnight.to_string(), "12/31/1999,0.0.0.1");
    }

    #[test]
    fn a_variable_without_a_value_is_named_with_its_line() {
        let source = Text::decode(b"[Version]\n[a]\nk = $KMDFVERSION$\n").unwrap();
        let fault = stamp(&source, &Stamp { kmdf: None, ..what() }).unwrap_err();
        assert_eq!(fault.rule, 1006);
        assert_eq!(fault.line, 3);
    }

    #[test]
    fn the_version_can_be_in_another_section_and_the_catalog_stays() {
        let source = "[Version]\nCatalogFile = x.cat\n[I]\nk = $UMDFVERSION$ $KMDFCOINSTALLERVERSION$ $UMDFCOINSTALLERVERSION$\n";
        let source = Text::decode(source.as_bytes()).unwrap();
        let what = Stamp { section: "I".into(), catalog: None, umdf: Some("2.15.0".into()), ..what() };
        let result = stamp(&source, &what).unwrap();
        let expected = "[Version]\nCatalogFile = x.cat\n[I]\nDriverVer = 03/09/2024,13.4.5.0\nk = 2.15.0 01033 02015\n";
        assert_eq!(result.text.text, expected);
        assert_eq!([3, 4, 5].map(|line| result.source_line(line)), [3, 3, 4]);
        let fault = stamp(&source, &Stamp { section: "J".into(), ..what }).unwrap_err();
        assert_eq!(fault.rule, 1203);
    }
}
