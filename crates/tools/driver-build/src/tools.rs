//! The C compiler, LLVM's tools and libclang, which bindings and the kit's libraries are made with.

use std::env;
use std::path::Path;

use crate::error::Error;
use crate::host::Host;
use crate::setup::{self, WindowsToolchain};

/// Programs that are run, and the package that has each on Debian and Ubuntu.
const PROGRAMS: [(&str, &str); 3] = [("clang", "clang"), ("llvm-dlltool", "llvm"), ("llvm-lib", "llvm")];
/// Bindgen loads this one; it is no program that could be asked.
const LIBCLANG: &str = "libclang-dev";

/// Finds the tools that drivers need besides a Rust toolchain, or installs the packages that they are in.
///
/// # Errors
///
/// If one is missing and cannot be installed, and on Windows, where the WDK builds drivers.
pub fn ensure(host: &Host) -> Result<(), Error> {
    if cfg!(windows) {
        return Err(Error::Usage(String::from(
            "on Windows the WDK builds drivers: run `cargo wdk build`, or `cargo make`, in the driver's folder, then \
             `cargo driver package --adopt target/<profile>/NAME_package`",
        )));
    }
    let linker = host.windows().is_ok_and(WindowsToolchain::needs_lld).then_some(("lld-link", "lld"));
    let mut missing: Vec<&'static str> = PROGRAMS
        .into_iter()
        .chain(linker)
        .filter(|(program, _)| !host.tool(*program).args(["--version"]).starts())
        .map(|(_, package)| package)
        .collect();
    missing.dedup();
    if !has_libclang(host) {
        missing.push(LIBCLANG);
    }
    if missing.is_empty() { Ok(()) } else { setup::ensure_packages(host, &missing) }
}

/// Where bindgen looks too: a path of one's own, the dynamic linker's list, LLVM's folder.
fn has_libclang(host: &Host) -> bool {
    let said = |program: &str, argument: &str| host.tool(program).args([argument]).capture().unwrap_or_default();
    env::var_os("LIBCLANG_PATH").is_some()
        || ["ldconfig", "/sbin/ldconfig"].iter().any(|program| names_libclang(&said(program, "-p")))
        || Path::new(said("llvm-config", "--libdir").trim()).join("libclang.so").exists()
}

/// `libclang.so` or one with a version, but not libclang-cpp.
fn names_libclang(list: &str) -> bool {
    let mut after = list.lines().filter_map(|line| line.trim().strip_prefix("libclang"));
    after.any(|rest| rest.starts_with(".so") || rest.strip_prefix('-').is_some_and(|r| r.starts_with(char::is_numeric)))
}

#[cfg(test)]
mod tests {
    use super::names_libclang;

    #[test]
    fn the_library_is_told_from_its_namesake() {
        assert!(names_libclang("\tlibclang-14.so.13 (libc6,x86-64) => /lib/libclang-14.so.13\n"));
        assert!(names_libclang("\tlibclang.so (libc6,x86-64) => /lib/libclang.so\n"));
        assert!(!names_libclang("\tlibclang-cpp.so.14 (libc6,x86-64) => /lib/libclang-cpp.so.14\n"));
    }
}
