//! Other readers of PE files must agree with us: pefile, llvm-readobj and objdump, if they are installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{ARM64, Driver, X64, tools};
use driver_package::pe::{ExportTarget, Imported, LinkerMap};
use driver_package::{Image, Target, Verdict};

/// Returns images of every kind that this test creates, and images that a linker left in the target folder.
fn images(name: &str) -> Vec<(PathBuf, Image)> {
    let folder = tools::folder(name);
    let drivers = [
        ("x64.sys", Driver { machine: X64, ..Driver::default() }),
        ("arm64.sys", Driver { machine: ARM64, ..Driver::default() }),
        ("unsigned.sys", Driver { signed: false, exports: vec![], ..Driver::default() }),
    ];
    let made = drivers.map(|(name, driver)| {
        let path = folder.join(name);
        fs::write(&path, driver.build()).unwrap();
        path
    });
    // Tests that build drivers replace and remove images in that folder, so what is there now is copied.
    let linked = tools::linked_images().into_iter().enumerate().filter_map(|(number, path)| {
        let copy = folder.join(format!("{number}-{}", path.file_name()?.display()));
        fs::copy(path, &copy).ok()?;
        Some(copy)
    });
    let all = made.into_iter().chain(linked);
    all.map(|path| {
        let image =
            Image::parse(&fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, image)
    })
    .collect()
}

/// Returns the facts to compare, one per line.
fn facts(image: &Image) -> String {
    let header = &image.header;
    let mut text = String::new();
    let _ = writeln!(text, "machine {:#x}", header.machine.0);
    let _ = writeln!(text, "characteristics {:#x}", header.characteristics.0);
    let _ = writeln!(text, "dll {:#x}", header.dll_characteristics.0);
    let _ = writeln!(text, "subsystem {}", header.subsystem.0);
    let _ = writeln!(text, "version {}", header.subsystem_version);
    let _ = writeln!(text, "entry {:#x}", header.entry_rva);
    let _ = writeln!(text, "alignment {:#x}", header.section_alignment);
    let _ = writeln!(text, "image {:#x}", header.size_of_image);
    let _ = writeln!(text, "checksum {:#x} {:#x}", header.checksum.stored, header.checksum.computed);
    for section in &image.sections {
        let _ = writeln!(
            text,
            "section {} {:#x} {:#x} {:#x}",
            section.name, section.rva, section.virtual_size, section.flags.0
        );
    }
    for module in &image.imports.modules {
        for routine in &module.routines {
            let _ = match routine {
                Imported::Name(name) => writeln!(text, "import {} {name}", module.name),
                Imported::Ordinal(ordinal) => writeln!(text, "import {} #{ordinal}", module.name),
            };
        }
    }
    for export in image.exports.iter().flat_map(|exports| &exports.symbols) {
        if let (Some(name), ExportTarget::Address(rva)) = (&export.name, &export.target) {
            let _ = writeln!(text, "export {name} {} {rva:#x}", export.ordinal);
        }
    }
    let fixups = image.relocations.as_ref().map_or(0, |relocations| relocations.fixups.len());
    let _ = writeln!(text, "relocations {fixups}");
    for pdb in image.debug.iter().filter_map(|entry| entry.pdb.as_ref()) {
        let _ = writeln!(text, "pdb {}", pdb.path);
    }
    let cookie = image.load_config.as_ref().and_then(|config| config.security_cookie).unwrap_or_default();
    let flags = image.load_config.as_ref().and_then(|config| config.guard_flags).unwrap_or_default();
    let _ = writeln!(text, "cookie {cookie:#x} guard {flags:#x}");
    if let Some(signature) = &image.signature {
        let _ = writeln!(text, "signature {:#x} {:#x}", signature.offset, signature.size);
    }
    text
}

const PEFILE: &str = include_str!("../pefile_facts.py");

#[test]
fn pefile_sees_the_same_and_computes_the_same_checksum() {
    if !tools::is_there("python3", &["-c", "import pefile"]) {
        return;
    }
    for (path, image) in images("pefile") {
        let theirs = tools::run("python3", &["-c", PEFILE, text(&path)]).unwrap();
        assert_eq!(facts(&image), theirs, "{}", path.display());
    }
}

#[test]
fn llvm_readobj_sees_the_same() {
    if !tools::is_there("llvm-readobj", &["--version"]) {
        return;
    }
    let flags =
        ["--file-headers", "--sections", "--coff-imports", "--coff-exports", "--coff-basereloc", "--coff-load-config"];
    for (path, image) in images("llvm-readobj") {
        let theirs = tools::run("llvm-readobj", &[&flags[..], &[text(&path)]].concat()).unwrap();
        let field = |name: &str| values(&theirs, name);
        let header = &image.header;
        let in_parentheses = |value: u16| format!("({value:#X})");
        let machine = field("Machine");
        assert!(machine[0].ends_with(&in_parentheses(header.machine.0)), "{machine:?}");
        let subsystem = field("Subsystem");
        assert!(subsystem[0].ends_with(&in_parentheses(header.subsystem.0)), "{subsystem:?}");
        assert_eq!(field("AddressOfEntryPoint"), [format!("{:#X}", header.entry_rva)]);
        assert_eq!(field("SectionAlignment"), [header.section_alignment.to_string()]);
        assert_eq!(field("ImageBase"), [format!("{:#X}", header.image_base)]);
        assert_eq!(field("SizeOfImage"), [header.size_of_image.to_string()]);
        let raw: Vec<_> = image.sections.iter().map(|section| section.file_size.to_string()).collect();
        assert_eq!(field("RawDataSize"), raw);

        let symbols = field("Symbol");
        let ours: Vec<_> = image.imports.modules.iter().flat_map(|module| &module.routines).collect();
        assert_eq!(symbols.len(), ours.len());
        for (theirs, ours) in symbols.iter().zip(ours) {
            let Imported::Name(name) = ours else { continue };
            assert_eq!(theirs.split_whitespace().next(), Some(name.as_str()));
        }
        let fixups = field("Type").iter().filter(|kind| *kind == "DIR64").count();
        assert_eq!(fixups, image.relocations.as_ref().map_or(0, |relocations| relocations.fixups.len()));
        if let Some(cookie) = image.load_config.as_ref().and_then(|config| config.security_cookie) {
            assert_eq!(field("SecurityCookie"), [format!("{cookie:#X}")]);
        }
    }
}

#[test]
fn objdump_sees_the_same() {
    if !tools::is_there("objdump", &["--version"]) {
        return;
    }
    for (path, image) in images("objdump") {
        // Debian's objdump for one architecture may not support images for others.
        let Ok(theirs) = tools::run("objdump", &["-p", text(&path)]) else {
            eprintln!("skipped objdump on {}: it does not know the format", path.display());
            continue;
        };
        let header = &image.header;
        // Lines with a name, blanks and a hexadecimal number.
        let fields: BTreeMap<_, _> = theirs.lines().filter_map(|line| line.split_once(char::is_whitespace)).collect();
        let field = |name: &str| {
            let word = fields.get(name).and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
            u64::from_str_radix(word, 16).unwrap_or_else(|_| panic!("{name}: {word} in {theirs}"))
        };
        assert_eq!(field("AddressOfEntryPoint"), u64::from(header.entry_rva));
        assert_eq!(field("SectionAlignment"), u64::from(header.section_alignment));
        assert_eq!(field("CheckSum"), u64::from(header.checksum.stored));
        assert_eq!(field("Subsystem"), u64::from(header.subsystem.0));
        assert_eq!(field("DllCharacteristics"), u64::from(header.dll_characteristics.0));
        for module in &image.imports.modules {
            assert!(theirs.contains(&format!("DLL Name: {}\n", module.name)), "{}", module.name);
        }
    }
}

const DRIVER: &str = "\
.globl DriverEntry, helper
.text
helper: ret
DriverEntry: ret
.data
.quad DriverEntry
";

/// Rust's linker writes the checksum itself, and a map in its own format.
#[test]
fn the_linker_of_rust_writes_the_checksum_that_is_computed_and_a_map_that_is_understood() {
    // There is none under Wine.
    if !tools::is_there("rustc", &["--version"]) {
        return;
    }
    let sysroot = tools::run("rustc", &["--print", "sysroot"]).unwrap();
    let host = tools::run("rustc", &["--print", "host-tuple"]).unwrap();
    let linker = Path::new(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin/rust-lld");
    let linker = text(&linker);
    let folder = tools::folder("rust-lld");
    if !tools::is_there(linker, &["-flavor", "link", "--version"]) || !tools::is_there("llvm-mc", &["--version"]) {
        return;
    }
    let file = |name: &str| folder.join(name);
    fs::write(file("driver.s"), DRIVER).unwrap();
    for (arch, machine) in [("x86_64", X64), ("aarch64", ARM64)] {
        let object = file(&format!("{arch}.obj"));
        let image = file(&format!("{arch}.sys"));
        let triple = format!("-triple={arch}-pc-windows-msvc");
        let source = file("driver.s");
        tools::run("llvm-mc", &[&triple, "-filetype=obj", text(&source), "-o", text(&object)]).unwrap();
        let options = ["-flavor", "link", "/driver", "/subsystem:native", "/entry:DriverEntry", "/nodefaultlib"];
        let more = ["/release", "/integritycheck", "/map", &format!("/out:{}", text(&image)), text(&object)];
        tools::run(linker, &[&options[..], &more[..]].concat()).unwrap();

        let mut ours = Image::parse(&fs::read(&image).unwrap()).unwrap();
        assert_eq!(ours.header.machine.0, machine);
        assert_ne!(ours.header.checksum.stored, 0);
        assert!(ours.header.checksum.is_right(), "{:x?}", ours.header.checksum);
        ours.name_entry(LinkerMap::new(&fs::read_to_string(image.with_extension("map")).unwrap()));
        assert_eq!(ours.entry.symbol.as_ref().map(|symbol| symbol.name.as_str()), Some("DriverEntry"));
        assert!(
            Verdict::judge(&ours, Target::default()).is_loadable(),
            "{:?}",
            Verdict::judge(&ours, Target::default())
        );
    }
}

/// Returns the values of `name: value` lines.
fn values(text: &str, name: &str) -> Vec<String> {
    let matching = text.lines().filter_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(": "));
    matching.map(str::to_owned).collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the target folder's name is text")
}
