//! Rules of infverif, with the same numbers: those that test-signed packages violate in practice.
//!
//! Severities are those of infverif's `/w` mode, which the WDK uses to build drivers. The rules are documented by
//! Microsoft Learn, "INF Validation Errors and Warnings".

mod files;
mod registry;
mod releases;
mod sections;
mod services;
mod strings;
mod version;

use super::{Arch, Fault, Inf};
use crate::problem::Level;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The number in infverif.
    pub number: u16,
    /// An error prevents the package from being made; a warning does not.
    pub level: Level,
    /// What the rule requires.
    pub what: &'static str,
}

const fn error(number: u16, what: &'static str) -> Rule {
    Rule { number, level: Level::Error, what }
}

/// Every rule that is checked, including those of reading and stamping.
pub static RULES: &[Rule] = &[
    error(1001, "[Version] has the signature $Windows NT$"),
    error(1002, "the file can be parsed"),
    error(1003, "the file is ANSI or UTF-16LE"),
    error(1006, "a required directive is present"),
    error(1199, "a directive is only used on a Windows that knows it"),
    error(1203, "a section that a line refers to exists"),
    error(1204, "the provider is not Microsoft"),
    error(1230, "a copied file is in [SourceDisksFiles]"),
    error(1233, "[Version] names a catalog, which a signature needs"),
    error(1235, "a string token is in [Strings]"),
    error(1284, "the class is not reserved for Microsoft"),
    error(1285, "only Windows installs a class of Microsoft"),
    error(1296, "a device has a service"),
    error(1297, "the driver is for at least one device"),
    error(1320, "registry keys are below HKR"),
    error(1321, "registry values are below HKR"),
    error(1322, "files stay in the driver store, directory 13"),
    error(1324, "[Version] has PnpLockdown=1"),
    Rule { number: 2083, level: Level::Warning, what: "every section is used" },
];

impl Rule {
    /// Finds a rule by its number.
    #[must_use]
    pub fn from_number(number: u16) -> Option<&'static Self> {
        RULES.iter().find(|rule| rule.number == number)
    }
}

/// Returns everything that infverif would report for one architecture, sorted by line.
#[must_use]
pub fn lint(inf: &Inf, arch: Arch) -> Vec<Fault> {
    let mut linter = Linter { inf, arch, faults: Vec::new(), used: Vec::new() };
    version::check(&mut linter);
    sections::check(&mut linter);
    services::check(&mut linter);
    releases::check(&mut linter);
    files::check(&mut linter);
    registry::check(&mut linter);
    strings::check(&mut linter);
    sections::check_unused(&mut linter);
    linter.faults.sort_by_key(|fault| (fault.line, fault.rule));
    linter.faults.dedup();
    linter.faults
}

/// The input and the output of the rules.
struct Linter<'a> {
    inf: &'a Inf,
    arch: Arch,
    faults: Vec<Fault>,
    /// Names of the sections to which something refers, in lower case.
    used: Vec<String>,
}

impl Linter<'_> {
    fn report(&mut self, rule: u16, line: usize, text: impl Into<String>) {
        self.faults.push(Fault::new(rule, line, text));
    }

    fn mark_used(&mut self, name: &str) {
        self.used.push(name.to_ascii_lowercase());
    }
}
