//! The requirements of a driver: a build of Windows and a version of KMDF. The scripts check them before they change
//! anything.
//!
//! The image states the framework to which it binds and the routines that it imports. The INF states the builds to
//! which it applies. The table of Windows releases says which build has what.

use std::path::Path;

use windows_releases::Release;

use crate::inf::{Arch, Inf};
use crate::pe::Image;
use crate::problem::Problem;

/// The oldest Windows that a package supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Requirements {
    /// The oldest framework version to which the driver can bind, such as `1.25`; `None` for a driver without the
    /// framework.
    pub(super) kmdf: Option<String>,
    /// The lowest build number.
    pub(super) build: u32,
    /// The name of that release.
    pub(super) windows: String,
    /// Whether the KMDF version is in the table.
    pub(super) is_known: bool,
}

impl Requirements {
    pub(super) fn from_package(inf: &Inf, image: &Image, arch: Arch) -> Self {
        let bound = image.framework.map(|client| format!("{}.{}", client.major, client.oldest_framework()));
        // The image may use the framework even if its bind information is not found.
        let kmdf = bound.or_else(|| framework(inf, arch));
        let minor = kmdf.as_ref().and_then(|version| version.strip_prefix("1.")?.parse().ok());
        let release = minor.and_then(Release::first_with_kmdf);
        let builds = [release, crate::rules::oldest_release(image)].map(|release| release.map_or(0, Release::build));
        let models = inf.lowest_build(arch).map_or(0, |(build, _)| build);
        let build = builds.into_iter().fold(models, u32::max);
        let is_known = kmdf.is_none() || release.is_some();
        Self { windows: title(build), kmdf, build, is_known }
    }

    /// Returns a warning if the version cannot be checked completely.
    pub(super) fn warning(&self, file: &Path) -> Option<Problem> {
        let version = self.kmdf.as_ref().filter(|_| !self.is_known)?;
        let text = format!(
            "no known Windows has KMDF {version}; install.ps1 only compares it with the version on the machine"
        );
        Some(Problem::warning(file, "kmdf-version", text))
    }
}

/// Returns the version in the section that the `.Wdf` section of an install section names with `KmdfService`.
fn framework(inf: &Inf, arch: Arch) -> Option<String> {
    let wdf = inf.installs(arch).into_iter().filter_map(|install| inf.section(&format!("{}.Wdf", install.name)));
    let names = wdf.filter_map(|section| section.first("KmdfService")?.field(1).map(|name| inf.expand(name)));
    let versions =
        names.filter_map(|name| Some(inf.expand(inf.section(&name)?.first("KmdfLibraryVersion")?.field(0)?)));
    versions.max_by_key(|version| version.split('.').map(|part| part.parse().unwrap_or(0)).collect::<Vec<u32>>())
}

fn title(build: u32) -> String {
    let mut later = Release::ALL.into_iter().filter(|release| release.build() >= build);
    match (later.next(), later.next()) {
        // The server was released first, and the client has another build number.
        (Some(server), Some(next)) if server.title().starts_with("Windows Server") => {
            format!("{} or {}", server.title(), next.title())
        }
        (Some(release), _) => release.title().into(),
        (None, _) => format!("Windows build {build}"),
    }
}
