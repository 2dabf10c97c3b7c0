//! What a package says about itself: to its scripts, and to people.
//!
//! Both files are for Windows: plain ASCII wherever the INF is, and its line ends.

use etw_types::Guid;
use windows_releases::Release;

use super::Request;
use super::setup::Setup;
use crate::inf::{Arch, Device};
use crate::pe::Image;

/// What is known about the finished package.
pub(super) struct Facts<'a> {
    pub(super) request: &'a Request,
    pub(super) image: &'a Image,
    pub(super) setup: &'a Setup,
    pub(super) arch: Arch,
    pub(super) thumbprint: String,
}

impl Facts<'_> {
    /// `package.psd1`, which the scripts read, so that they need no changes for another driver.
    pub(super) fn data_file(&self) -> String {
        let inf = &self.setup.inf;
        let version = |key: &str| {
            let entry = inf.section("Version").and_then(|section| section.first(key));
            quoted(&entry.and_then(|entry| entry.field(0)).map(|value| inf.expand(value)).unwrap_or_default())
        };
        let ids: Vec<String> = self.devices().into_iter().flat_map(|device| device.ids).collect();
        let provider = self.request.provider.as_deref().unwrap_or_default();
        let id = if provider.is_empty() { String::new() } else { Guid::from_name(provider).to_string() };
        let values = [
            ("Name", quoted(&self.request.name())),
            ("Arch", quoted(self.arch.name())),
            ("Inf", quoted(&self.request.named("inf"))),
            ("Catalog", quoted(&self.request.named("cat"))),
            ("Image", quoted(&self.request.image_name())),
            ("Certificate", quoted(&format!("{}.cer", self.request.certificate))),
            ("Thumbprint", quoted(&self.thumbprint)),
            ("DriverVer", quoted(&self.setup.version.to_string())),
            ("ClassName", version("Class")),
            ("ClassGuid", version("ClassGuid")),
            ("OwnClass", if inf.section("ClassInstall32").is_some() { "$true" } else { "$false" }.into()),
            ("HardwareIds", list(&ids)),
            ("Services", list(&self.services())),
            ("Provider", quoted(provider)),
            ("ProviderId", quoted(&id)),
            ("MinimumBuild", self.minimum_build().to_string()),
            ("MinimumWindows", quoted(&self.minimum_windows())),
            ("Kmdf", quoted(&self.minimum_framework())),
        ];
        let lines = values.map(|(key, value)| format!("    {key:<11} = {value}\r\n"));
        format!("# What the scripts beside this file work on.\r\n@{{\r\n{}}}\r\n", lines.concat())
    }

    /// `README.txt`
    pub(super) fn read_me(&self) -> String {
        let (request, arch) = (self.request, self.arch.name());
        let devices: Vec<String> =
            self.devices().iter().map(|d| format!("    {} ({})", d.description, d.ids.join(", "))).collect();
        let mut text = format!(
            "{name}: a driver package for {arch}, signed for tests\n\
             \n\
             Version {version}, for {windows} (build {build}) and later. Devices:\n{devices}\n\
             \n\
             {image:<24} the driver\n\
             {inf:<24} how it is installed\n\
             {cat:<24} the digests of both, signed\n\
             {cer:<24} the certificate of both signatures, to be trusted first\n\
             {psd:<24} what the scripts read\n\
             \n\
             The certificate is trusted by machines that were told to, and only while they\n\
             are in test mode. Use a virtual machine that holds nothing you need.\n",
            name = request.name(),
            version = self.setup.version,
            windows = self.minimum_windows(),
            build = self.minimum_build(),
            devices = devices.join("\n"),
            image = request.image_name(),
            inf = request.named("inf"),
            cat = request.named("cat"),
            cer = format!("{}.cer", request.certificate),
            psd = "package.psd1",
        );
        text.push_str(if request.scripts.is_some() { WITH_SCRIPTS } else { BY_HAND });
        text.push_str("\nThumbprint of the certificate: ");
        text.push_str(&self.thumbprint);
        text.push('\n');
        text.replace('\n', "\r\n")
    }

    /// The lowest build of Windows that installs the package and loads the driver.
    fn minimum_build(&self) -> u32 {
        self.image.oldest_release().map_or(0, Release::build).max(self.setup.lowest_build)
    }

    /// The first release with that build.
    fn minimum_windows(&self) -> String {
        let build = self.minimum_build();
        Release::first_with_build(build).map_or_else(|| format!("build {build}"), |release| release.title().to_owned())
    }

    /// The oldest framework that binds the driver, like `1.25`; empty for a driver without the framework.
    fn minimum_framework(&self) -> String {
        let version = |client: windows_releases::Client| format!("{}.{}", client.major, client.oldest_framework());
        self.image.framework.map(version).unwrap_or_default()
    }

    fn devices(&self) -> Vec<Device> {
        self.setup.inf.devices(self.arch)
    }

    fn services(&self) -> Vec<String> {
        let inf = &self.setup.inf;
        let mut names = Vec::new();
        for device in self.devices() {
            let install = inf.install_section(&device.install, self.arch);
            for name in install.into_iter().flat_map(|install| inf.services(install)).filter_map(|each| each.name) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

const WITH_SCRIPTS: &str = "
On the machine, in a PowerShell that runs as administrator, in this folder:

    Set-ExecutionPolicy -Scope Process Bypass
    .\\install.ps1          checks the machine, installs, starts the device
    .\\record.ps1           records the driver's events into a .etl
    .\\collect.ps1          gathers logs when something went wrong
    .\\uninstall.ps1        takes everything back

install.ps1 says what to do first where Secure Boot or test signing is in the
way. Every script can be run again; Get-Help .\\install.ps1 tells more.
";

const BY_HAND: &str = "
On the machine, as administrator, with Secure Boot off:

    bcdedit /set testsigning on        and restart
    certutil -addstore -f Root FILE.cer
    certutil -addstore -f TrustedPublisher FILE.cer
    pnputil /add-driver FILE.inf /install
";

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("@({})", items.join(", "))
}
