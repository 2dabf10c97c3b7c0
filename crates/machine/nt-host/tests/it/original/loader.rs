//! Microsoft's own loader, `WDFLDR.SYS` of version 1.9, in place of nt-host's. The tests run if it is in the folder of the framework.

use std::fs;
use std::path::PathBuf;

use etw_types::NtStatus;
use nt_host::{Error, NtHost};

use super::{file_in, original, same_with_the_driver_for_1_9};
use crate::common;
use crate::common::c::{build_for_1_9, temporary};

/// Returns a folder with both files, or says that the test is skipped.
fn with_loader() -> Option<PathBuf> {
    let framework = original()?;
    let loader = framework.parent().and_then(|folder| file_in(folder, "wdfldr.sys"));
    let Some(loader) = loader else {
        eprintln!("skipped: Microsoft's WdfLdr.sys of version 1.9 is not beside {}", framework.display());
        return None;
    };
    let folder = temporary(&format!("loader-{:?}", std::thread::current().id()));
    fs::copy(framework, folder.join("Wdf01000.sys")).expect("a copy");
    fs::copy(loader, folder.join("WdfLdr.sys")).expect("a copy");
    Some(folder)
}

#[test]
fn a_driver_that_microsofts_loader_binds_behaves_as_on_the_imitation() {
    let Some(folder) = with_loader() else { return };
    same_with_the_driver_for_1_9(&folder);
}

/// Both images are clean, and are loaded again in the same machine.
#[test]
fn microsofts_loader_is_loaded_and_unloaded_with_the_driver() {
    let Some(folder) = with_loader() else { return };
    let host = NtHost::builder().driver(build_for_1_9("kmdf_idle", 0)).framework(folder).start().expect("DriverEntry");
    for _ in 0..2 {
        host.add_device().expect("a device").remove().expect("removal");
        let report = host.unload().expect("unload");
        report.assert_clean();
        assert!(report.other_findings().is_empty(), "{report:#?}");
        host.load().expect("DriverEntry");
    }
    host.unload().expect("unload").assert_clean();
}

#[test]
fn microsofts_loader_refuses_a_driver_for_a_newer_framework_with_the_sentence_of_windows() {
    let Some(folder) = with_loader() else { return };
    match NtHost::builder().driver(common::built("driver_sample.sys")).framework(folder).start() {
        Err(Error::NotLoaded(status, reason)) => {
            assert_eq!(status, NtStatus::ObjectTypeMismatch);
            let expected =
                "the driver was built for KMDF 1.33 and needs KMDF 1.25 or later, Wdf01000.sys has KMDF 1.9; ";
            assert!(reason.starts_with(expected), "{reason}");
        }
        other => panic!("{other:?}"),
    }
}
