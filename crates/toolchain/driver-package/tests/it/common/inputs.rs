//! Inputs of a package: an image, an `.inx` that violates no rule, and an identity.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use driver_package::catalog::Version;
use driver_package::inf::Arch;
use driver_package::package::{Request, Scripts};
use driver_package::sign::Identity;

use super::Driver;

/// A time in 2023, when the test certificate is valid.
pub(crate) const TIME: Duration = Duration::from_secs(1_700_000_000);

/// Violates no rule. Tests depend on the line numbers.
pub(crate) const INX: &str = "\
[Version]
Signature   = \"$Windows NT$\"
Class       = Example
ClassGuid   = {0a1b2c3d-0000-4000-8000-00000000abcd}
Provider    = %Maker%
CatalogFile = other.cat
DriverVer   =
PnpLockdown = 1

[DestinationDirs]
DefaultDestDir = 13

[SourceDisksNames]
1 = %Disk%

[SourceDisksFiles]
driver.sys = 1

[Manufacturer]
%Maker% = Models,NT$ARCH$.10.0...16299

[Models.NT$ARCH$.10.0...16299]
%Device% = Install,Root\\Example,Root\\Other

[Install.NT]
CopyFiles = Files
AddReg    = Registry

[Files]
driver.sys

[Registry]
HKR,,Speed,0x00010001,3

[Install.NT.Services]
AddService = driver,0x00000002,Service

[Service]
ServiceType   = 1
StartType     = 3
ErrorControl  = 1
ServiceBinary = %13%\\driver.sys

[Install.NT.Wdf]
KmdfService = driver,Framework

[Framework]
KmdfLibraryVersion = $KMDFVERSION$

[Strings]
Maker  = \"Somebody\"
Disk   = \"A disk\"
Device = \"A device\"
";

pub(crate) fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

pub(crate) fn signer() -> Identity {
    Identity::load(&data("signer.pem"), TIME).unwrap()
}

/// Returns an unsigned image.
pub(crate) fn image(arch: Arch) -> Driver {
    Driver { machine: arch.machine(), signed: false, ..Driver::default() }
}

/// Writes the inputs into a folder.
pub(crate) fn request(folder: &Path, image: &[u8], inx: &[u8]) -> Request {
    fs::write(folder.join("driver.dll"), image).unwrap();
    fs::write(folder.join("driver.inx"), inx).unwrap();
    Request {
        image: folder.join("driver.dll"),
        inx: folder.join("driver.inx"),
        arch: None,
        kmdf: Some("1.33".into()),
        catalog: Version::V2,
        is_sample: false,
        scripts: Scripts::None,
        provider: None,
        etwctl: None,
        certificate: "signer".into(),
        time: TIME,
    }
}

/// Returns the default request for an architecture.
pub(crate) fn usual(folder: &Path, arch: Arch) -> Request {
    request(folder, &image(arch).build(), INX.as_bytes())
}

/// Returns the sorted names in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}
