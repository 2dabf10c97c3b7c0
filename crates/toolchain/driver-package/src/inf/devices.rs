//! What a file installs on one processor architecture: devices, their install sections and their services.

use windows_constants::image::{IMAGE_FILE_MACHINE_AMD64, IMAGE_FILE_MACHINE_ARM64};
use windows_constants::plug_play::SPSVCINST_ASSOCSERVICE;
use windows_releases::Release;

use super::{Entry, Inf, Section};

/// A processor architecture for which packages can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// x86-64.
    X64,
    /// ARM64.
    Arm64,
}

impl Arch {
    /// Returns the name for command lines and folders.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::X64 => "x64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns the name in INF files.
    #[must_use]
    pub fn inf_name(self) -> &'static str {
        match self {
            Self::X64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// Returns the machine number in image headers.
    #[must_use]
    pub fn machine(self) -> u16 {
        match self {
            Self::X64 => IMAGE_FILE_MACHINE_AMD64,
            Self::Arm64 => IMAGE_FILE_MACHINE_ARM64,
        }
    }

    /// Finds an architecture by its name on command lines.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::X64, Self::Arm64].into_iter().find(|arch| arch.name() == name)
    }

    /// Finds an architecture by the machine number of an image.
    #[must_use]
    pub fn from_machine(machine: u16) -> Option<Self> {
        [Self::X64, Self::Arm64].into_iter().find(|arch| arch.machine() == machine)
    }

    /// Returns whether a decoration such as `NTamd64.10.0` applies to this architecture.
    fn is_meant_by(self, decoration: &str) -> bool {
        let lower = decoration.to_ascii_lowercase();
        let rest = lower.strip_prefix("nt").unwrap_or(&lower);
        let name = rest.split('.').next().unwrap_or_default();
        name.is_empty() || name == self.inf_name()
    }
}

/// A device for which the file has a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The line of its entry.
    pub line: usize,
    /// The name that users see, with tokens replaced.
    pub description: String,
    /// Hardware and compatible ids, in their original case, with tokens replaced.
    pub ids: Vec<String>,
    /// The name of its install section, without decoration.
    pub install: String,
}

/// A service that a device's install section adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// The line of the `AddService` directive.
    pub line: usize,
    /// Its name; `None` for a device without a function driver.
    pub name: Option<String>,
    /// Whether it is the function driver of the device and not a filter.
    pub is_function: bool,
    /// The section that describes it.
    pub section: Option<String>,
}

/// The install section of a file without devices.
const DEFAULT_INSTALL: &str = "DefaultInstall";

impl Inf {
    /// Returns the names of the models sections that `[Manufacturer]` lists for an architecture, each with the entry
    /// that names it.
    pub(super) fn models(&self, arch: Arch) -> Vec<(String, &Entry)> {
        let entries = self.section("Manufacturer").into_iter().flat_map(|section| &section.entries);
        let mut models = Vec::new();
        for entry in entries {
            let (base, decorations) = match entry.fields.split_first() {
                Some((base, rest)) if !base.is_empty() => (base.as_str(), rest),
                // If no section is given, the manufacturer's name is the name of the section.
                _ => (entry.key.as_deref().unwrap_or_default(), &[][..]),
            };
            if decorations.is_empty() {
                models.push((base.to_owned(), entry));
            }
            let meant = decorations.iter().filter(|decoration| arch.is_meant_by(decoration));
            models.extend(meant.map(|decoration| (format!("{base}.{decoration}"), entry)));
        }
        models
    }

    /// Returns those of [`models`](Self::models) that exist and that some Windows selects. For each entry, Windows selects
    /// the one section that matches its version most closely ("INF Manufacturer section").
    fn selected(&self, arch: Arch) -> Vec<(Decoration, &Section, &Entry)> {
        let models = self.models(arch);
        let all: Vec<_> = models.iter().map(|(name, entry)| (Decoration::from_models(name), name, *entry)).collect();
        let is_selected = |decoration: &Decoration, entry: &Entry| {
            let mut others = all.iter().filter(|(_, _, other)| other.line == entry.line);
            !others.any(|(other, _, _)| other.hides(decoration))
        };
        let selected = all.iter().filter(|(decoration, _, entry)| is_selected(decoration, entry));
        selected.filter_map(|(decoration, name, entry)| Some((*decoration, self.section(name)?, *entry))).collect()
    }

    /// Returns the lowest build of Windows on which the file has a device for an architecture, with the line that states
    /// it. An empty models section excludes the versions that select it.
    #[must_use]
    pub fn lowest_build(&self, arch: Arch) -> Option<(u32, usize)> {
        let with_devices = self.selected(arch).into_iter().filter(|(_, section, _)| !section.entries.is_empty());
        let builds = with_devices.map(|(decoration, _, entry)| (decoration.lowest_build(), entry.line));
        builds.min_by_key(|(build, _)| *build)
    }

    /// Returns the devices in the order of the file.
    #[must_use]
    pub fn devices(&self, arch: Arch) -> Vec<Device> {
        let sections = self.selected(arch).into_iter().map(|(_, section, _)| section);
        sections.flat_map(|section| &section.entries).map(|entry| self.device(entry)).collect()
    }

    /// Returns the hardware ids without duplicates, in lower case and in the order of the file.
    #[must_use]
    pub fn hardware_ids(&self, arch: Arch) -> Vec<String> {
        let mut ids: Vec<String> = Vec::new();
        for id in self.devices(arch).iter().flat_map(|device| &device.ids) {
            let id = id.to_lowercase();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        ids
    }

    fn device(&self, entry: &Entry) -> Device {
        let mut fields = entry.fields.iter().map(|field| self.expand(field));
        Device {
            line: entry.line,
            description: self.expand(entry.key.as_deref().unwrap_or_default()),
            install: fields.next().unwrap_or_default(),
            ids: fields.filter(|id| !id.is_empty()).collect(),
        }
    }

    /// Returns the section that Windows uses for an install section's name: the one with the architecture, otherwise with
    /// `.NT`, otherwise without decoration. Only models sections can also be decorated with a version of Windows
    /// ("INF File Platform Extensions and x64-Based Systems").
    #[must_use]
    pub fn install_section(&self, name: &str, arch: Arch) -> Option<&Section> {
        let decorated = [format!("{name}.NT{}", arch.inf_name()), format!("{name}.NT"), name.to_owned()];
        decorated.iter().find_map(|name| self.section(name))
    }

    /// Returns the install sections that Windows uses on an architecture: those of the devices, or `[DefaultInstall]` of a file
    /// without devices, which is installed as a whole ("INF `DefaultInstall` Section").
    #[must_use]
    pub fn installs(&self, arch: Arch) -> Vec<&Section> {
        if self.section("Manufacturer").is_none() {
            return self.install_section(DEFAULT_INSTALL, arch).into_iter().collect();
        }
        self.devices(arch).iter().filter_map(|device| self.install_section(&device.install, arch)).collect()
    }

    /// Returns the install sections of the devices, each with the lowest build of Windows that uses it.
    pub(super) fn installs_by_build(&self, arch: Arch) -> Vec<(u32, &Section)> {
        let mut installs = Vec::new();
        for (decoration, models, _) in self.selected(arch) {
            let sections = models.entries.iter().filter_map(|entry| entry.field(0));
            let sections = sections.filter_map(|name| self.install_section(&self.expand(name), arch));
            installs.extend(sections.map(|section| (decoration.lowest_build(), section)));
        }
        installs
    }

    /// Returns the services of an install section, from its `.Services` section.
    #[must_use]
    pub fn services(&self, install: &Section) -> Vec<Service> {
        let section = self.section(&format!("{}.Services", install.name));
        let entries = section.into_iter().flat_map(|section| section.all("AddService"));
        let service = |entry: &Entry| {
            let field = |index| entry.field(index).map(|field| self.expand(field));
            let flags = field(1).and_then(|flags| number(&flags)).unwrap_or_default();
            Service {
                line: entry.line,
                name: field(0),
                is_function: flags & SPSVCINST_ASSOCSERVICE != 0,
                section: field(2),
            }
        };
        entries.map(service).collect()
    }
}

/// The decoration of a models section: `Models.NTamd64.10.0...16299`. Product type and suite come before the build.
#[derive(Clone, Copy, Debug)]
struct Decoration {
    kernel: (u32, u32),
    build: u32,
    has_arch: bool,
    /// Whether it is only for a product type or a suite.
    is_special: bool,
}

impl Decoration {
    fn from_models(models: &str) -> Self {
        let lower = models.to_ascii_lowercase();
        let decoration = lower.split_once(".nt").map_or("", |(_, decoration)| decoration);
        let mut parts = decoration.split('.');
        let has_arch = parts.next().is_some_and(|arch| !arch.is_empty());
        let [major, minor, product, suite, build] = [(); 5].map(|()| parts.next().unwrap_or_default());
        let number = |part: &str| part.parse().unwrap_or_default();
        Self {
            kernel: (number(major), number(minor)),
            build: number(build),
            has_arch,
            is_special: !product.is_empty() || !suite.is_empty(),
        }
    }

    /// Returns the lowest build that the decoration allows.
    fn lowest_build(&self) -> u32 {
        let has_kernel = |release: &Release| {
            let nt = release.nt_version();
            (u32::from(nt.major), u32::from(nt.minor)) >= self.kernel
        };
        let first = Release::ALL.into_iter().find(has_kernel).unwrap_or(Release::NEWEST).build();
        self.build.max(first)
    }

    /// Whether every Windows that matches `other` selects this instead. The version counts first: `NT.6.1` is closer to
    /// Windows 7 than `NTx86.6.0` ("Sample INF Models Sections for Only One Target Operating System").
    fn hides(&self, other: &Self) -> bool {
        let closeness = |one: &Self| (one.kernel, one.build, one.has_arch);
        !self.is_special
            && !other.is_special
            && self.lowest_build() <= other.lowest_build()
            && closeness(self) > closeness(other)
    }
}

/// Parses a number of an INF file.
pub(super) fn number(text: &str) -> Option<u32> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Arch, Inf};

    const TEXT: &str = "[Manufacturer]\n%M% = Dev,NTamd64.10.0...16299,NTarm64.10.0,NT.6.1\n\
        [Dev.NTamd64.10.0...16299]\n%D% = I,Root\\A,Root\\B\n[Dev.NTarm64.10.0]\n\"x\" = I,ROOT\\C\n[Dev.NT.6.1]\n\
        [I.NT]\n[I.NT.Services]\nAddService = s,%two%,S\nAddService = f,,F\n[I.NTarm64]\n\
        [Strings]\nD = \"Device\"\ntwo = 0x2\n";

    #[test]
    fn devices_and_services_are_those_of_the_processor() {
        let inf = Inf::parse(TEXT).unwrap();
        let devices = inf.devices(Arch::X64);
        assert_eq!(devices.len(), 1);
        assert_eq!(devices[0].description.as_str(), "Device");
        assert_eq!(devices[0].line, 4);
        assert_eq!(inf.hardware_ids(Arch::X64), ["root\\a", "root\\b"]);
        assert_eq!(inf.hardware_ids(Arch::Arm64), ["root\\c"]);
        let install = inf.install_section("I", Arch::X64).unwrap();
        assert_eq!(install.name, "I.NT");
        let services = inf.services(install);
        assert_eq!(services.iter().map(|service| service.is_function).collect::<Vec<_>>(), [true, false]);
        assert_eq!(inf.install_section("i", Arch::Arm64).unwrap().name, "I.NTarm64");
        assert_eq!(inf.models(Arch::X64).len(), 2);
        assert_eq!(inf.lowest_build(Arch::X64), Some((16299, 2)), "[Dev.NT.6.1] is empty");
    }

    #[test]
    fn a_manufacturer_without_a_section_names_it() {
        let inf = Inf::parse("[Manufacturer]\nDev =\n\"Other\"\n").unwrap();
        let names: Vec<String> = inf.models(Arch::X64).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["Dev", "Other"]);
    }

    #[test]
    fn windows_selects_the_models_section_that_matches_its_version_most_closely() {
        for (decorations, selected, build) in [
            // Without an architecture only if no other section has the same version.
            ("NT,NTamd64", "NTamd64", 7601),
            ("NTamd64,NT.6.1", "NT.6.1", 7601),
            ("NTamd64.6.1,NT.10.0", "NTamd64.6.1 NT.10.0", 7601),
            // No Windows that is supported is older than 6.1.
            ("NTamd64.5.2,NTamd64.6.0,NTamd64.6.1", "NTamd64.6.1", 7601),
            ("NTamd64.10.0,NTamd64.10.0...17763", "NTamd64.10.0 NTamd64.10.0...17763", 10240),
            ("NTarm64,NTamd64.10.0...17763", "NTamd64.10.0...17763", 17763),
            // Only servers select the section with a product type.
            ("NTamd64,NTamd64.10.0.3", "NTamd64 NTamd64.10.0.3", 7601),
            ("NTamd64...3,NTamd64.6.1", "NTamd64...3 NTamd64.6.1", 7601),
        ] {
            let sections = decorations.split(',').map(|name| format!("[Dev.{name}]\n{name} = I,Root\\{name}\n"));
            let text = format!("[Manufacturer]\nM = Dev,{decorations}\n{}", sections.collect::<String>());
            let inf = Inf::parse(&text).unwrap();
            let devices: Vec<_> = inf.devices(Arch::X64).into_iter().map(|device| device.description).collect();
            assert_eq!(devices.join(" "), selected, "{decorations}");
            assert_eq!(inf.lowest_build(Arch::X64).unwrap().0, build, "{decorations}");
        }
    }

    #[test]
    fn the_install_section_is_the_one_with_the_nearest_platform_extension() {
        for (sections, x64, arm64) in [
            ("[I][I.NT][I.NTamd64][I.NTarm64]", Some("I.NTamd64"), Some("I.NTarm64")),
            ("[I.NTarm64][I.NT][I]", Some("I.NT"), Some("I.NTarm64")),
            ("[I.NTx86][I]", Some("I"), Some("I")),
            // A version is not a platform extension: Windows does not look for such a section.
            ("[I.NTamd64.6.1][I.NTamd64.10.0][I.NTamd64]", Some("I.NTamd64"), None),
            ("[I.NTamd64.10.0...22000]", None, None),
        ] {
            let inf = Inf::parse(&sections.replace(']', "]\n")).unwrap();
            let found = [Arch::X64, Arch::Arm64].map(|arch| inf.install_section("I", arch).map(|it| it.name.as_str()));
            assert_eq!(found, [x64, arm64], "{sections}");
        }
    }

    #[test]
    fn the_build_of_a_decoration_is_the_lowest_that_fits() {
        for (models, build) in [
            ("Dev", 7601),
            ("Dev.NTamd64", 7601),
            ("Dev.NTamd64.6.2", 9200),
            ("Dev.NT.10.0", 10240),
            ("Dev.NTarm64.10.0...17134", 17134),
            ("Dev.ntx86.10.0.1", 10240),
        ] {
            assert_eq!(super::Decoration::from_models(models).lowest_build(), build, "{models}");
        }
    }
}
