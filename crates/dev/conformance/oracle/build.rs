//! Finds the sources of Microsoft's `tracelogging` crate and writes the module tree that compiles them in kernel mode.
//!
//! That crate is not part of this repository: Cargo fetches it as a build dependency, and `src/lib.rs` includes it by
//! path, unmodified. Cargo would derive its settings from the target and from features; here they are set directly:
//! `windows`, `etw`, `kernel_mode`, `macros`. The setting `proc_macro` omits its `Guid::new`, which needs a Windows
//! library.
#![allow(clippy::disallowed_methods, reason = "a build script writes to the folder that Cargo gives it")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const MODULES: [(&str, &str); 6] =
    [("pub", "_internal"), ("", "descriptors"), ("", "enums"), ("", "guid"), ("", "native"), ("", "provider")];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for cfg in ["windows", "proc_macro", "feature=\"etw\"", "feature=\"kernel_mode\"", "feature=\"macros\""] {
        println!("cargo::rustc-cfg={cfg}");
    }
    println!("cargo::rustc-check-cfg=cfg(feature, values(\"etw\", \"kernel_mode\", \"macros\"))");

    let metadata = metadata();
    let library = sources(&metadata, "tracelogging-1.2.4");
    println!("cargo::metadata=root={}", library.with_file_name("").display());
    let tree: String = MODULES
        .iter()
        .map(|(visibility, module)| {
            let file = library.join(format!("{module}.rs"));
            format!("#[path = {:?}]\n{visibility} mod {module};\n", file.display().to_string())
        })
        .collect();
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR"));
    fs::write(out.join("oracle.rs"), tree).expect("OUT_DIR is writable");

    // The table of field types, so that a test can check that it covers all of them.
    let table = sources(&metadata, "tracelogging_macros-1.2.3").join("field_options.rs");
    println!("cargo::rustc-env=FIELD_TYPES={}", table.display());
}

/// Returns Cargo's metadata of the packages in this workspace.
fn metadata() -> String {
    let cargo = env::var_os("CARGO").expect("Cargo sets CARGO");
    let here = env::var_os("CARGO_MANIFEST_DIR").expect("Cargo sets CARGO_MANIFEST_DIR");
    let host = env::var_os("HOST").expect("Cargo sets HOST");
    // Packages for other platforms may not have been fetched. Metadata for this platform alone needs no network.
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform"])
        .arg(host)
        .arg("--manifest-path")
        .arg(Path::new(&here).join("Cargo.toml"))
        .output()
        .expect("cargo metadata runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("cargo metadata prints UTF-8")
}

/// Returns the `src` folder of a package, by the name of the folder to which Cargo unpacked it.
fn sources(metadata: &str, folder: &str) -> PathBuf {
    metadata
        .split("\"manifest_path\":\"")
        .filter_map(|rest| rest.split('"').next())
        .map(|path| PathBuf::from(path.replace("\\\\", "\\")))
        .find(|manifest| manifest.parent().is_some_and(|parent| parent.ends_with(folder)))
        .unwrap_or_else(|| panic!("{folder} is a dependency"))
        .with_file_name("src")
}
