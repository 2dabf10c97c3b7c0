//! What a file installs on one processor architecture: devices, their install sections and their services.

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
            Self::X64 => 0x8664,
            Self::Arm64 => 0xaa64,
        }
    }

    /// Finds an architecture by its name on command lines.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::X64, Self::Arm64].into_iter().find(|arch| arch.name() == name)
    }

    /// Finds an architecture by the machine number of an image.
    #[must_use]
    pub fn of_machine(machine: u16) -> Option<Self> {
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

/// `SPSVCINST_ASSOCSERVICE`
const ASSOCIATED: u32 = 2;

impl Inf {
    /// Returns the names of the models sections for an architecture, each with the entry of `[Manufacturer]` that names
    /// it.
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

    /// Returns the lowest build of Windows to which a models section for an architecture applies, with the line that
    /// states it.
    #[must_use]
    pub fn lowest_build(&self, arch: Arch) -> Option<(u32, usize)> {
        let builds = self.models(arch).into_iter().map(|(name, entry)| (lowest_build(&name), entry.line));
        builds.min_by_key(|(build, _)| *build)
    }

    /// Returns the devices in the order of the file.
    #[must_use]
    pub fn devices(&self, arch: Arch) -> Vec<Device> {
        let sections = self.models(arch).into_iter().filter_map(|(name, _)| self.section(&name));
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

    /// Returns the services of an install section, from its `.Services` section.
    #[must_use]
    pub fn services(&self, install: &Section) -> Vec<Service> {
        let section = self.section(&format!("{}.Services", install.name));
        let entries = section.into_iter().flat_map(|section| section.all("AddService"));
        let service = |entry: &Entry| {
            let field = |index| entry.field(index).map(|field| self.expand(field));
            let flags = field(1).and_then(|flags| number(&flags)).unwrap_or_default();
            Service { line: entry.line, name: field(0), is_function: flags & ASSOCIATED != 0, section: field(2) }
        };
        entries.map(service).collect()
    }
}

/// Returns the lowest build that the decoration of a models section allows: `Models.NTamd64.10.0...16299`. Product type
/// and suite come before the build.
fn lowest_build(models: &str) -> u32 {
    let lower = models.to_ascii_lowercase();
    let version = lower.split_once(".nt").and_then(|(_, rest)| rest.split_once('.')).map_or("", |(_, version)| version);
    let part = |index| version.split('.').nth(index).and_then(|part| part.parse::<u32>().ok());
    let kernel = (part(0).unwrap_or_default(), part(1).unwrap_or_default());
    let has_kernel = |release: &Release| {
        let nt = release.nt_version();
        (u32::from(nt.major), u32::from(nt.minor)) >= kernel
    };
    let first = Release::ALL.into_iter().find(has_kernel).unwrap_or(Release::NEWEST).build();
    part(4).unwrap_or_default().max(first)
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

    const TEXT: &str = "[Manufacturer]\n%M% = Dev,NTamd64.10.0...16299,NTarm64,NT.6.1\n\
        [Dev.NTamd64.10.0...16299]\n%D% = I,Root\\A,Root\\B\n[Dev.NTarm64]\n\"x\" = I,ROOT\\C\n[Dev.NT.6.1]\n\
        [I.NT]\n[I.NT.Services]\nAddService = s,%two%,S\nAddService = f,,F\n[I.NTarm64]\n\
        [Strings]\nD = \"Device\"\ntwo = 0x2\n";

    #[test]
    fn devices_and_services_are_those_of_the_processor() {
        let inf = Inf::parse(TEXT).unwrap();
        let devices = inf.devices(Arch::X64);
        assert_eq!(devices.len(), 1);
        assert_eq!((devices[0].description.as_str(), devices[0].line), ("Device", 4));
        assert_eq!(inf.hardware_ids(Arch::X64), ["root\\a", "root\\b"]);
        assert_eq!(inf.hardware_ids(Arch::Arm64), ["root\\c"]);
        let install = inf.install_section("I", Arch::X64).unwrap();
        assert_eq!(install.name, "I.NT");
        let services = inf.services(install);
        assert_eq!(services.iter().map(|service| service.is_function).collect::<Vec<_>>(), [true, false]);
        assert_eq!(inf.install_section("i", Arch::Arm64).unwrap().name, "I.NTarm64");
        assert_eq!(inf.models(Arch::X64).len(), 2);
        assert_eq!(inf.lowest_build(Arch::X64), Some((7601, 2)), "[Dev.NT.6.1] is for every processor");
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
            assert_eq!(super::lowest_build(models), build, "{models}");
        }
    }
}
