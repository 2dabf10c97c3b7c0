//! Every release of Windows: which images it loads, which KMDF versions it binds, and why it refuses the others.
//!
//! `windows_releases::load_rules` reads the same images without running them. Both must agree.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common;
use crate::common::c;
use etw_types::NtStatus;
use nt_host::{Error, NtHost, Os, Rule, event};
use pe_image::Image;
use windows_releases::load_rules::{Target, Verdict, oldest_release};

/// Loads an image on a release. Returns an error if the release refuses it.
fn load(path: &Path, os: Os) -> Result<NtHost, Error> {
    NtHost::builder().driver(path).os(os).trace_all().start()
}

/// Loads an image on every release. `first` is the oldest release that loads it, or `None` if none does.
fn check(path: &Path, first: Option<Os>, mut loaded: impl FnMut(Os, &NtHost)) {
    let image = Image::parse(&fs::read(path).expect("the image")).expect("an image");
    assert_eq!(oldest_release(&image), first, "{}", path.display());
    for os in Os::ALL {
        let expected = first.is_some_and(|first| first <= os);
        // The host does not check rules about the file, such as its signature.
        let files = ["checksum", "signature", "signature-place"];
        let verdict = Verdict::judge(&image, Target { release: os });
        let refusal = verdict.refusals().find(|refusal| !files.contains(&refusal.rule.id));
        assert_eq!(refusal.is_none(), expected, "{os}: {refusal:?}");
        match load(path, os) {
            Ok(host) => {
                assert!(expected, "{os} loaded it");
                loaded(os, &host);
                host.unload().expect("unload").assert_clean();
            }
            Err(Error::NotLoaded(_, reason)) => {
                assert_eq!(refusal.map(|refusal| &refusal.found), Some(&reason), "{os}");
            }
            Err(error) => panic!("{os}: {error}"),
        }
    }
}

#[test]
fn the_sample_loads_from_windows_10_1803_on() {
    check(&common::built("driver_sample.sys"), Some(Os::Win10_1803), |os, host| {
        let device = host.add_device().expect("a device");
        let reply = device.ioctl(0x0022_600C, &[], 64).expect("a reply");
        assert_eq!(reply.status, NtStatus::Success, "{os}");
        assert_eq!(reply.output.as_slice(), [0; 24].as_slice(), "{os}");
        host.trace().expect(event("DriverEntry").field("SetTraits", 0).field("Status", 0)).in_order();
    });
}

/// The path of a copy of the sample with another major version, minor version, build or function count in its bind
/// information.
fn patched(name: &str, change: impl FnOnce(&mut [u32; 4])) -> PathBuf {
    let mut file = fs::read(common::built("driver_sample.sys")).expect("the sample");
    let bytes = |values: [u32; 4]| values.map(u32::to_le_bytes).concat();
    let mut values = [1, 33, 0, 458];
    let place = file.windows(16).position(|window| window == bytes(values)).expect("the bind information");
    change(&mut values);
    file[place..place + 16].copy_from_slice(&bytes(values));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("sample_{name}.sys"));
    fs::write(&path, file).expect("a copy");
    path
}

#[test]
fn a_function_count_that_was_never_released_is_rejected_everywhere() {
    for count in [0, 457, 459] {
        let path = patched(&format!("count_{count}"), |values| values[3] = count);
        check(&path, None, |_, _| ());
    }
    let status = match load(&patched("count", |values| values[3] = 457), Os::NEWEST) {
        Err(Error::NotLoaded(status, reason)) => {
            assert!(reason.contains("with 457 functions"), "{reason}");
            status
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(status, NtStatus::InvalidParameter);
}

#[test]
fn a_framework_that_does_not_exist_yet_is_not_bound() {
    let path = patched("future", |values| values[1..].copy_from_slice(&[35, 0, 470]));
    // Its minimum is 1.25, so today's frameworks bind it, with the functions that they have.
    check(&path, Some(Os::Win10_1803), |_, _| ());
    check(&patched("major", |values| values[0] = 2), None, |_, _| ());
}

/// A driver that uses the bind information of drivers built before KMDF 1.25.
fn old(minor: u32, count: u32) -> PathBuf {
    bound(minor, count, 0)
}

fn bound(minor: u32, count: u32, bug: u32) -> PathBuf {
    let flags = ["-O0".to_owned(), format!("-DMINOR={minor}"), format!("-DCOUNT={count}")];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    c::build_with(&flags, "kmdf_bind", bug, "DriverEntry", &["ntoskrnl", "WdfLdr"])
}

#[test]
fn older_drivers_get_their_functions_in_their_own_table() {
    for (minor, count, first) in [(1, 386, Os::Win7), (9, 396, Os::Win7), (11, 432, Os::Win8), (13, 438, Os::Win81)] {
        check(&old(minor, count), Some(first), |os, host| {
            let lines = ["copied 1, behind 0000000000000000", "create 00000000", "queue 00000000"];
            assert_eq!(host.report().output().lines().collect::<Vec<_>>(), lines, "1.{minor} on {os}");
        });
    }
}

/// `WdfTimerCreate` in Microsoft's core/fxtimerapi.cpp compares the size with those of its own version and of older
/// ones.
#[test]
fn a_framework_knows_the_structures_of_its_own_version_and_of_older_ones() {
    for (os, newest) in [(Os::Win7, "c0000004"), (Os::Win81, "00000000")] {
        let host = NtHost::builder().driver(bound(9, 396, 2)).os(os).start().expect("DriverEntry");
        let output = host.report().output().to_owned();
        let timers: Vec<&str> = output.lines().filter(|line| line.starts_with("timer")).collect();
        assert_eq!(timers, ["timer 24: 00000000", "timer 32: 00000000", &format!("timer 40: {newest}")], "{os}");
        let found: Vec<String> = host.report().findings().iter().map(|found| found.detail.clone()).collect();
        let what = "WDF_TIMER_CONFIG has the size 40, which KMDF 1.9 does not know";
        assert_eq!(found, if os == Os::Win7 { vec![what] } else { Vec::new() }, "{os}");
    }
}

/// The driver handles IRPs itself, as WDM drivers do.
#[test]
fn a_driver_that_binds_the_framework_and_makes_no_driver_object_is_used_as_one_without() {
    for (minor, count) in [(11, 432), (33, 458)] {
        let host = NtHost::builder().driver(bound(minor, count, 1)).start().expect("DriverEntry");
        let device = host.add_device().expect("the device that it made");
        assert!(device.ioctl(0x0022_2000, &[], 0).expect("a reply").status.is_success());
        let file = host.open(r"\Device\Bound").expect("the same by its name");
        assert!(file.read(4).expect("a reply").status.is_success());
        file.close().expect("closed");
        device.remove().expect("removal");
        host.unload().expect("unload").assert_clean();
        let packets = ["0", "e", "12", "2", "0", "3", "12", "2"].map(|major| format!("packet {major}"));
        assert_eq!(host.report().output().lines().collect::<Vec<_>>(), packets);
    }
}

#[test]
fn later_drivers_get_a_pointer_to_the_frameworks_table() {
    for (minor, count, first) in [
        (15, 444, Os::Win10_1507),
        (17, 444, Os::Win10_1511),
        (23, 451, Os::Win10_1709),
        (31, 458, Os::Win10_2004),
        (33, 458, Os::Server2022),
    ] {
        check(&old(minor, count), Some(first), |os, host| {
            assert_eq!(host.report().output(), "create 00000000\nqueue 00000000\n", "1.{minor} on {os}");
        });
    }
}

/// A driver for KMDF 1.33 with the minimum version 1.`minimum`.
fn newer(minimum: u32, bug: u32) -> PathBuf {
    let flags = ["-O0".to_owned(), format!("-DKMDF_MINIMUM_VERSION_REQUIRED={minimum}")];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    c::build_with(&flags, "kmdf_newer", bug, "FxDriverEntry", &c::FRAMEWORK)
}

#[test]
fn a_driver_learns_what_an_older_framework_has() {
    for (minimum, first) in [(25, Os::Win10_1803), (29, Os::Win10_1903), (31, Os::Win10_2004), (33, Os::Server2022)] {
        check(&newer(minimum, 0), Some(first), |os, host| {
            let kmdf = os.kmdf();
            let is_newer = u32::from(kmdf.minor < 33);
            let functions = kmdf.functions;
            // WDF_DEVICE_STATE grew in KMDF 1.31, which also has one more structure.
            let (structures, state) = if kmdf.minor < 31 { (80, 28) } else { (81, 32) };
            let line = format!(
                "minimum {minimum}, newer {is_newer}, functions {functions}, structures {structures}, device state {state}\n"
            );
            assert_eq!(host.report().output(), line, "{os}");
        });
    }
}

#[test]
fn a_function_that_the_framework_lacks_is_a_finding_with_its_name() {
    let host = NtHost::builder().driver(newer(25, 1)).os(Os::Win10_1903).prepare().expect("a driver");
    assert!(matches!(host.load(), Err(Error::Stopped(_))));
    let report = host.report();
    let finding = report.findings_of(Rule::FrameworkMisuse).next().expect("a finding");
    assert!(finding.detail.contains("is not in KMDF 1.29 of win10-1903"), "{finding}");
}

#[test]
fn an_import_that_a_release_lacks_is_named_with_the_first_that_has_it() {
    // This driver imports ExAllocatePool2.
    let path = common::clean("pool_leak");
    check(&path, Some(Os::Win10_2004), |_, _| ());
    let Err(Error::NotLoaded(status, reason)) = load(&path, Os::Win10_1909) else { panic!("it was loaded") };
    assert_eq!(status.as_int(), 0xC000_0263);
    let expected = "win10-1909 has no ExAllocatePool2; the first release that has it is win10-2004 (Windows 10 2004, \
                    build 19041)";
    assert_eq!(reason, expected);
}

/// A WDM driver that does not import `EtwSetInformation` loads on every release. It looks the routine up and calls it
/// if the release has it.
#[test]
fn a_plain_driver_that_looks_set_information_up_loads_everywhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).expect("the repository");
    let folder = test_support::images::build_all(&folder.join("crates/dev/test-support/images"), "images", true);
    let path = folder.expect("images").join("lookup.exe");
    check(&path, Some(Os::Win7), |os, host| {
        let calls = host.fallible_calls().expect("calls");
        let has_it = calls.iter().any(|(name, _)| name == "EtwSetInformation");
        assert_eq!(has_it, os >= Os::Win10_1507, "{os}: {calls:?}");
        host.trace().expect(event("Seed")).in_order();
    });
}
