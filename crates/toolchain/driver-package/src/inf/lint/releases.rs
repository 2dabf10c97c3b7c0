//! Directives that older releases of Windows do not know: an install section with one is only for releases that do.
//!
//! A build can only be stated in the name of a models section, so such a driver has two models sections with two install
//! sections. The pages of the directives and of the sections that contain them (Microsoft Learn) name the releases.

use windows_releases::Release;

use super::Linter;
use crate::inf::Section;

/// The section that belongs to an install section, a directive in it, and the first Windows that knows it.
const DIRECTIVES: [(&str, &str, Release); 6] = [
    ("Components", "AddComponent", Release::Win10_1703),
    ("Software", "AddSoftware", Release::Win10_1703),
    ("Events", "AddEventProvider", Release::Win10_1809),
    ("Filters", "AddFilter", Release::Win10_1903),
    ("Events", "AddAutoLogger", Release::Win11_21H2),
    ("Events", "UpdateAutoLogger", Release::Win11_21H2),
];
/// The same for directives in the section that describes a service.
const OF_SERVICES: [(&str, Release); 4] = [
    ("ServiceSidType", Release::Win10_2004),
    ("DelayedAutoStart", Release::Win10_2004),
    ("AddTrigger", Release::Win10_2004),
    ("FailureActions", Release::Win11_22H2),
];

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    let arch = linter.arch;
    for (build, install) in inf.installs_by_build(arch) {
        for (suffix, key, release) in DIRECTIVES {
            let section = inf.section(&format!("{}.{suffix}", install.name));
            check_section(linter, section, (key, release), (build, install));
        }
        for service in inf.services(install) {
            let section = service.section.as_ref().and_then(|name| inf.section(name));
            for directive in OF_SERVICES {
                check_section(linter, section, directive, (build, install));
            }
        }
    }
}

/// Reports a directive of a section if the install section is also for older builds.
fn check_section(
    linter: &mut Linter<'_>,
    section: Option<&Section>,
    (key, release): (&str, Release),
    (build, install): (u32, &Section),
) {
    if build >= release.build() {
        return;
    }
    for entry in section.into_iter().flat_map(|section| section.all(key)) {
        let name = linter.arch.inf_name();
        let nt = release.nt_version();
        let text = format!(
            "{key} needs {}, but [{}] is also for Windows build {build}: give [Manufacturer] another decoration, \
             `NT{name}.{nt}...{}`, with an install section of its own",
            release.described(),
            install.name,
            release.build()
        );
        linter.report(1199, entry.line, text);
    }
}
