//! Lays out the kit in `OUT_DIR`: headers, the framework's one generated, import libraries and the entry stub.
//!
//! Headers are always written. Libraries need clang and LLVM's tools; where one is missing the crate still builds, and
//! its name goes into `kit/missing-tools`, which the library reports when a driver asks for the kit.

mod layout;
mod libraries;
mod tools;
mod wdf;

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let source = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("not run by Cargo")?).join("kit");
    let kit = PathBuf::from(env::var_os("OUT_DIR").ok_or("not run by Cargo")?).join("kit");
    for watched in ["kit", "build"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    if kit.exists() {
        fs::remove_dir_all(&kit)?;
    }
    layout::copy_headers(&source, &kit)?;
    fs::write(kit.join(layout::WDF_HEADERS).join("wdf.h"), wdf::generate(&source.join("wdf"))?)?;
    build_libraries(&source, &kit)?;
    println!("cargo::rustc-env=WDK_KIT_ROOT={}", kit.display());
    println!("cargo::rustc-env=WDK_KIT_VERSION={}", layout::VERSION);
    Ok(())
}

fn build_libraries(source: &Path, kit: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=PATH");
    match tools::Tools::find() {
        Ok(tools) => libraries::build(source, kit, &tools),
        Err(missing) => {
            fs::write(kit.join("missing-tools"), missing.join(" "))?;
            // Looked for again at every build, until they are there.
            println!("cargo::rerun-if-changed={}", kit.join("never-written").display());
            Ok(())
        }
    }
}
