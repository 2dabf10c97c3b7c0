//! What a package of the sample driver says about its providers and events.

use std::fs;
use std::process::Command;

use crate::common::tools;
use crate::common::verifiers::root;

/// The data file of a package of the sample, or `None` if the sample is not built.
fn data_file(name: &str, options: &[&str]) -> Option<String> {
    let image = root().join("target/driver/x64/driver_sample.sys");
    if !image.is_file() {
        eprintln!("skipped: the sample is not built; `cargo xtask build` does that");
        return None;
    }
    let folder = tools::folder(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_driver-package"));
    command.args(["package", "--image"]).arg(image).arg("--inx").arg(root().join("driver-sample/driver_sample.inx"));
    command.arg("--out").arg(folder.join("out")).arg("--keys").arg(folder.join("keys")).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(fs::read_to_string(folder.join("out/package.psd1")).unwrap())
}

/// The levels and keywords are those in the sources of the sample.
#[test]
fn the_levels_and_keywords_of_the_sample_are_found_in_its_image() {
    let Some(data) = data_file("events-sample", &[]) else { return };
    for line in [
        "Provider       = 'WdkEtw.DriverSample'",
        "Levels         = @('3', '4', '5')",
        "Keywords       = '0xf'",
        "HardwareIds    = @('Root\\WdkEtwDriverSample')",
    ] {
        assert!(data.contains(&format!("{line}\r\n")), "{line} in {data}");
    }
}

/// The manifest of the sample names another provider, whose id is not derived from its name.
#[test]
fn the_id_of_a_manifests_provider_is_that_of_the_manifest() {
    let Some(data) = data_file("events-manifest", &["--provider", "WdkEtw-DriverSample-Admin"]) else { return };
    assert!(data.contains("ProviderId     = '6b8f0f5e-6a0d-4f57-8b0c-9d4c2d1f7a31'\r\n"), "{data}");
}
