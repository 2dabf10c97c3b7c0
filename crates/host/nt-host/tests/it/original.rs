//! The project's KMDF drivers on Microsoft's own framework, version 1.9. The tests run if the environment variable
//! `WDK_ETW_FRAMEWORK` names the folder with its `Wdf01000.sys`.

use std::path::PathBuf;

use crate::common::c::build_for_1_9;
use nt_host::{Builder, NtHost};

/// Returns the folder with Microsoft's framework, or says that the test is skipped.
fn original() -> Option<PathBuf> {
    let folder = std::env::var_os("WDK_ETW_FRAMEWORK").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("skipped: WDK_ETW_FRAMEWORK does not name a folder with Microsoft's Wdf01000.sys of version 1.9");
    }
    folder
}

fn on(framework: Option<&PathBuf>, name: &str) -> Builder {
    let builder = NtHost::builder().driver(build_for_1_9(name, 0));
    framework.into_iter().fold(builder, Builder::framework)
}

#[test]
fn the_life_of_a_device_is_the_same_on_the_model_and_on_the_original() {
    let Some(framework) = original() else { return };
    let lives = [None, Some(&framework)].map(|framework| {
        let host = on(framework, "kmdf_life").start().expect("DriverEntry");
        let device = host.add_device().expect("a device");
        device.remove().expect("removal");
        let report = host.unload().expect("unload");
        report.assert_clean();
        report.output().to_owned()
    });
    let [model, original] = lives;
    assert_eq!(model, original);
}
