//! Import libraries for the modules a driver may import from, and static libraries from the sources in `kit/lib`.
//!
//! What a module exports is read from the headers, so that a routine is declared in one place only: a declaration that
//! starts its line with `NTKERNELAPI` or `NTSYSAPI` belongs to ntoskrnl.exe, one with `NTHALAPI` to hal.dll.

use std::collections::BTreeSet;
use std::error::Error;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::layout::VERSION;
use crate::tools::Tools;

const LOADER: [&str; 5] =
    ["WdfVersionBind", "WdfVersionBindClass", "WdfVersionUnbind", "WdfVersionUnbindClass", "WdfLdrQueryInterface"];

struct Target {
    /// The folder's name in a WDK.
    folder: &'static str,
    triple: &'static str,
    /// What llvm-dlltool calls it.
    machine: &'static str,
    /// Whether `__chkstk` is ours: on x64 ntoskrnl.exe exports it.
    own_stack_probe: bool,
}

const TARGETS: [Target; 2] = [
    Target { folder: "x64", triple: "x86_64-pc-windows-msvc", machine: "i386:x86-64", own_stack_probe: false },
    Target { folder: "ARM64", triple: "aarch64-pc-windows-msvc", machine: "arm64", own_stack_probe: true },
];

pub(crate) fn build(source: &Path, kit: &Path, tools: &Tools) -> Result<(), Box<dyn Error>> {
    let headers = read_headers(&source.join("include/km"))?;
    for target in &TARGETS {
        let base = kit.join("Lib").join(VERSION).join("km").join(target.folder);
        let wdf = kit.join("Lib/wdf/kmdf").join(target.folder).join("1.33");
        fs::create_dir_all(&base)?;
        fs::create_dir_all(&wdf)?;

        let mut kernel = exports(&headers, &["NTKERNELAPI", "NTSYSAPI"]);
        // Two that compilers call and no header declares.
        kernel.insert("__C_specific_handler".into());
        if !target.own_stack_probe {
            kernel.insert("__chkstk".into());
        }
        let linker = Linker { target, tools };
        linker.import(&base, "ntoskrnl", "ntoskrnl.exe", &kernel)?;
        linker.import(&base, "hal", "HAL.dll", exports(&headers, &["NTHALAPI"]))?;
        linker.import(&base, "wmilib", "WMILIB.SYS", ["WmiCompleteRequest", "WmiFireEvent", "WmiSystemControl"])?;
        linker.import(&wdf, "WdfLdr", "WDFLDR.SYS", LOADER)?;

        let library = |name: &str| source.join("lib").join(name);
        linker.compile(kit, &base, "BufferOverflowFastFailK", &library("fast_fail.c"))?;
        linker.compile(kit, &wdf, "WdfDriverEntry", &library("driver_entry.c"))?;
        if target.own_stack_probe {
            linker.compile(kit, &base, "arm64rt", &library("arm64rt.S"))?;
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
        folder: &Path,
        name: &str,
        module: &str,
        symbols: impl IntoIterator<Item = S>,
    ) -> Result<(), Box<dyn Error>> {
        let mut text = format!("LIBRARY {module}\nEXPORTS\n");
        for symbol in symbols {
            text.push_str("    ");
            text.push_str(symbol.as_ref());
            text.push('\n');
        }
        let definition = folder.join(name).with_extension("def");
        fs::write(&definition, text)?;
        let library = definition.with_extension("lib");
        let machine = self.target.machine;
        self.tools.run(
            "llvm-dlltool",
            &["-m".as_ref(), machine.as_ref(), "-d".as_ref(), definition.as_ref(), "-l".as_ref(), library.as_ref()],
        )
    }

    fn compile(&self, kit: &Path, folder: &Path, name: &str, source: &Path) -> Result<(), Box<dyn Error>> {
        let object = folder.join(name).with_extension("obj");
        let target = format!("--target={}", self.target.triple);
        let include = kit.join("Include");
        let paths =
            [include.join(VERSION).join("km"), include.join(VERSION).join("shared"), include.join("wdf/kmdf/1.33")]
                .map(|path| format!("-I{}", path.display()));
        let mut arguments: Vec<&OsStr> = vec![target.as_ref()];
        // No red zone, floating point, stack cookies or C runtime: this runs in the kernel.
        arguments.extend(
            [
                "-c",
                "-O2",
                "-ffreestanding",
                // Freestanding code has no unwind tables unless they are asked for, and Windows needs them.
                "-fasynchronous-unwind-tables",
                "-fms-extensions",
                "-fno-stack-protector",
                "-mno-red-zone",
                "-Wall",
                "-Werror",
            ]
            .iter()
            .filter(|flag| self.target.triple.starts_with("x86_64") || **flag != "-mno-red-zone")
            .map(AsRef::<OsStr>::as_ref),
        );
        arguments.extend(paths.iter().map(AsRef::<OsStr>::as_ref));
        arguments.extend([source.as_ref(), OsStr::new("-o"), object.as_ref()]);
        self.tools.run("clang", &arguments)?;
        let library = format!("/out:{}", object.with_extension("lib").display());
        self.tools.run("llvm-lib", &["/nologo".as_ref(), library.as_ref(), object.as_ref()])
    }
}

fn read_headers(folder: &Path) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
        paths.sort();
        for path in paths {
            if path.is_dir() {
                folders.push(path);
            } else {
                text.push_str(&fs::read_to_string(path)?);
            }
        }
    }
    Ok(text)
}

/// The names that follow one of the markers at the start of a line.
fn exports(headers: &str, markers: &[&str]) -> BTreeSet<String> {
    headers
        .lines()
        .filter(|line| line.split_whitespace().next().is_some_and(|first| markers.contains(&first)))
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.split_whitespace().last())
        .map(|name| name.trim_start_matches('*').to_owned())
        .collect()
}
