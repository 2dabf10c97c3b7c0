//! The C compiler, LLVM's tools and libclang, which generate the bindings and the kit's libraries.

use std::env;
use std::path::Path;

use crate::error::Error;
use crate::host::Host;
use crate::llvm::{self, LIBCLANG as LIBCLANG_PATH};
use crate::setup::{self, WindowsToolchain};

/// The programs that are needed, each with its package on Debian and Ubuntu.
const PROGRAMS: [(&str, &str); 3] = [("clang", "clang"), ("llvm-dlltool", "llvm"), ("llvm-lib", "llvm")];
/// The package of the library that bindgen loads.
const LIBCLANG: &str = "libclang-dev";
/// The C compiler that links build scripts and macros, and its packages. A user can configure another linker, so only `setup` asks for
/// it; a build without a linker says so.
const LINKER: (&str, [&str; 2]) = ("cc", ["gcc", "libc6-dev"]);

/// Checks that the tools that a build needs besides a Rust toolchain are installed. Installs missing ones if the host allows it.
///
/// # Errors
///
/// If one is missing and was not installed; always on Windows, where the WDK builds drivers.
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
    let (program, packages) = LINKER;
    if host.installs().is_none() && !host.tool(program).args(["--version"]).starts() {
        missing.extend(packages);
    }
    if missing.is_empty() { Ok(()) } else { setup::ensure_packages(host, &missing) }
}

/// Looks where bindgen looks: `LIBCLANG_PATH`, the list of the dynamic linker, the folder of LLVM's libraries.
fn has_libclang(host: &Host) -> bool {
    let output = |program: &str, argument: &str| host.tool(program).args([argument]).capture().unwrap_or_default();
    env::var_os(LIBCLANG_PATH).is_some()
        || llvm::environment(host.cache()).iter().any(|(name, _)| *name == LIBCLANG_PATH)
        || ["ldconfig", "/sbin/ldconfig"].iter().any(|program| names_libclang(&output(program, "-p")))
        || ["libclang.so", "libclang.dylib"]
            .iter()
            .any(|name| Path::new(output("llvm-config", "--libdir").trim()).join(name).exists())
}

/// Whether the list has `libclang.so` or one with a version in its name. `libclang-cpp` is another library.
fn names_libclang(list: &str) -> bool {
    let mut after = list.lines().filter_map(|line| line.trim().strip_prefix("libclang"));
    after.any(|rest| rest.starts_with(".so") || rest.strip_prefix('-').is_some_and(|r| r.starts_with(char::is_numeric)))
}

#[cfg(test)]
mod tests {
    use super::names_libclang;

    #[test]
    fn the_library_is_distinguished_from_its_namesake() {
        assert!(names_libclang("\tlibclang-14.so.13 (libc6,x86-64) => /lib/libclang-14.so.13\n"));
        assert!(names_libclang("\tlibclang.so (libc6,x86-64) => /lib/libclang.so\n"));
        assert!(!names_libclang("\tlibclang-cpp.so.14 (libc6,x86-64) => /lib/libclang-cpp.so.14\n"));
    }
}
