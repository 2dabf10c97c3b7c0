//! Manifests that cannot be compiled: each error has a file and a line, in the form that editors and CI understand.

use etw_manifest::codegen::{Error, compile, compile_bytes};

const RICH: &str = include_str!("../data/rich.man");

#[test]
fn each_error_has_the_file_and_the_line() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("mistakes");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("bad.man");
    let text = RICH.replace("template=\"sized\"", "template=\"size\"").replace("opcode=\"Probe\"", "opcode=\"Prob\"");
    std::fs::write(&file, text).unwrap();
    let error = compile(&file).unwrap_err();
    let expected = format!(
        "{0}:87:11: the template 'size' is not declared\n{0}:89:11: the opcode 'Prob' is not declared",
        file.display()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(format!("{error:?}"), expected, "what a build script prints");
    let missing = compile(folder.join("none.man")).unwrap_err().to_string();
    assert!(missing.starts_with(&format!("cannot read {}: ", folder.join("none.man").display())), "{missing}");
}

#[test]
fn two_parts_with_the_same_name_are_rejected() {
    let text = RICH.replace("symbol=\"Probed\"", "symbol=\"DEVICE_FAILED\"");
    let error = compile_bytes(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "event 1 version 0 and event 3 version 0 both become `device_failed` in the module: give one of them another symbol"
    );
}

#[test]
fn a_culture_without_a_language_id_is_rejected() {
    let error = compile_bytes(RICH.replace("de-DE", "tlh-KX").as_bytes()).unwrap_err();
    assert!(matches!(&error, Error::UnknownCulture(culture) if culture == "tlh-KX"), "{error}");
}

#[test]
fn a_file_that_is_not_a_manifest_is_rejected() {
    for (text, expected) in [
        ("<a/>", ":1:1: not an instrumentation manifest: the root element is <a>"),
        ("<instrumentationManifest/>", ":1:1: the manifest declares no provider"),
    ] {
        assert_eq!(compile_bytes(text.as_bytes()).unwrap_err().to_string(), expected);
    }
    assert!(compile_bytes(b"<a").is_err());
    assert!(compile_bytes(&[0xFF, 0xFE, 0]).is_err());
}
