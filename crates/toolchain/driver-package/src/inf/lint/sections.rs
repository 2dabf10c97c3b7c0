//! References between sections: each must lead to a section, and each section must be used.

use super::Linter;
use crate::inf::{Entry, Section};

/// Directives of install sections whose fields are names of sections.
const LISTS: [&str; 9] =
    ["AddReg", "DelReg", "CopyFiles", "DelFiles", "RenFiles", "BitReg", "AddProperty", "DelProperty", "UpdateInis"];
/// Directives with a field that names a describing section.
const DESCRIBED: [(&str, usize); 9] = [
    ("AddChannel", 2),
    ("AddEventProvider", 1),
    ("AddService", 2),
    ("AddFilter", 2),
    ("AddInterface", 2),
    ("AddComponent", 2),
    ("AddSoftware", 2),
    ("KmdfService", 1),
    ("UmdfService", 1),
];
/// Suffixes of the names of sections that belong to an install section.
const SUFFIXES: [&str; 10] =
    ["Services", "HW", "Wdf", "Components", "Software", "Interfaces", "Events", "Filters", "WMI", "CoInstallers"];
/// Sections that Windows itself looks for.
const KNOWN: [&str; 11] = [
    "Version",
    "Manufacturer",
    "Strings",
    "DestinationDirs",
    "SourceDisksNames",
    "SourceDisksFiles",
    "ClassInstall32",
    "ControlFlags",
    "DefaultInstall",
    "DefaultUninstall",
    "SignatureAttributes",
];

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    let arch = linter.arch;
    if inf.section("Manufacturer").is_none() {
        let is_for_others = || inf.sections().iter().any(|s| s.name.to_ascii_lowercase().starts_with("defaultinstall"));
        let installs = inf.installs(arch);
        if installs.is_empty() && is_for_others() {
            let text =
                format!("section [DefaultInstall.NT{}] not found: the driver is never installed", arch.inf_name());
            linter.report(1203, 1, text);
        } else if installs.is_empty() {
            linter.report(
                1203,
                1,
                "neither section [Manufacturer] nor [DefaultInstall] found: the INF installs nothing",
            );
        }
        for install in installs {
            check_install(linter, install);
        }
        // What is uninstalled is described in the same way.
        if let Some(section) = inf.install_section("DefaultUninstall", arch) {
            check_install(linter, section);
        }
        return;
    }
    for (name, entry) in inf.models(arch) {
        require(linter, &name, entry, "models");
    }
    let devices = inf.devices(arch);
    if devices.is_empty() {
        let line = inf.section("Manufacturer").map_or(1, |section| section.line);
        let text = format!("the INF names no device for {}, so the driver is never installed", arch.inf_name());
        linter.report(1297, line, text);
    }
    for device in devices {
        if device.ids.is_empty() {
            linter.report(1297, device.line, format!("device `{}` has no hardware id", device.description));
        }
        match inf.install_section(&device.install, arch) {
            Some(section) => check_install(linter, section),
            None => {
                linter.report(1203, device.line, format!("install section [{}] not found", device.install));
            }
        }
    }
    if let Some(class) = inf.section("ClassInstall32") {
        check_install(linter, class);
    }
}

/// Checks an install section and the sections that belong to it by name.
fn check_install(linter: &mut Linter<'_>, install: &Section) {
    linter.mark_used(&install.name);
    check_lists(linter, install);
    for suffix in SUFFIXES {
        let Some(section) = linter.inf.section(&format!("{}.{suffix}", install.name)) else { continue };
        linter.mark_used(&section.name);
        check_described(linter, section, 2);
    }
}

/// Checks a section and the sections that describe what its directives add. The section of an event provider has such
/// directives for its channels.
fn check_described(linter: &mut Linter<'_>, section: &Section, depth: usize) {
    check_lists(linter, section);
    if depth == 0 {
        return;
    }
    for (key, index) in DESCRIBED {
        for entry in section.all(key) {
            let name = entry.field(index);
            let described = name.and_then(|name| require(linter, name, entry, "description"));
            if let Some(described) = described {
                check_described(linter, described, depth - 1);
            }
        }
    }
}

/// Checks the sections that a section's directives list.
fn check_lists(linter: &mut Linter<'_>, section: &Section) {
    for key in LISTS {
        for entry in section.all(key) {
            for name in entry.fields.iter().filter(|name| !name.is_empty() && !name.starts_with('@')) {
                require(linter, name, entry, key);
            }
        }
    }
}

/// Finds a section that must exist. If the file includes others, one of them may contain it.
fn require<'a>(linter: &mut Linter<'a>, name: &str, entry: &Entry, what: &str) -> Option<&'a Section> {
    let inf = linter.inf;
    let name = inf.expand(name);
    linter.mark_used(&name);
    let found = inf.section(&name);
    let includes = || inf.sections().iter().any(|section| section.first("Include").is_some());
    if found.is_none() && !includes() {
        linter.report(1203, entry.line, format!("section [{name}] not found, to which this line refers ({what})"));
    }
    found
}

/// Reports sections to which nothing refers on any architecture.
pub(super) fn check_unused(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    for section in inf.sections() {
        let lower = section.name.to_ascii_lowercase();
        let base = lower.split('.').next().unwrap_or_default();
        let is_known = KNOWN.iter().any(|known| known.eq_ignore_ascii_case(base));
        // A section that is decorated for another architecture is used there.
        let elsewhere = |used: &String| used.split('.').next() == Some(base) && lower.contains(".nt");
        if !is_known && !linter.used.iter().any(|used| *used == lower || elsewhere(used)) {
            linter.report(2083, section.line, format!("nothing refers to section [{}]", section.name));
        }
    }
}
