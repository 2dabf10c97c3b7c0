//! Creates an `.inf` from an `.inx`: replaces variables, and writes `DriverVer` and `CatalogFile`.
//!
//! Everything else, including comments and line endings, is not changed.

use std::fmt;

use der::DateTime;

use super::{Arch, Fault, Inf, Text};

/// The values that are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// For `$ARCH$`.
    pub arch: Arch,
    /// For `$KMDFVERSION$`, such as `1.33`; `None` for a driver without the framework.
    pub kmdf: Option<String>,
    /// For `DriverVer`.
    pub version: DriverVersion,
    /// For `CatalogFile`.
    pub catalog: String,
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
    pub fn of_time(date: DateTime) -> Self {
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

/// A stamped file, with the mapping to the lines of its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// The `.inf`.
    pub text: Text,
    /// The line after which lines were added.
    added_behind: usize,
    added: usize,
}

impl Stamped {
    /// Returns the line of the source from which a line of the result comes.
    #[must_use]
    pub fn source_line(&self, line: usize) -> usize {
        line.saturating_sub(self.added).clamp(self.added_behind.min(line), line)
    }
}

/// Creates an `.inf`.
///
/// # Errors
///
/// Returns rule 1001 or 1002 if there is no `[Version]` section to write to, and 1006 if a variable has no value.
pub fn stamp(source: &Text, stamp: &Stamp) -> Result<Stamped, Fault> {
    let inf = Inf::parse(&source.text)?;
    let missing = || Fault::new(1001, 1, "there is no section [Version]");
    let version = inf.section("Version").ok_or_else(missing)?;
    let end = if source.text.contains("\r\n") { "\r\n" } else { "\n" };
    let values = [("CatalogFile", stamp.catalog.clone()), ("DriverVer", stamp.version.to_string())];
    let line_of = |key: &str| version.first(key).map(|entry| entry.line);

    let mut result = String::new();
    let mut added = 0;
    for (index, line) in source.text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        let replaced = values.iter().find(|(key, _)| line_of(key) == Some(number));
        match (replaced, line.split_once('=')) {
            (Some((_, value)), Some((key, _))) => result.extend([key, "= ", value, end]),
            _ => result.push_str(&replace_variables(line, number, stamp)?),
        }
        if number == version.line {
            for (key, value) in values.iter().filter(|(key, _)| line_of(key).is_none()) {
                if !result.ends_with('\n') {
                    result.push_str(end);
                }
                result.extend([key, " = ", value.as_str(), end]);
                added += 1;
            }
        }
    }
    let text = Text { encoding: source.encoding, text: result };
    Ok(Stamped { text, added_behind: version.line, added })
}

fn replace_variables(line: &str, number: usize, stamp: &Stamp) -> Result<String, Fault> {
    let mut line = line.replace("$ARCH$", stamp.arch.inf_name());
    if line.contains("$KMDFVERSION$") {
        let missing = "`$KMDFVERSION$` has no value: the driver's manifest names no KMDF version";
        let version = stamp.kmdf.as_ref().ok_or_else(|| Fault::new(1006, number, missing))?;
        line = line.replace("$KMDFVERSION$", version);
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use der::DateTime;

    use super::{DriverVersion, Stamp, Stamped, stamp};
    use crate::inf::{Arch, Text};

    fn made(source: &str) -> Stamped {
        let version = DriverVersion::of_time(DateTime::new(2024, 3, 9, 13, 4, 5).unwrap());
        let what = Stamp { arch: Arch::Arm64, kmdf: Some("1.33".into()), version, catalog: "a.cat".into() };
        stamp(&Text::decode(source.as_bytes()).unwrap(), &what).unwrap()
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
        let midnight = DriverVersion::of_time(DateTime::new(1999, 12, 31, 0, 0, 0).unwrap());
        assert_eq!(midnight.to_string(), "12/31/1999,0.0.0.1");
    }

    #[test]
    fn a_variable_without_a_value_is_named_with_its_line() {
        let version = DriverVersion::of_time(DateTime::new(2024, 3, 9, 13, 4, 5).unwrap());
        let what = Stamp { arch: Arch::X64, kmdf: None, version, catalog: "a.cat".into() };
        let source = Text::decode(b"[Version]\n[a]\nk = $KMDFVERSION$\n").unwrap();
        let fault = stamp(&source, &what).unwrap_err();
        assert_eq!((fault.rule, fault.line), (1006, 3));
    }
}
