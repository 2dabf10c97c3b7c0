//! No output replaces what a command reads.

use std::fs;
use std::path::Path;
use std::process::Output;

use super::{folder, printed, program};

fn run_in(place: &Path, line: &str) -> Output {
    program().args(line.split(' ')).current_dir(place).output().unwrap()
}

const MANIFEST: &str = r#"
[package]
name = "driver"
version = "0.1.0"

[package.metadata.exercise]
device = '\\.\Driver'
requests = ["22E000::8"]
"#;

#[test]
fn a_deployment_keeps_the_package_and_the_client_that_it_was_given() {
    let place = folder("outputs-deploy");
    let files = [
        ("Cargo.toml", MANIFEST),
        ("client.exe", "a program"),
        ("out/package/package.psd1", "@{}"),
        ("out/package/driver.sys", "an image"),
        ("out/package/own.exe", "a program"),
        ("given/package.psd1", "@{}"),
        ("given/deep/out/package/client.exe", "a program"),
    ];
    for (name, text) in files {
        fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
        fs::write(place.join(name), text).unwrap();
    }
    for line in [
        "--package-dir out/package --client client.exe --out out",
        "--package-dir given --client out/package/own.exe --out out",
        "--package-dir given --client given/deep/out/package/client.exe --out given/deep/out",
    ] {
        let output = run_in(&place, &format!("deploy no-such-machine --manifest-path Cargo.toml {line}"));
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains(" would be removed with the input "), "{line}: {text}");
        for (name, text) in files {
            assert_eq!(fs::read_to_string(place.join(name)).unwrap(), text, "{line}: {name}");
        }
    }
}

#[test]
fn the_results_of_tests_replace_no_source() {
    let place = folder("outputs-junit");
    let files = ["Cargo.toml", "build.rs", "src/lib.rs", "host-tests/Cargo.toml", "host-tests/tests/driver.rs"];
    for name in files {
        fs::create_dir_all(place.join(name).parent().unwrap()).unwrap();
        fs::write(place.join(name), name).unwrap();
    }
    for name in files {
        let output = run_in(&place, &format!("test --junit {name}"));
        let text = printed(&output);
        assert_eq!(output.status.code(), Some(2), "{name}: {text}");
        assert!(text.contains(&format!("--junit {name} is the input ")), "{text}");
        assert_eq!(fs::read_to_string(place.join(name)).unwrap(), name);
    }
}
