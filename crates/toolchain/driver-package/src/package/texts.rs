//! The files that describe a package, for its scripts and for people.
//!
//! Both are for Windows: they have Windows line endings, and apart from a byte order mark they are plain ASCII if the INF is.

use std::fmt::Write as _;

use super::events::Events;
use super::extras::{ETWCTL, File};
use super::profile::profile;
use super::provider::Provider;
use super::requirements::Requirements;
use crate::inf::{Arch, Device, Inf};
use crate::sign::{Signer, Trust};

/// The data for the scripts. A folder with this file is a package.
pub(super) const DATA_FILE: &str = "package.psd1";
/// The key of the list of the files that were written with it.
const INDEX: &str = "Files";

/// Whether the included program is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Etwctl {
    Signed,
    Unsigned,
}

/// The properties of the finished package.
pub(super) struct Facts<'a> {
    /// The name of the package. The INF and the profile have the same name.
    pub(super) name: &'a str,
    pub(super) inf: &'a Inf,
    /// File names.
    pub(super) catalog: &'a str,
    pub(super) image: &'a str,
    pub(super) certificate: &'a str,
    pub(super) arch: Arch,
    pub(super) signer: &'a Signer,
    /// Why a machine trusts the signer.
    pub(super) trust: Trust,
    pub(super) version: &'a str,
    pub(super) provider: Option<&'a Provider>,
    pub(super) events: &'a Events,
    pub(super) requirements: &'a Requirements,
    pub(super) has_scripts: bool,
    /// Whether the program is included, and whether it is signed.
    pub(super) etwctl: Option<Etwctl>,
}

impl Facts<'_> {
    /// Returns the files that describe the package. `others` are the other files that are written with them.
    pub(super) fn files(&self, others: &[File]) -> Vec<File> {
        let mut files = vec![(String::from("README.txt"), self.read_me().into_bytes())];
        if let Some(provider) = self.provider {
            files.push((format!("{}.wprp", self.name), profile(self.name, provider).into_bytes()));
        }
        let mut names: Vec<&str> = files.iter().chain(others).map(|(name, _)| name.as_str()).collect();
        names.push(DATA_FILE);
        names.sort_unstable();
        let data = self.data_file(&names);
        files.push((DATA_FILE.into(), data.into_bytes()));
        files
    }

    /// Returns `package.psd1`. The scripts read it, so that they work unchanged for every driver.
    fn data_file(&self, names: &[&str]) -> String {
        let inf = self.inf;
        let version = |key: &str| quoted(&version_entry(inf, key).unwrap_or_default());
        let mut ids: Vec<String> = Vec::new();
        for id in self.devices().into_iter().flat_map(|device| device.ids) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        let (provider, id) = self.provider.map(|one| (one.name.as_str(), one.id.to_string())).unwrap_or_default();
        let values = [
            ("Name", quoted(self.name)),
            ("Arch", quoted(self.arch.name())),
            ("Inf", quoted(&format!("{}.inf", self.name))),
            ("Catalog", quoted(self.catalog)),
            ("Image", quoted(self.image)),
            ("Certificate", quoted(self.certificate)),
            ("Thumbprint", quoted(&self.signer.thumbprint())),
            ("Stores", list(self.trust.stores())),
            ("TestMode", boolean(self.trust.needs_test_mode())),
            ("DriverVer", quoted(self.version)),
            ("MinimumBuild", self.requirements.build.to_string()),
            ("MinimumWindows", quoted(&self.requirements.windows)),
            ("Kmdf", quoted(self.requirements.kmdf.as_deref().unwrap_or_default())),
            ("ClassName", version("Class")),
            ("ClassGuid", version("ClassGuid")),
            ("OwnClass", boolean(inf.section("ClassInstall32").is_some())),
            ("HardwareIds", list(&ids)),
            ("Services", list(&self.services())),
            ("Provider", quoted(provider)),
            ("ProviderId", quoted(&id)),
            ("Levels", list(&self.levels())),
            ("Keywords", quoted(&format!("{:#x}", self.events.keywords))),
            (INDEX, list(names)),
        ];
        let lines = values.map(|(key, value)| format!("    {key:<14} = {value}\r\n"));
        // Windows PowerShell 5.1 reads a file without a byte order mark in the code page of the machine.
        format!("\u{feff}# Data for the scripts in this folder.\r\n@{{\r\n{}}}\r\n", lines.concat())
    }

    /// Returns `README.txt`.
    fn read_me(&self) -> String {
        let name = self.name;
        let requirements = self.requirements;
        let trust = self.trust;
        let signed = if trust.needs_test_mode() { "signed for tests" } else { "signed by Microsoft" };
        let mut devices: Vec<String> = Vec::new();
        for device in self.devices() {
            let line = format!("    {} ({})", device.description, device.ids.join(", "));
            // Different releases of Windows may have different sections for the same device.
            if !devices.contains(&line) {
                devices.push(line);
            }
        }
        let framework = requirements.kmdf.as_ref().map(|version| format!(", KMDF {version}")).unwrap_or_default();
        let mut text = format!(
            "{name}: a driver package for {arch}, {signed}\n\nVersion {version}, for {windows} \
             (build {build}) and later{framework}. Devices:\n{devices}\n\n",
            arch = self.arch.name(),
            version = self.version,
            windows = requirements.windows,
            build = requirements.build,
            devices = devices.join("\n"),
        );
        let mut file = |name: &str, what: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name:<24} {what}");
        };
        file(self.image, "the driver");
        file(&format!("{name}.inf"), "how it is installed");
        file(self.catalog, "the catalog: the signed digests of both");
        if !trust.stores().is_empty() {
            file(self.certificate, "the certificate, which the machine must trust first");
        }
        file("package.psd1", "data for the scripts");
        if self.provider.is_some() {
            file(&format!("{name}.wprp"), "records the driver's events with Windows Performance Recorder");
        }
        match self.etwctl {
            Some(Etwctl::Signed) => file(ETWCTL, "records and decodes events; for x64, signed"),
            Some(Etwctl::Unsigned) => file(ETWCTL, "records and decodes events; for x64, not signed"),
            None => {}
        }
        if let Some(provider) = self.provider {
            let levels = self.levels();
            let known = if levels.is_empty() {
                String::from("the levels of its events are not known")
            } else {
                format!("events at the levels {}, with the keywords {:#x}", levels.join(", "), self.events.keywords)
            };
            let _ = write!(text, "\nThe ETW provider is {} {{{}}}:\n{known}.\n", provider.name, provider.id);
        }
        text.push_str(if trust.stores().is_empty() { SIGNED } else { TRUST });
        text.push_str(if self.has_scripts { WITH_SCRIPTS } else { BY_HAND });
        text.push_str("\nThumbprint of the certificate: ");
        text.push_str(&self.signer.thumbprint());
        text.push('\n');
        text.replace('\n', "\r\n")
    }

    fn levels(&self) -> Vec<String> {
        self.events.levels.iter().map(ToString::to_string).collect()
    }

    fn devices(&self) -> Vec<Device> {
        self.inf.devices(self.arch)
    }

    fn services(&self) -> Vec<String> {
        let inf = self.inf;
        let mut names = Vec::new();
        for install in inf.installs(self.arch) {
            for name in inf.services(install).into_iter().filter_map(|each| each.name) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

const TRUST: &str = "
A machine that trusts the certificate trusts all code that it signs, programs as
well as drivers, in test mode or not, until the certificate is removed. Test mode
only decides whether Windows loads such a driver. Use a virtual machine that
holds nothing you need. The driver and the catalog are signed; scripts and text
files are not.
";

const SIGNED: &str = "
Windows trusts the signature as it is: no certificate is installed, and test mode
is not needed. Scripts and text files are not signed.
";

const WITH_SCRIPTS: &str = "
On the machine, in a PowerShell that runs as administrator, in this folder:

    Set-ExecutionPolicy -Scope Process Bypass
    .\\install.ps1          checks the machine, installs, starts the device
    .\\record.ps1           records the driver's events into a .etl
    .\\boot-trace.ps1       records them while Windows starts: Enable, Collect, Remove
    .\\collect.ps1          gathers logs when something went wrong
    .\\remove.ps1           removes the device only, so that the driver is unloaded
    .\\restart.ps1          restarts Windows, and checks afterwards that the device started
    .\\verifier.ps1         Driver Verifier for this driver, until Windows restarts
    .\\send.ps1             sends the requests of exercise.json, if there is one
    .\\machine.ps1          prints what the machine is, for programs
    .\\uninstall.ps1        removes everything, the certificate first

install.ps1 changes nothing if the processor, the build of Windows, KMDF, Secure
Boot or test mode is not right, and says what to do. Every script can be run
again; Get-Help .\\install.ps1 shows more.
";

const BY_HAND: &str = "
On the machine, as administrator, with Secure Boot off:

    bcdedit /set testsigning on        and restart
    certutil -addstore -f Root FILE.cer
    certutil -addstore -f TrustedPublisher FILE.cer
    pnputil /add-driver FILE.inf /install

To uninstall, first remove the certificate:

    certutil -delstore Root THUMBPRINT
    certutil -delstore TrustedPublisher THUMBPRINT
";

/// Returns the value of a directive in `[Version]`.
pub(super) fn version_entry(inf: &Inf, key: &str) -> Option<String> {
    let entry = inf.section("Version")?.first(key)?;
    // The value of DriverVer contains a comma.
    Some(inf.expand(&entry.fields.join(","))).filter(|value| !value.is_empty())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the names of the files that a `package.psd1` of ours lists.
pub(super) fn index(data_file: &str) -> Option<Vec<String>> {
    let mut lines = data_file.lines().map(|line| line.trim().strip_prefix(INDEX));
    let value = lines.find_map(|rest| rest?.trim_start().strip_prefix("= @('"))?;
    let names = value.strip_suffix("')")?.split("', '");
    Some(names.map(|name| name.replace("''", "'")).collect())
}

fn boolean(value: bool) -> String {
    String::from(if value { "$true" } else { "$false" })
}

fn list(items: &[impl AsRef<str>]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item.as_ref())).collect();
    format!("@({})", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::{index, list};

    #[test]
    fn the_list_of_files_can_be_read_back() {
        let names = ["a b.txt", "it's.sys", "package.psd1"];
        let text = format!("@{{\r\n    Name           = 'x'\r\n    Files          = {}\r\n}}\r\n", list(&names));
        assert_eq!(index(&text).unwrap(), names);
        assert_eq!(index("@{\r\n    Name = 'x'\r\n}\r\n"), None);
    }
}
