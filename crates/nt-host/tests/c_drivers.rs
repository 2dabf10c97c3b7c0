//! Drivers in C, compiled by clang against the kit's headers and linked with its libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use etw_types::NtStatus;
use nt_host::{NtHost, Report, Rule};

fn run(tool: &str, arguments: &[String]) {
    let output = match Command::new(tool).args(arguments).output() {
        Ok(output) => output,
        Err(error) => panic!("{tool}: {error}; `cargo xtask test` sets it up"),
    };
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
}

/// What a driver of the framework is linked with.
const FRAMEWORK: [&str; 4] = ["ntoskrnl", "WdfLdr", "WdfDriverEntry", "BufferOverflowFastFailK"];

/// Compiles and links one of the C drivers.
fn build(name: &str, bug: u32, entry: &str, libraries: &[&str]) -> PathBuf {
    let kit = wdk_kit::kit::root();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (object, image) = (folder.join(format!("{name}_{bug}.obj")), folder.join(format!("c_{name}_{bug}.sys")));
    let versioned = format!("10.0.{}.0", wdk_kit::detect_wdk_build_number().expect("a version"));
    let include = |part: &str| format!("-I{}", kit.join("Include").join(part).display());
    let mut compile: Vec<String> =
        ["--target=x86_64-pc-windows-msvc", "-c", "-O0", "-g", "-gcodeview", "-ffreestanding"]
            .map(String::from)
            .to_vec();
    compile.extend(["-fms-extensions", "-fno-stack-protector", "-mno-red-zone", "-Wall", "-Werror"].map(String::from));
    compile.extend(["-Wno-multichar", "-DKMDF_VERSION_MAJOR=1", "-DKMDF_VERSION_MINOR=33"].map(String::from));
    compile.extend(
        [format!("{versioned}/km"), format!("{versioned}/shared"), "wdf/kmdf/1.33".into()].map(|part| include(&part)),
    );
    compile.push(format!("-DBUG={bug}"));
    compile.push(here.join("drivers/c").join(format!("{name}.c")).display().to_string());
    compile.extend(["-o".into(), object.display().to_string()]);
    run("clang", &compile);
    let mut link: Vec<String> =
        ["/driver", "/subsystem:native", "/nodefaultlib", "/debug", "/dynamicbase"].map(String::from).to_vec();
    link.push(format!("/entry:{entry}"));
    link.push(format!("/out:{}", image.display()));
    link.push(object.display().to_string());
    let folders = [kit.join("Lib").join(&versioned).join("km/x64"), kit.join("Lib/wdf/kmdf/x64/1.33")];
    link.extend(folders.iter().map(|folder| format!("/libpath:{}", folder.display())));
    link.extend(libraries.iter().map(|library| format!("{library}.lib")));
    run("lld-link", &link);
    image
}

#[test]
fn a_wdm_driver_in_c_runs_and_is_clean() {
    let image = build("wdm", 0, "DriverEntry", &["ntoskrnl"]);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("its device");
    let answer = device.ioctl(0x0022_2000, b"Hello, kernel", 64).expect("an answer");
    assert_eq!((answer.status, answer.output.as_slice()), (NtStatus::Success, b"HELLO, KERNEL".as_slice()));
    assert_eq!(device.ioctl(0x0022_2000, b"long", 2).expect("an answer").status, NtStatus::BufferTooSmall);
    assert_eq!(device.ioctl(0x0022_2004, b"", 0).expect("an answer").status, NtStatus::InvalidDeviceRequest);
    let report = host.unload().expect("unload");
    report.assert_clean();
    let expected = "c: \\Registry\\Machine\\System\\CurrentControlSet\\Services\\c_wdm_0 at irql 0, 123456789abcdef\n\
                    c: 1 requests, bye\n";
    assert_eq!(report.output(), expected);
}

#[test]
fn a_kmdf_driver_in_c_runs_and_is_clean() {
    let image = build("kmdf", 0, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    let answer = device.ioctl(0x0022_2000, &[1, 2, 3], 4).expect("an answer");
    assert_eq!((answer.status, answer.output), (NtStatus::Success, 6_u32.to_le_bytes().to_vec()));
    assert_eq!(device.ioctl(0x0022_2000, &[], 4).expect("an answer").status, NtStatus::BufferTooSmall);
    device.remove().expect("removal");
    let report = host.unload().expect("unload");
    report.assert_clean();
    assert_eq!(report.output(), "c: device gone after 2 requests\n");
}

/// Runs a framework's driver with one of its mistakes, or with none.
fn broken(bug: u32) -> Report {
    let image = build("kmdf_broken", bug, "FxDriverEntry", &FRAMEWORK);
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.ioctl(0x0022_2000, &[], 0).expect("an answer");
    host.unload().expect("unload")
}

/// The line that is marked for a mistake.
fn marked(bug: u32) -> Option<u32> {
    let source = include_str!("../drivers/c/kmdf_broken.c");
    let mark = format!("/* mark {bug} */");
    (1..).zip(source.lines()).find(|(_, line)| line.contains(&mark)).map(|(number, _)| number)
}

#[test]
fn mistakes_with_the_framework_are_caught_at_their_lines() {
    broken(0).assert_clean();
    for (bug, rule, routine, line) in [
        (1, Rule::RequestTwice, Some("WdfRequestComplete"), 1),
        (2, Rule::RequestNever, Some("EvtIo callback"), 2),
        (3, Rule::ObjectLeak, None, 3),
        (4, Rule::IrqlTooHigh, Some("WdfWaitLockAcquire"), 4),
        (5, Rule::RequestMisuse, Some("WdfRequestComplete"), 1),
    ] {
        let report = broken(bug);
        let found = report.of(rule).find(|finding| {
            let place = finding.place.as_ref();
            finding.routine.as_deref() == routine && place.is_some_and(|place| place.line == marked(line))
        });
        assert!(found.is_some(), "{bug}: {:#?}", report.findings());
    }
}
