//! Tests of the files of new drivers.

use super::{
    COMMON, EXISTING, KMDF, Kind, MINIFILTER, NewDriver, Source, WDM, WFP, WORKFLOW, camel, check_name, identifier,
    in_guid_form, relative,
};
use std::fs;
use std::path::{Path, PathBuf};

fn dir(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("driver-build-new-{}", std::process::id())).join(name);
    let _ = fs::remove_dir_all(&dir);
    dir
}

#[test]
fn every_template_is_used_and_every_placeholder_is_replaced() {
    let clone = || Source::Path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."));
    let git = || Source::Git { url: "https://example.com/a".into(), revision: "0a1b".into() };
    let registry = || Source::Registry { version: "0.1.0".into() };
    for (kind, source) in [
        (Kind::Kmdf, clone()),
        (Kind::Wdm, clone()),
        (Kind::Minifilter, clone()),
        (Kind::Wfp, clone()),
        (Kind::Kmdf, git()),
        (Kind::Wdm, registry()),
    ] {
        let dir = dir(&format!("a place for {kind:?}"));
        let new = NewDriver::at(&dir.join("my-driver"), kind, source.clone());
        let dir = dir.join("my-driver");
        for path in new.write().unwrap() {
            let text = fs::read_to_string(&path).unwrap().replace("${{", "");
            assert!(!text.contains("{{"), "{}", path.display());
            assert!(!text.contains("// trace"), "{}", path.display());
        }
        assert!(dir.join("my_driver.inx").is_file());
        assert_eq!(dir.join(WORKFLOW).is_file(), !matches!(source, Source::Path(_)));
        for manifest in ["Cargo.toml", "host-tests/Cargo.toml"] {
            let text = fs::read_to_string(dir.join(manifest)).unwrap();
            let expected = match &source {
                Source::Path(_) => "/crates/",
                Source::Git { .. } => "= { git = \"https://example.com/a\", rev = \"0a1b\"",
                Source::Registry { .. } => "= { version = \"0.1.0\"",
            };
            assert!(text.contains(expected), "{text}");
            assert_eq!(text.contains("path ="), matches!(source, Source::Path(_)), "{text}");
        }
        let again = new.write().unwrap_err().to_string();
        assert!(again.contains("not empty"), "{again}");
    }
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut pending = vec![templates];
    let mut count = 0;
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            count += 1;
        }
    }
    assert_eq!(count, COMMON.len() + KMDF.len() + WDM.len() + MINIFILTER.len() + WFP.len() + EXISTING.len());
}

#[test]
fn names_become_those_of_rust_and_windows() {
    assert_eq!(camel("my-first_driver"), "MyFirstDriver");
    assert_eq!(in_guid_form("0x0011_2233_4455_4677_8899_aabb_ccdd_eeff"), "00112233-4455-4677-8899-aabbccddeeff");
    assert!(check_name("adder").is_ok());
    for wrong in ["", "1st", "a b", "ä", "core", "../x", "con", "Nul", "COM1", "lpt9"] {
        assert!(check_name(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_driver_has_an_identifier_of_its_own_that_stays() {
    assert_eq!(identifier("adder"), identifier("adder"));
    assert_ne!(identifier("adder"), identifier("adder2"));
    let digits = identifier("adder").replace('_', "");
    assert_eq!(digits.len(), 34, "{digits}");
    assert_eq!(&digits[14..15], "4", "{digits}");
    assert!(["8", "9", "a", "b"].contains(&&digits[18..19]), "{digits}");
}

#[test]
fn relative_paths_between_folders() {
    let way = |from: &str, to: &str| relative(Path::new(from), Path::new(to));
    assert_eq!(way("/a/driver", "/a/wdk-etw"), Path::new("../wdk-etw"));
    assert_eq!(way("/a/b c/driver/host-tests", "/x/wdk-etw"), Path::new("/x/wdk-etw"));
    assert_eq!(way("/a/w/crates/..", "/a/w/x"), Path::new("x"));
}

#[test]
fn an_existing_driver_gets_tests_and_nothing_else() {
    let dir = dir("existing");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("Cargo.toml"), "mine").unwrap();
    let source = Source::Git { url: "https://example.com/a".into(), revision: "0a1b".into() };
    let tests = NewDriver { name: "my-driver".into(), ..NewDriver::at(&dir, Kind::Existing, source) };
    let written = tests.write().unwrap();
    assert!(written.iter().all(|path| path.starts_with(dir.join("host-tests"))), "{written:?}");
    assert!(fs::read_to_string(dir.join("host-tests/Cargo.toml")).unwrap().contains("name = \"my-driver-tests\""));
    assert!(fs::read_to_string(dir.join("host-tests/tests/driver.rs")).unwrap().contains("DRIVER_IMAGE"));
    assert_eq!(fs::read_to_string(dir.join("Cargo.toml")).unwrap(), "mine");
    assert!(tests.write().unwrap_err().to_string().contains("host-tests"), "a second time");
}
