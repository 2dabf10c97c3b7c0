//! Rules that depend on the Windows release: what the image needs, and which release has it first.

use super::Severity::Refused;
use super::{PE_FORMAT, Rule, Target, violation_if};
use crate::Release;
use pe_image::{Image, Imported, Machine};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "subsystem-version",
        severity: Refused,
        what: "the subsystem version is not newer than Windows",
        why: "the image requires a newer Windows",
        source: PE_FORMAT,
        check: subsystem_version,
    },
    Rule {
        id: "arm64-release",
        severity: Refused,
        what: "this release of Windows exists for the image's processor",
        why: "the kernel loads only code for its processor architecture (STATUS_INVALID_IMAGE_FORMAT)",
        source: "Microsoft Learn, \"Windows on Arm\" and the release information of Windows 10 1709",
        check: arm64_release,
    },
    Rule {
        id: "missing-import",
        severity: Refused,
        what: "every imported routine exists in this release of Windows",
        why: "the loader finds no such export (STATUS_DRIVER_ENTRYPOINT_NOT_FOUND)",
        source: "Microsoft Learn, the requirements of each routine",
        check: missing_import,
    },
    Rule {
        id: "kmdf-version",
        severity: Refused,
        what: "the KMDF version of this release binds the driver",
        why: "the framework's loader rejects the driver (STATUS_INVALID_PARAMETER)",
        source: "Microsoft Learn, \"KMDF version history\"; the framework's public sources",
        check: kmdf_version,
    },
];

fn subsystem_version(image: &Image, target: Target) -> Vec<String> {
    let needed = image.header.subsystem_version;
    let has = target.release.nt_version();
    let newer = (needed.major, needed.minor) > (has.major, has.minor);
    violation_if(newer, || format!("the image needs Windows version {needed}, {} has version {has}", target.release))
}

fn arm64_release(image: &Image, target: Target) -> Vec<String> {
    let first = Release::FIRST_ARM64;
    let release = target.release;
    let missing = image.header.machine == Machine::Arm64 && release < first;
    violation_if(missing, || {
        format!("{release} does not run on ARM64; the first release that does is {}", first.described())
    })
}

fn missing_import(image: &Image, target: Target) -> Vec<String> {
    let modules = image.imports.modules.iter().filter(|module| {
        ["ntoskrnl.exe", "hal.dll", "fltmgr.sys"].iter().any(|known| module.name.eq_ignore_ascii_case(known))
    });
    let lacks = |routine: &Imported| match routine {
        Imported::Name(name) => target.release.lacks(name),
        Imported::Ordinal(_) => None,
    };
    modules.flat_map(|module| &module.routines).filter_map(lacks).collect()
}

fn kmdf_version(image: &Image, target: Target) -> Vec<String> {
    let release = target.release;
    let refusal = image.framework.and_then(|client| Some((client, release.kmdf().bind(client).err()?)));
    refusal.map(|(client, refusal)| refusal.explain(client, release)).into_iter().collect()
}

/// Returns the oldest release for which no rule of this file is violated.
pub(super) fn oldest(image: &Image) -> Option<Release> {
    let accepts =
        |release: &Release| RULES.iter().all(|rule| (rule.check)(image, Target { release: *release }).is_empty());
    Release::ALL.into_iter().find(accepts)
}
