//! Microsoft's own framework of version 1.9, with drivers that are built for it. What needs the framework runs if the environment
//! variable `WDK_ETW_FRAMEWORK` names the folder with its `Wdf01000.sys`, or if `cargo driver framework` keeps it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use nt_host::{Device, NtHost};

use crate::microsoft::original;
use crate::{repository, run};

/// The driver's test, which the framework that is chosen must pass.
const TEST: &str = r#"
use nt_host::NtHost;

#[test]
fn what_is_written_is_read() {
    let image = std::env::var_os("DRIVER_IMAGE").expect("an image");
    let host = NtHost::builder().driver(image).start().expect("DriverEntry");
    let device = host.add_device().expect("a device");
    device.write(b"hello").expect("a reply");
    assert_eq!(device.read(5).expect("a reply").output, b"hello");
    device.remove().expect("removal");
    host.unload().expect("unload").assert_clean();
}
"#;

/// Replaces text of a file, which must have it.
fn edit(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(old), "{}: {text}", file.display());
    fs::write(file, text.replace(old, new)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.file_name() != "target") {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn a_driver_and_its_tests_run_on_the_framework_that_is_chosen() {
    let Some(file) = original() else { return };
    let repository = repository();
    let folder = std::env::temp_dir().join(format!("cargo-driver-original-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    let workspace = folder.join("kmdf");
    let driver = folder.join("kmdf/echo");
    copy(&repository.join("crates/toolchain/wdk-kit/tests/drivers/kmdf"), &workspace);
    edit(&workspace.join("Cargo.toml"), r#"["echo", "lacking", "subsystems", "timer"]"#, r#"["echo"]"#);
    edit(&workspace.join("Cargo.toml"), r#"["echo", "subsystems", "timer"]"#, r#"["echo"]"#);
    let command = |arguments: &[&str], framework: Option<&str>| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_cargo-driver"));
        program.arg("driver").args(arguments).current_dir(&driver).env_remove("NT_HOST_FRAMEWORK");
        // The copy of the framework is in a cache of the test, and the compiled crates in that of the repository.
        program.env("XDG_CACHE_HOME", folder.join("cache"));
        program.env("CARGO_DRIVER_CACHE", repository.join("target/driver"));
        program.envs(framework.map(|framework| ("NT_HOST_FRAMEWORK", framework)));
        let output = program.output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.success(), printed)
    };
    let ends = |arguments: &[&str], framework: Option<&str>, success: bool, text: &str| {
        let (succeeded, printed) = command(arguments, framework);
        assert!(succeeded == success, "{arguments:?}, {framework:?}: {printed}");
        assert!(printed.contains(text), "{arguments:?}, {framework:?}: {printed}");
    };
    ends(&["framework", "add", file.to_str().unwrap()], None, true, "KMDF 1.9");
    ends(&["init", "--wdk-etw", repository.to_str().unwrap()], None, true, "host-tests");
    fs::write(driver.join("host-tests/tests/driver.rs"), TEST).unwrap();

    // As it is, the driver needs a newer framework.
    let run = ["run", "--", "--write", "68656c6c6f", "--read", "5"];
    let run_on_1_9 = ["run", "--framework", "1.9", "--", "--write", "68656c6c6f", "--read", "5"];
    ends(&run_on_1_9, None, false, "1.33");
    edit(&workspace.join("Cargo.toml"), "target-kmdf-version-minor = 33", "target-kmdf-version-minor = 9");
    ends(&run_on_1_9, None, true, "no findings");
    ends(&["test", "--framework", "1.9"], None, true, "1 passed");

    // The environment and the settings choose the framework, too: one that does not exist shows that they are read.
    let there_is_none = "there is no framework 1.8: known: 1.9";
    for (framework, success, text) in [("1.8", false, there_is_none), ("1.9", true, "no findings")] {
        ends(&run, Some(framework), success, text);
    }
    for (framework, success, text) in [("1.8", false, there_is_none), ("1.9", true, "1 passed")] {
        ends(&["test"], Some(framework), success, text);
    }
    let manifest = driver.join("Cargo.toml");
    edit(&manifest, "[lib]", "[package.metadata.driver]\nframework = \"1.8\"\n\n[lib]");
    ends(&run, None, false, there_is_none);
    ends(&["test"], None, false, there_is_none);
    edit(&manifest, "framework = \"1.8\"", "framework = \"1.9\"");
    ends(&run, None, true, "no findings");
    ends(&["test"], None, true, "1 passed");
    // An empty variable means the imitation.
    ends(&["test"], Some(""), true, "1 passed");
    fs::remove_dir_all(&folder).unwrap();
}

/// The sample needs nothing that KMDF 1.9 does not have. On the original and on the imitation, its callbacks and events are the same,
/// in the same order, through its whole life with nine control requests.
#[test]
fn the_sample_is_built_for_1_9_and_writes_the_same_events() {
    let folder = std::env::temp_dir().join(format!("cargo-driver-sample-1-9-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    copy(&repository().join("driver-sample"), &folder);
    let manifest = folder.join("Cargo.toml");
    edit(&manifest, "\"../crates/", &format!("\"{}/crates/", repository().display()));
    edit(&manifest, "target-kmdf-version-minor = 33", "target-kmdf-version-minor = 9");
    edit(&manifest, "minimum-kmdf-version-minor = 25", "");
    edit(&manifest, "driver/wdk-kmdf\"", "driver/wdk-kmdf\", default-features = false");
    run(Command::new(env!("CARGO_BIN_EXE_cargo-driver"))
        .args(["driver", "build"])
        .current_dir(&folder)
        .env("CARGO_DRIVER_CACHE", repository().join("target/driver")));
    let image = folder.join("target/driver/x64/driver_sample.sys");
    assert!(image.is_file());
    if let Some(framework) = original() {
        let found = NtHost::builder().driver(image).compare(framework, |host| {
            host.load()?;
            let device = host.add_device()?;
            let mut results = requests(&device)?;
            host.advance(Duration::from_millis(2500))?;
            device.remove()?;
            host.unload()?;
            // As results, the events are compared in the order of the whole trace, and not only in that of each thread.
            let mut decoder = host.decoder();
            let events = host.trace().events()?;
            assert!(events.len() > 20, "{} events", events.len());
            results.extend(events.iter().map(|event| decoder.decode(&event.as_ref()).to_string()));
            Ok(results)
        });
        assert_eq!(found.unwrap(), []);
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Sends the requests that the sample serves, and one that it refuses.
fn requests(device: &Device) -> Result<Vec<String>, nt_host::Error> {
    let echo = 0x22_E000;
    let statistics = 0x22_6004;
    let interval = 0x22_A008;
    let statuses = 0x22_600C;
    let unknown = 0x22_E03C;
    let requests: [(u32, &[u8]); 9] = [
        (statuses, b""),
        (interval, &[100, 0, 0, 0]),
        (echo, b"hello"),
        (echo, b"events"),
        (statistics, b""),
        (echo, &[0x5A; 64]),
        (statistics, b"more"),
        (interval, &[0; 4]),
        (unknown, b""),
    ];
    let reply = |(code, input): (u32, &[u8])| {
        device.ioctl(code, input, 64).map(|reply| format!("{code:#X}: {} {:?}", reply.status, reply.output))
    };
    requests.into_iter().map(reply).collect()
}
