//! Makes import libraries for the modules that drivers can import from, and static libraries from the sources in `kit/lib`.
//!
//! The exports of a module are read from the metadata and from the handwritten headers, so that a routine is declared in only one
//! place. In these headers, a line that starts with `NTKERNELAPI` or `NTSYSAPI` declares a routine of ntoskrnl.exe, and a line that
//! starts with `NTHALAPI` declares a routine of hal.dll.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::thread;

use crate::layout::{self, VERSION};
use crate::metadata::Generated;
use crate::tools::{Tools, make_link};
use crate::{Error, files};

/// What WDFLDR.SYS exports: to drivers, and to frameworks and class extensions.
const LOADER: [&str; 8] = [
    "WdfVersionBind",
    "WdfVersionBindClass",
    "WdfVersionUnbind",
    "WdfVersionUnbindClass",
    "WdfLdrQueryInterface",
    "WdfLdrDiagnosticsValueByNameAsULONG",
    "WdfRegisterClassLibrary",
    "WdfRegisterLibrary",
];

struct Target {
    /// The folder's name in a WDK.
    dir: &'static str,
    triple: &'static str,
    /// The name of the processor for llvm-dlltool.
    machine: &'static str,
    /// The argument that defines the WDK's macro for the processor.
    define: &'static str,
    /// Whether the kit has its own `__chkstk`. On x64, ntoskrnl.exe exports it.
    own_stack_probe: bool,
}

const TARGETS: [Target; 2] = [
    Target {
        dir: "x64",
        triple: "x86_64-pc-windows-msvc",
        machine: "i386:x86-64",
        define: "-D_AMD64_",
        own_stack_probe: false,
    },
    Target {
        dir: "ARM64",
        triple: "aarch64-pc-windows-msvc",
        machine: "arm64",
        define: "-D_ARM64_",
        own_stack_probe: true,
    },
];

/// Makes all libraries. `versions` has the minor versions of the framework.
pub(crate) fn build(kit: &Path, generated: &Generated, versions: &[u8], tools: &Tools) -> Result<(), Error> {
    let headers: String = files::below("kit/include").map(|(_, text)| text).collect();
    let sources = kit.join("src");
    for (name, text) in files::below("kit/lib") {
        layout::write(&sources.join(name), text)?;
    }
    thread::scope(|scope| {
        let builds = TARGETS.each_ref().map(|target| {
            let headers = &headers;
            let sources = &sources;
            scope.spawn(move || build_for(target, kit, headers, sources, generated, versions, tools))
        });
        builds.into_iter().try_for_each(|build| {
            build.join().unwrap_or_else(|_| Err(Error::Source(String::from("a thread panicked"))))
        })
    })
}

fn build_for(
    target: &Target,
    kit: &Path,
    headers: &str,
    sources: &Path,
    generated: &Generated,
    versions: &[u8],
    tools: &Tools,
) -> Result<(), Error> {
    {
        let base = kit.join("Lib").join(VERSION).join("km").join(target.dir);
        fs::create_dir_all(&base).map_err(|error| Error::io(&base, &error))?;
        let all = |module: &str, markers: &[&str]| {
            let mut names = declared(headers, markers);
            names.extend(generated.exports.get(module).into_iter().flatten().cloned());
            names
        };
        let mut kernel = all("ntoskrnl.exe", &["NTKERNELAPI", "NTSYSAPI"]);
        // Routines that compilers call and no header declares.
        kernel.insert("__C_specific_handler".into());
        if !target.own_stack_probe {
            kernel.insert("__chkstk".into());
        }
        kernel.extend(variables(headers));
        let undeclared = generated.data.get("ntoskrnl.exe").into_iter().flatten();
        kernel.extend(undeclared.map(|name| format!("{name} {PLACE}")));
        let linker = Linker { target, tools };
        linker.import(&base, "ntoskrnl", "ntoskrnl.exe", &kernel)?;
        if !target.own_stack_probe {
            linker.assemble_into(kit, &base, "ntoskrnl", &sources.join("intrinsics.S"))?;
        }
        linker.import(&base, "hal", "HAL.dll", all("HAL.dll", &["NTHALAPI"]))?;
        linker.import(&base, "wmilib", "WMILIB.SYS", ["WmiCompleteRequest", "WmiFireEvent", "WmiSystemControl"])?;
        for (name, (module, names)) in &generated.libraries {
            linker.import(&base, name, module, names)?;
        }
        if let Some(names) = generated.exports.get("FLTMGR.SYS") {
            linker.import(&base, "fltMgr", "FLTMGR.SYS", names)?;
        }
        let library = |name: &str| sources.join(name);
        linker.compile(kit, &base, "BufferOverflowFastFailK", &library("fast_fail.c"), &[])?;
        // One section per function, so that the linker leaves out unused routines and their imports.
        let sections = OsStr::new("-ffunction-sections");
        linker.compile(kit, &base, "aux_klib", &library("aux_klib.c"), &[sections])?;
        linker.compile(kit, &base, "uuid", &library("uuid.c"), &[])?;
        // The framework's stub is compiled for each version. Precompiling the kernel's header saves reading it each time.
        let kernel_header = kit.join("Include").join(VERSION).join("km/wdm.h");
        let precompiled = sources.join(target.dir).with_extension("pch");
        linker.clang(kit, &kernel_header, &precompiled, &["-x".as_ref(), "c-header".as_ref()])?;
        linker.import(&base, "WdfLdr", "WDFLDR.SYS", LOADER)?;
        for minor in versions {
            let dir = kit.join("Lib/wdf/kmdf").join(target.dir).join(format!("1.{minor}"));
            let loader = dir.join("WdfLdr.lib");
            fs::create_dir_all(&dir)
                .and_then(|()| fs::copy(base.join("WdfLdr.lib"), &loader))
                .map_err(|error| Error::io(&loader, &error))?;
            let include = format!("-I{}", kit.join(layout::framework_headers(*minor)).display());
            let version = format!("-DKMDF_VERSION_MINOR={minor}");
            let table = format!("-DWDF_FUNCTIONS=WdfFunctions_010{minor:02}");
            let flags: [&OsStr; 5] =
                ["-include-pch".as_ref(), precompiled.as_ref(), include.as_ref(), version.as_ref(), table.as_ref()];
            linker.compile(kit, &dir, "WdfDriverEntry", &library("driver_entry.c"), &flags)?;
        }
        for path in [precompiled, base.join("WdfLdr.lib"), base.join("WdfLdr.def")] {
            fs::remove_file(&path).map_err(|error| Error::io(&path, &error))?;
        }
        if target.own_stack_probe {
            linker.compile(kit, &base, "arm64rt", &library("arm64rt.S"), &[])?;
        }
        spell(&base)?;
        // Packages that declare user-mode routines link these libraries even into drivers, which call none of the routines. Empty
        // libraries are enough for the linker.
        for name in &generated.programs {
            let path = base.join(name).with_extension("lib");
            if !path.exists() {
                layout::write(&path, EMPTY)?;
            }
        }
    }
    Ok(())
}

/// The contents of an empty library.
const EMPTY: &str = "!<arch>\n";

/// Links every library under other spellings of its name. The linker looks for a file with the spelling that the driver uses.
fn spell(dir: &Path) -> Result<(), Error> {
    let entries = fs::read_dir(dir).map_err(|error| Error::io(dir, &error))?.flatten();
    let files: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    for (file, stem) in files.iter().filter_map(|file| Some((file, file.strip_suffix(".lib")?))) {
        let lower = stem.to_ascii_lowercase();
        let title = lower[..1].to_ascii_uppercase() + &lower[1..];
        let upper = stem.to_ascii_uppercase();
        let manager = String::from("FltMgr");
        for name in [lower.clone(), title, upper].into_iter().chain((lower == "fltmgr").then_some(manager)) {
            let link = dir.join(name + ".lib");
            if cfg!(unix) && !link.exists() {
                make_link(Path::new(file), &link).map_err(|error| Error::io(&link, &error))?;
            }
        }
    }
    Ok(())
}

struct Linker<'a> {
    target: &'a Target,
    tools: &'a Tools,
}

impl Linker<'_> {
    fn import<S: AsRef<str>>(
        &self,
        dir: &Path,
        name: &str,
        module: &str,
        symbols: impl IntoIterator<Item = S>,
    ) -> Result<(), Error> {
        let mut text = format!("LIBRARY {module}\nEXPORTS\n");
        for symbol in symbols {
            text.push_str("    ");
            text.push_str(symbol.as_ref());
            text.push('\n');
        }
        let definition = dir.join(name).with_extension("def");
        layout::write(&definition, &text)?;
        let library = definition.with_extension("lib");
        let machine = self.target.machine;
        self.tools.run(
            "llvm-dlltool",
            &["-m".as_ref(), machine.as_ref(), "-d".as_ref(), definition.as_ref(), "-l".as_ref(), library.as_ref()],
        )
    }

    fn compile(&self, kit: &Path, dir: &Path, name: &str, source: &Path, flags: &[&OsStr]) -> Result<(), Error> {
        let object = dir.join(name).with_extension("obj");
        self.clang(kit, source, &object, flags)?;
        let library = format!("/out:{}", object.with_extension("lib").display());
        self.tools.run("llvm-lib", &["/nologo".as_ref(), library.as_ref(), object.as_ref()])
    }

    /// Assembles a file and adds it to an import library.
    fn assemble_into(&self, kit: &Path, dir: &Path, library: &str, source: &Path) -> Result<(), Error> {
        let object = dir.join("intrinsics.obj");
        self.clang(kit, source, &object, &[])?;
        let library = dir.join(library).with_extension("lib");
        let out = format!("/out:{}", library.display());
        self.tools.run("llvm-lib", &["/nologo".as_ref(), out.as_ref(), library.as_ref(), object.as_ref()])
    }

    /// Compiles C. `flags` come before the source, because some of them apply to the files after them.
    fn clang(&self, kit: &Path, source: &Path, output: &Path, flags: &[&OsStr]) -> Result<(), Error> {
        let target = format!("--target={}", self.target.triple);
        let include = kit.join("Include");
        let paths = ["km", "shared"].map(|name| format!("-I{}", include.join(VERSION).join(name).display()));
        let mut arguments: Vec<&OsStr> = vec![target.as_ref(), self.target.define.as_ref()];
        // No red zone, stack cookies or C runtime: this code runs in the kernel.
        arguments.extend(
            [
                "-c",
                "-O2",
                "-ffreestanding",
                // By default, clang generates no unwind tables for freestanding code, but Windows needs them.
                "-fasynchronous-unwind-tables",
                "-fms-extensions",
                "-fno-stack-protector",
                "-mno-red-zone",
                "-Wall",
                "-Werror",
                "-DWDK_KIT_NO_CONSTANTS",
            ]
            .iter()
            .filter(|flag| self.target.triple.starts_with("x86_64") || **flag != "-mno-red-zone")
            .map(AsRef::<OsStr>::as_ref),
        );
        arguments.extend(paths.iter().map(AsRef::<OsStr>::as_ref));
        arguments.extend(flags);
        arguments.extend([source.as_ref(), OsStr::new("-o"), output.as_ref()]);
        self.tools.run("clang", &arguments)
    }
}

/// Returns the names of the routines that are declared in lines that start with one of the markers.
fn declared(headers: &str, markers: &[&str]) -> BTreeSet<String> {
    headers
        .lines()
        .filter(|line| line.split_whitespace().next().is_some_and(|first| markers.contains(&first)))
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.split_whitespace().last())
        .map(|name| name.trim_start_matches('*').to_owned())
        .collect()
}

/// The keyword of a .def file for a variable whose name is the slot that the loader writes the variable's address to.
const PLACE: &str = "CONSTANT";
/// The keyword for a variable that has only the `__imp_` symbol, so that code must import it. If the library had the name, code that
/// takes the slot for the variable would link, and would read the address instead of the value.
const IMPORTED: &str = "DATA";

/// Returns the names of `extern` declarations, each with its keyword.
fn variables(headers: &str) -> impl Iterator<Item = String> + '_ {
    headers.lines().filter_map(|line| {
        let declaration = line.strip_prefix("extern ")?.strip_suffix(';')?;
        let name = declaration.rsplit([' ', '*']).next().filter(|name| !name.is_empty())?;
        let kind = if declaration.starts_with("DECLSPEC_IMPORT ") { IMPORTED } else { PLACE };
        Some(format!("{name} {kind}"))
    })
}

#[cfg(test)]
mod tests {
    use super::variables;

    #[test]
    fn an_imported_variable_has_no_name_of_its_own_in_the_library() {
        let header = "extern POBJECT_TYPE *PsProcessType;\nextern DECLSPEC_IMPORT CCHAR KeNumberProcessors;\nint x;\n";
        let found: Vec<String> = variables(header).collect();
        assert_eq!(found, ["PsProcessType CONSTANT", "KeNumberProcessors DATA"]);
    }
}
