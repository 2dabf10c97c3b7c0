//! What a driver asks of Windows: a build and a version of KMDF, for the scripts to check before they change anything.
//!
//! The INF names both; the table of Windows releases says which build has which framework.

use std::path::Path;

use windows_releases::Release;

use crate::inf::{Arch, Inf};
use crate::problem::{Level, Problem};

/// The oldest Windows for a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirements {
    /// `KmdfLibraryVersion`; none for a driver without the framework.
    pub(super) kmdf: Option<String>,
    /// The lowest build number; 0 if any will do.
    pub(super) build: u32,
    /// In words.
    pub(super) windows: String,
    /// Whether the table has the version of KMDF.
    pub(super) is_known: bool,
}

impl Requirements {
    pub(super) fn of(inf: &Inf, arch: Arch) -> Self {
        let kmdf = framework(inf, arch);
        let minor = kmdf.as_ref().and_then(|version| version.strip_prefix("1.")?.parse().ok());
        let release = minor.and_then(Release::first_with_kmdf);
        let build = models_build(inf, arch).max(release.map_or(0, Release::build));
        let is_known = kmdf.is_none() || release.is_some();
        Self { windows: title(build), kmdf, build, is_known }
    }

    /// A word on a version that cannot be checked completely.
    pub(super) fn warning(&self, file: &Path) -> Option<Problem> {
        let version = self.kmdf.as_ref().filter(|_| !self.is_known)?;
        let text = format!("no known Windows has KMDF {version}; install.ps1 compares it with the machine's own only");
        Some(Problem { level: Level::Warning, ..Problem::error(file, "kmdf-version", text) })
    }
}

/// The version in the section that `KmdfService` of a device's `.Wdf` section names.
fn framework(inf: &Inf, arch: Arch) -> Option<String> {
    let devices = inf.devices(arch);
    let installs = devices.iter().filter_map(|device| inf.install_section(&device.install, arch));
    let wdf = installs.filter_map(|install| inf.section(&format!("{}.Wdf", install.name)));
    let names = wdf.filter_map(|section| section.first("KmdfService")?.field(1).map(|name| inf.expand(name)));
    let versions =
        names.filter_map(|name| Some(inf.expand(inf.section(&name)?.first("KmdfLibraryVersion")?.field(0)?)));
    versions.max_by_key(|version| version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>())
}

/// The lowest build of the decorations in `[Manufacturer]`: one that fits is enough for Windows.
fn models_build(inf: &Inf, arch: Arch) -> u32 {
    let entries = inf.section("Manufacturer").into_iter().flat_map(|section| &section.entries);
    let builds = entries.flat_map(|entry| match entry.fields.get(1..) {
        None | Some([]) => vec![0],
        Some(decorations) => decorations.iter().filter(|each| arch.is_meant_by(each)).map(|each| build(each)).collect(),
    });
    builds.min().unwrap_or(0)
}

/// The build of `NT[arch].major[.minor[.type[.suite[.build]]]]`.
fn build(decoration: &str) -> u32 {
    let part = |index| decoration.split('.').nth(index).and_then(|text| text.trim().parse::<u32>().ok());
    let Some(major) = part(1) else {
        return 0;
    };
    let asked = (major, part(2).unwrap_or(0));
    let version = |release: &Release| (u32::from(release.nt_version().major), u32::from(release.nt_version().minor));
    let first = Release::ALL.into_iter().find(|release| version(release) >= asked).map_or(0, Release::build);
    part(5).unwrap_or(0).max(first)
}

fn title(build: u32) -> String {
    let mut later = Release::ALL.into_iter().filter(|release| release.build() >= build);
    match (later.next(), later.next()) {
        _ if build == 0 => String::from("any Windows"),
        // A server came first: the client has another number.
        (Some(server), Some(next)) if server.title().starts_with("Windows Server") => {
            format!("{} or {}", server.title(), next.title())
        }
        (Some(release), _) => release.title().into(),
        (None, _) => format!("Windows build {build}"),
    }
}

#[cfg(test)]
mod tests {
    use windows_releases::Release;

    use super::Requirements;
    use crate::inf::{Arch, Inf};

    fn of(models: &str, kmdf: &str) -> Requirements {
        let wdf = if kmdf.is_empty() { "" } else { "[I.NT.Wdf]\nKmdfService = s,%w%\n[W]\nKmdfLibraryVersion = " };
        let sections: String =
            models.split(',').skip(1).map(|each| format!("[M.{}]\n%D% = I,Root\\A\n", each.trim())).collect();
        let plain = if sections.is_empty() { "[M]\n%D% = I,Root\\A\n" } else { "" };
        let text =
            format!("[Manufacturer]\nx = {models}\n{sections}{plain}[I.NT]\n{wdf}{kmdf}\n[Strings]\nw = W\nD = d\n");
        Requirements::of(&Inf::parse(&text).unwrap(), Arch::X64)
    }

    #[test]
    fn the_framework_of_every_release_asks_for_that_release() {
        for release in Release::ALL {
            let found = of("M,NTamd64", &release.kmdf().to_string());
            let first = Release::first_with_kmdf(release.kmdf().minor).unwrap();
            assert_eq!((found.build, found.is_known), (first.build(), true), "{release}");
            assert_eq!(found.kmdf, Some(release.kmdf().to_string()));
            assert!(found.windows.contains(first.title()), "{}", found.windows);
        }
        assert_eq!(of("M,NTamd64", "1.33").windows, "Windows Server 2022 or Windows 11 21H2");
    }

    #[test]
    fn a_driver_without_the_framework_asks_for_what_its_models_say() {
        assert_eq!(of("M,NTamd64.10.0...16299", "").build, 16299);
        assert_eq!(of("M,NTamd64.10.0", "").build, Release::Win10_1507.build());
        assert_eq!(of("M,NTamd64.6.1, NTarm64.10.0...22000", "").build, Release::Win7.build());
        assert_eq!(of("M,NTamd64.10.0...26100,NTamd64.10.0...19041", "").build, 19041);
        assert_eq!(of("M", ""), Requirements { kmdf: None, build: 0, windows: "any Windows".into(), is_known: true });
    }

    #[test]
    fn the_higher_of_both_counts() {
        assert_eq!(of("M,NTamd64.10.0...22631", "1.31").build, 22631);
        assert_eq!(of("M,NTamd64.10.0...16299", "1.31").build, 19041);
    }

    #[test]
    fn a_framework_that_the_table_lacks_is_said() {
        let found = of("M,NTamd64.10.0...16299", "1.99");
        assert_eq!((found.kmdf.as_deref(), found.build, found.is_known), (Some("1.99"), 16299, false));
    }
}
