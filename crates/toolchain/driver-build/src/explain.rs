//! Reads the messages of a failed build and explains what the kit or the driver lacks and how to add it.

use crate::microsoft_tools;

const GUIDE: &str = "crates/toolchain/wdk-kit/README.md, \"Adding to the kit\"";

/// Returns one line for each thing that is missing or has to be changed, in the order of the messages. `own` has the names of
/// the driver's packages, `imported` the names of kernel variables that code has to import.
pub(crate) fn explain(messages: &str, own: &[&str], imported: &[String]) -> Vec<String> {
    let plain = strip_colors(messages);
    // Whatever else failed, failed for this.
    if FULL_DISK.iter().any(|phrase| plain.contains(phrase)) {
        return vec![
            "the disk is full: free some space (cargo writes to its target directory and to the directory for temporary files), and \
             build again"
                .into(),
        ];
    }
    let mut lines: Vec<String> = Vec::new();
    for line in plain.lines() {
        let found =
            header(line).or_else(|| symbol(line, imported)).or_else(|| library(line)).or_else(|| framework(line));
        let found = found
            .or_else(|| microsoft_tools::message_in(line).map(str::to_owned))
            .or_else(|| linker(line))
            .or_else(|| defect(line))
            .map_or_else(|| bindings(line), |text| vec![text]);
        for text in found {
            if !lines.contains(&text) {
                lines.push(text);
            }
        }
    }
    if lines.is_empty() {
        lines.extend(plain.lines().filter_map(|line| dependency(line, own)));
        lines.extend(script(&plain));
    }
    lines
}

/// The messages of Linux, macOS and Windows for a disk or a quota without space.
const FULL_DISK: [&str; 4] =
    ["No space left on device", "Disk quota exceeded", "(os error 112)", "There is not enough space on the disk"];

/// Cargo: a build script failed. Returns its name and its first error message.
fn script(messages: &str) -> Option<String> {
    let (_, rest) = messages.split_once("failed to run custom build command for ")?;
    let name = between(rest, '`')?.split(' ').next()?;
    let output = rest.split_once("--- stderr\n").map_or("", |(_, output)| output);
    // A script can quote the output of another program with escaped line ends (`\n`), so this is not split into lines.
    let address = output.split_once("Updating git repository `").and_then(|(_, rest)| rest.split('`').next());
    if let Some(address) = address.filter(|_| output.contains("network error") || output.contains("unable to update")) {
        return Some(format!("the build script of `{name}` needs {address}, which cargo could not download"));
    }
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("warning"));
    let first = lines.next()?;
    // The message of a panic is on the line after its source position.
    let first = if first.contains("panicked at") { lines.next()? } else { first };
    let short: String = first.trim_start_matches("Error: ").chars().take(LONGEST).collect();
    let dots = if first.chars().count() > LONGEST { "…" } else { "" };
    Some(format!("the build script of `{name}` failed: {short}{dots}"))
}

/// The maximum number of characters of a build script's message that are repeated.
const LONGEST: usize = 200;

/// Cargo: a dependency does not compile, most often because it was written for a much older compiler.
fn dependency(line: &str, own: &[&str]) -> Option<String> {
    let name = between(line.split_once("could not compile ")?.1, '`')?;
    let is_own = own.iter().any(|package| package.replace('-', "_") == name.replace('-', "_"));
    (!is_own).then(|| {
        format!(
            "the package `{name}`, which the driver depends on, does not compile with this compiler: use a newer release of the \
             package, or add a rust-toolchain.toml with the toolchain that it was written for"
        )
    })
}

/// Clang: `fatal error: 'x.h' file not found`; the kit itself: ``the kit has no header `x.h` ``.
fn header(line: &str) -> Option<String> {
    let name = match line.split_once("file not found") {
        Some((before, _)) => between(before.split_once("error:")?.1, '\'')?,
        None => between(line.split_once("the kit has no header ")?.1, '`')?,
    };
    Some(format!("no header `{name}`: the kit does not have it; use a real WDK (--wdk)"))
}

/// The compiler: there is no C compiler, which links build scripts and macros.
fn linker(line: &str) -> Option<String> {
    let (_, rest) = line.split_once("error: linker `")?;
    let name = rest.split_once("` not found")?.0;
    Some(format!(
        "no program `{name}`, which links build scripts and macros: run `cargo driver setup`, or install a C compiler (Debian and \
         Ubuntu: sudo apt-get install gcc libc6-dev; Fedora: sudo dnf install gcc; Arch: sudo pacman -S gcc; macOS: xcode-select --install)"
    ))
}

/// What to change if the linker does not find the entry point of a driver.
const ENTRIES: [(&str, &str); 2] = [
    (
        "_DllMainCRTStartup",
        "the linker does not know the driver's entry point: call wdk_build::configure_wdk_binary_build() in its build.rs, or print \
         cargo::rustc-cdylib-link-arg=/ENTRY:DriverEntry there, and the same for /DRIVER, /NODEFAULTLIB and /SUBSYSTEM:NATIVE",
    ),
    (
        "DriverEntry",
        "the driver has no `DriverEntry`: make its entry point a public extern \"system\" function and write \
         #[unsafe(export_name = \"DriverEntry\")] before it",
    ),
];

/// The linker: `undefined symbol: X`.
fn symbol(line: &str, imported: &[String]) -> Option<String> {
    let name = line.split_once("undefined symbol: ")?.1.trim();
    let name = name.strip_prefix("__declspec(dllimport) ").unwrap_or(name);
    if imported.iter().any(|variable| variable == name) {
        return Some(format!(
            "`{name}` is a variable of ntoskrnl.exe that wdk-sys declares and does not import, so the driver would not read the \
             variable: declare it in the driver as #[link(name = \"ntoskrnl\")] unsafe extern \"C\" {{ static {name}: …; }}"
        ));
    }
    if let Some((_, text)) = ENTRIES.iter().find(|(entry, _)| *entry == name) {
        return Some((*text).to_owned());
    }
    Some(format!(
        "no routine `{name}` to link with: if a module of Windows exports it, list it in a module definition file (LIBRARY \
         ntoskrnl.exe, EXPORTS {name}), and name the file in [package.metadata.driver]: exports = [\"FILE.def\"]"
    ))
}

/// The compiler or the linker: the kit does not have a library that the driver links with.
fn library(line: &str) -> Option<String> {
    let name = match line.split_once("could not find native static library ") {
        Some((_, rest)) => between(rest, '`')?,
        None => between(line.split_once("could not open ")?.1, '\'')?.strip_suffix(".lib")?,
    };
    Some(format!(
        "no library `{name}`: the driver links with it, but the kit does not have it; list its routines in a module definition file, \
         and name the file in [package.metadata.driver]: exports = [\"FILE.def\"], or use a real WDK (--wdk)"
    ))
}

/// wdk-macros: a WDF function has no `PFN_` type.
fn framework(line: &str) -> Option<String> {
    let name = ["Failed to find ", "not found: ", "no entry found for "]
        .iter()
        .filter_map(|phrase| line.split_once(phrase))
        .flat_map(|(_, after)| after.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .find(|word| word.starts_with("Wdf") || word.starts_with("PFN_WDF"))?;
    if name.to_ascii_uppercase().contains("WDFUSB") {
        return Some(format!("no signature for `{name}`: enable the feature `usb` of wdk-sys; the WDK needs it, too"));
    }
    Some(format!(
        "no signature for the framework function `{name}`: write it after its index in \
         crates/toolchain/wdk-kit/kit/wdf/functions.txt ({GUIDE})"
    ))
}

const REMOVED: &str = "the driver, or one of its dependencies, enables an unstable feature that this compiler does not have (any \
                       more): name the toolchain that it was written for in a rust-toolchain.toml";

/// Parts of messages, and what to change in the driver for each.
const DEFECTS: [(&str, &str); 7] = [
    ("unknown feature `", REMOVED),
    ("feature has been removed", REMOVED),
    (
        "language item required, but not found: `eh_personality`",
        "the driver unwinds: add panic = \"abort\" to [profile.dev] and [profile.release] in the workspace's Cargo.toml",
    ),
    (
        "unwinding panics are not supported without std",
        "the driver unwinds: add panic = \"abort\" to [profile.dev] and [profile.release] in the workspace's Cargo.toml",
    ),
    (
        "`#[panic_handler]` function required, but not found",
        "the driver has no panic handler: depend on wdk-panic and write `extern crate wdk_panic;`",
    ),
    (
        "no global memory allocator found",
        "the driver allocates memory but has no allocator: add `#[global_allocator] static A: wdk_alloc::WdkAllocator = …`",
    ),
    (
        "may not be used on the stable release channel",
        "the driver uses unstable features: add a rust-toolchain.toml with channel = \"nightly\" beside its Cargo.toml",
    ),
];

fn defect(line: &str) -> Option<String> {
    let (_, text) = DEFECTS.iter().find(|(part, _)| line.contains("error") && line.contains(part))?;
    Some((*text).to_owned())
}

/// The compiler: names that `wdk_sys` does not have. One message can have several of them. Names that a glob import should have
/// brought are recognized by their form.
fn bindings(line: &str) -> Vec<String> {
    if !line.contains("error") || !["cannot find ", "unresolved import"].iter().any(|phrase| line.contains(phrase)) {
        return Vec::new();
    }
    let quoted = || line.split('`').skip(1).step_by(2);
    let is_ours = |text: &str| text.contains("wdk_sys") || text.contains("ntddk");
    let names: Vec<&str> = if line.contains("unresolved import") {
        quoted().filter(|text| is_ours(text)).collect()
    } else if line.contains("in this scope") {
        quoted().take(1).filter(|name| is_of_windows(name)).collect()
    } else {
        quoted().take(1).filter(|_| is_ours(line)).collect()
    };
    let last = |name: &str| name.rsplit("::").next().unwrap_or(name).to_owned();
    let describe = |name: String| {
        format!(
            "no declaration of `{name}`: check its spelling, or declare it in a header of the driver, and name the header in \
             [package.metadata.driver]: headers = [\"FILE.h\"]"
        )
    };
    names.into_iter().map(|name| describe(last(name))).collect()
}

/// Whether a name has the form of names in the headers of Windows: `KeFoo`, `FILE_FOO`, `PFOO_BAR`.
fn is_of_windows(name: &str) -> bool {
    const PREFIXES: [&str; 17] =
        ["Ke", "Ex", "Io", "Mm", "Ob", "Ps", "Rtl", "Zw", "Nt", "Se", "Cm", "Po", "Hal", "Flt", "FsRtl", "Etw", "Wdf"];
    let is_routine = PREFIXES
        .iter()
        .any(|prefix| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase())));
    let is_constant =
        name.contains('_') && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    is_routine || is_constant
}

/// The text between the first two marks.
fn between(text: &str, mark: char) -> Option<&str> {
    text.split(mark).nth(1)
}

/// The text without the escape sequences for colours.
pub(crate) fn strip_colors(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, after)| after));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::explain;

    #[test]
    fn a_missing_header_is_named() {
        let output = "wdf-input.h:3:10: fatal error: 'usb.h' file not found\n";
        assert!(explain(output, &[], &[])[0].starts_with("no header `usb.h`"));
        let output = "Error: the kit has no header `gpio.h`, which wdk-sys' Gpio bindings need\n";
        assert!(explain(output, &[], &[])[0].starts_with("no header `gpio.h`"));
    }

    #[test]
    fn a_missing_c_compiler_is_named_and_no_package_is_blamed() {
        let output = "error: linker `cc` not found\n  |\nerror: could not compile `quote` (build script) due to 1 previous error\n";
        let lines = explain(output, &[], &[]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains("`cc`"), "{lines:?}");
        assert!(lines[0].contains("cargo driver setup"), "{lines:?}");
    }

    #[test]
    fn a_full_disk_is_named_and_no_package_is_blamed() {
        let output = "error: failed to write /t/lib.rmeta: No space left on device (os error 28)\n\
                    error: could not compile `bindgen` (lib) due to 1 previous error\n";
        let lines = explain(output, &[], &[]);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].starts_with("the disk is full"), "{lines:?}");
    }

    #[test]
    fn an_undefined_symbol_is_named_once() {
        let output = "rust-lld: error: undefined symbol: KeFoo\n>>> x\nrust-lld: error: undefined symbol: KeFoo\n";
        let lines = explain(output, &[], &[]);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("no routine `KeFoo`"));
    }

    #[test]
    fn a_missing_entry_point_is_distinguished_from_a_missing_routine() {
        for (name, expected) in [("_DllMainCRTStartup", "configure_wdk_binary_build"), ("DriverEntry", "export_name")] {
            let lines = explain(&format!("rust-lld: error: <root>: undefined symbol: {name}\n"), &[], &[]);
            assert!(lines[0].contains(expected), "{lines:?}");
            assert!(!lines[0].contains("exports"), "{lines:?}");
        }
    }

    #[test]
    fn a_variable_that_has_to_be_imported_is_distinguished_from_a_routine() {
        let output = "rust-lld: error: undefined symbol: KeNumberProcessors\n";
        let line = explain(output, &[], &[String::from("KeNumberProcessors")]).remove(0);
        assert!(line.contains("`KeNumberProcessors` is a variable"), "{line}");
        assert!(line.contains("#[link"), "{line}");
    }

    #[test]
    fn names_that_wdk_sys_lacks_are_named_however_they_are_imported() {
        let output = "error[E0425]: cannot find function `IoFoo` in module `wdk_sys::ntddk`\n\
                    \x1b[1merror[E0432]\x1b[0m: unresolved imports `wdk_sys::FOO_CONFIG`, `wdk_sys::ntddk::KeBar`\n\
                    error[E0412]: cannot find type `PFOO_BAR` in this scope\n\
                    error[E0425]: cannot find function `ZwFoo` in this scope\n";
        let lines = explain(output, &[], &[]);
        for (line, name) in lines.iter().zip(["IoFoo", "FOO_CONFIG", "KeBar", "PFOO_BAR", "ZwFoo"]) {
            assert!(line.starts_with(&format!("no declaration of `{name}`")), "{line}");
        }
        assert_eq!(lines.len(), 5);
    }

    #[test]
    fn a_missing_panic_setting_or_library_of_the_driver_is_named() {
        let output = "error: language item required, but not found: `eh_personality`\n\
                    error: could not find native static library `portcls`, perhaps an -L flag is missing?\n";
        let lines = explain(output, &[], &[]);
        assert!(lines[0].contains("panic = \"abort\""), "{lines:?}");
        assert!(lines[1].starts_with("no library `portcls`"), "{lines:?}");
    }

    #[test]
    fn a_package_of_others_that_does_not_compile_is_named() {
        let output =
            "error[E0793]: reference to field\nerror: could not compile `ntapi` (lib) due to 2 previous errors\n";
        let lines = explain(output, &["my-driver"], &[]);
        assert!(lines[0].contains("`ntapi`"), "{lines:?}");
        assert!(lines[0].contains("rust-toolchain.toml"), "{lines:?}");
        let output =
            "error[E0308]: mismatched types\nerror: could not compile `my_driver` (lib) due to 1 previous error\n";
        assert!(explain(output, &["my-driver"], &[]).is_empty());
        let output = "error[E0635]: unknown feature `fixed_size_array`\n";
        assert!(explain(output, &[], &[])[0].contains("unstable feature"));
        let output = "error[E0557]: feature has been removed\n";
        assert!(explain(output, &[], &[])[0].contains("unstable feature"));
    }

    #[test]
    fn a_library_that_the_linker_does_not_find_is_named() {
        let output = "rust-lld: error: could not open 'portcls.lib': No such file or directory\n";
        assert!(explain(output, &[], &[])[0].starts_with("no library `portcls`"));
    }

    #[test]
    fn mistakes_of_the_driver_are_not_blamed_on_the_kit() {
        let output = "error[E0308]: mismatched types\nerror[E0425]: cannot find value `x` in this scope\n\
                    error[E0412]: cannot find type `Thing` in this scope\n";
        assert!(explain(output, &[], &[]).is_empty());
    }

    #[test]
    fn a_build_script_that_fails_is_explained_in_one_sentence() {
        let failed = |output: &str| {
            let head =
                "error: failed to run custom build command for `ffi v0.1.0 (/d/ffi)`\n\nCaused by:\n  process failed\n";
            explain(&format!("{head}  --- stderr\n{output}"), &[], &[])
        };
        assert_eq!(
            failed(
                "  Error: Couldn't run: \"Updating git repository `https://a.b/c`\\nwarning: spurious network error\"\n"
            ),
            ["the build script of `ffi` needs https://a.b/c, which cargo could not download"]
        );
        assert_eq!(
            failed("  thread 'main' panicked at build.rs:1:2:\n  no such thing\n  note: more\n"),
            ["the build script of `ffi` failed: no such thing"]
        );
        let long = failed(&format!("  Error: {}\n", "x".repeat(1000)));
        assert!(long[0].len() < 300, "{long:?}");
        assert!(long[0].ends_with('…'), "{long:?}");
    }

    #[test]
    fn an_imported_routine_is_named_without_how_it_is_imported() {
        let found = explain("rust-lld: error: undefined symbol: __declspec(dllimport) KeFoo\n", &[], &[]);
        assert!(found[0].contains("no routine `KeFoo`"), "{found:?}");
    }
}
