//! Compares the signatures of routines with Microsoft's metadata, as the sources of windows-sys publish it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nt_verifier::routine::{HAL, KERNEL, Kind, Routine, Signature};
use serde_json::Value;

use super::routines::all;
use super::undeclared::{DIFFERENT, UNDECLARED};

/// The folders of windows-sys with declarations for drivers.
const DIRS: [&str; 6] = [
    "Wdk",
    "Win32/Foundation",
    "Win32/NetworkManagement/WindowsFilteringPlatform",
    "Win32/Security",
    "Win32/Storage",
    "Win32/System",
];
/// A declaration of a function begins with this.
const FUNCTION: &str = "windows_link::link!(";

/// What the metadata says about a parameter or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    /// It has exactly this kind.
    Known(Kind),
    /// An integer of this many bytes, which the metadata gives a name: an enumeration, or a pointer to something opaque.
    Named(usize),
    /// A structure by value.
    Structure,
}

/// The declarations of windows-sys: functions and types by name.
#[derive(Default)]
struct Metadata {
    functions: BTreeMap<String, String>,
    /// The modules of functions.
    modules: BTreeMap<String, String>,
    types: BTreeMap<String, String>,
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a folder of sources").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// Returns the host target of the compiler.
fn host() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(output.stdout).expect("rustc prints UTF-8");
    version.lines().find_map(|line| line.strip_prefix("host: ")).expect("rustc names its host").to_owned()
}

/// Returns the folder with the sources of the release of windows-sys that the tests use.
fn dir() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        // Without packages for other platforms. What the filter leaves may not have been downloaded if only this crate was built.
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &host(), "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo describes the workspace");
    let packages = metadata["packages"].as_array().expect("packages");
    let is_wanted = |package: &&Value| {
        package["name"] == "windows-sys" && package["version"].as_str().is_some_and(|text| text.starts_with("0.61."))
    };
    let package = packages.iter().find(is_wanted).expect("a dependency of the tests");
    Path::new(package["manifest_path"].as_str().expect("a path")).with_file_name("src").join("Windows")
}

impl Metadata {
    fn read() -> Self {
        let dir = dir();
        let mut metadata = Self::default();
        for file in DIRS.iter().flat_map(|part| sources(&dir.join(part))) {
            metadata.add(&fs::read_to_string(file).expect("a source"));
        }
        metadata
    }

    fn add(&mut self, text: &str) {
        let mut condition = "";
        for line in text.lines() {
            if let Some(function) = line.strip_prefix(FUNCTION) {
                let (module, function) = function.split_once("fn ").expect("a function");
                let (name, rest) = function.split_once('(').expect("parameters");
                let module = module.split('"').nth(1).expect("a module");
                self.modules.entry(name.to_owned()).or_insert_with(|| module.to_owned());
                self.functions.entry(name.to_owned()).or_insert_with(|| rest.to_owned());
            } else if let Some((name, target)) = line.strip_prefix("pub type ").and_then(|rest| rest.split_once(" = "))
            {
                // Types for other processors come with a condition.
                if !condition.contains("target_arch") || condition.contains("\"x86_64\"") {
                    self.types.entry(name.to_owned()).or_insert_with(|| target.trim_end_matches(';').to_owned());
                }
            }
            condition = if line.starts_with("#[cfg(") { line } else { "" };
        }
    }

    /// Returns the type that is spelled like this.
    fn resolve(&self, spelling: &str) -> Type {
        let spelling = spelling.trim();
        let known = match spelling {
            "" | "!" => Kind::Void,
            "bool" => Kind::Boolean,
            "u8" => Kind::Unsigned(1),
            "u16" => Kind::Unsigned(2),
            "u32" => Kind::Unsigned(4),
            "u64" | "usize" => Kind::Unsigned(8),
            "i8" => Kind::Signed(1),
            "i16" => Kind::Signed(2),
            "i32" => Kind::Signed(4),
            "i64" | "isize" => Kind::Signed(8),
            "..." => Kind::Rest,
            _ if spelling.starts_with('*') || spelling.starts_with("Option<") => Kind::Pointer,
            _ => return self.named(spelling),
        };
        Type::Known(known)
    }

    fn named(&self, path: &str) -> Type {
        match path.rsplit("::").next().unwrap_or(path).trim() {
            "NTSTATUS" => Type::Known(Kind::Status),
            "BOOL" => Type::Known(Kind::Signed(4)),
            "PSTR" | "PCSTR" | "PWSTR" | "PCWSTR" => Type::Known(Kind::Pointer),
            name => match self.types.get(name).map(|target| self.resolve(target)) {
                Some(Type::Known(Kind::Unsigned(bytes) | Kind::Signed(bytes))) => Type::Named(bytes),
                Some(found) => found,
                None => Type::Structure,
            },
        }
    }

    /// Returns the types of a function's parameters and of its result.
    fn function(&self, name: &str) -> Option<(Vec<Type>, Type)> {
        let (parameters, result) =
            self.functions.get(name)?.rsplit_once(')').map(|(text, _)| text)?.rsplit_once(')')?;
        let result = self.resolve(result.trim().trim_start_matches("->"));
        let spellings = parameters.split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
        let spellings = spellings.map(|parameter| parameter.split_once(" : ").map_or(parameter, |(_, of)| of));
        Some((spellings.map(|of| self.resolve(of)).collect(), result))
    }
}

/// Returns whether a declaration agrees with the metadata.
fn agrees(ours: Kind, theirs: Type) -> bool {
    match theirs {
        Type::Known(theirs) => match (ours, theirs) {
            (Kind::Handle, Kind::Pointer) | (Kind::Boolean, Kind::Unsigned(1)) => true,
            _ => ours == theirs,
        },
        Type::Named(8) => matches!(ours, Kind::Pointer | Kind::Handle | Kind::Unsigned(8) | Kind::Signed(8)),
        Type::Named(1) if ours == Kind::Boolean => true,
        Type::Named(bytes) => ours == Kind::Unsigned(bytes) || ours == Kind::Signed(bytes),
        Type::Structure => false,
    }
}

fn agree(ours: Signature, (parameters, result): &(Vec<Type>, Type)) -> bool {
    ours.parameters().count() == parameters.len()
        && ours.parameters().zip(parameters).all(|(ours, theirs)| agrees(ours, *theirs))
        && agrees(ours.result, *result)
}

#[test]
fn signatures_agree_with_the_metadata() {
    let metadata = Metadata::read();
    assert!(metadata.functions.len() > 5000, "{} functions", metadata.functions.len());
    let mut wrong = Vec::new();
    for Routine { name, signature: ours, .. } in all() {
        let Some(theirs) = metadata.function(name) else { continue };
        let is_known = DIFFERENT.iter().any(|(known, _)| known == name);
        if agree(*ours, &theirs) == is_known {
            wrong.push(format!("{name}: {ours}, but the metadata has {theirs:?}"));
        }
    }
    assert_eq!(wrong, [""; 0], "signatures that differ, or listed differences that do not exist");
}

/// Modules of user mode export some routines as well, and the metadata names only those.
#[test]
fn modules_agree_with_the_metadata() {
    let metadata = Metadata::read();
    let of_kernel = |name: &str| metadata.modules.get(name).filter(|module| [KERNEL, HAL].contains(&module.as_str()));
    let compared = all().filter_map(|routine| Some((routine.name, routine.module, of_kernel(routine.name)?.as_str())));
    let compared: Vec<(&str, &str, &str)> = compared.collect();
    assert!(compared.len() > 400, "{} routines", compared.len());
    let wrong: Vec<_> = compared.iter().filter(|(_, ours, theirs)| ours != theirs).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn each_signature_that_the_metadata_lacks_has_another_source() {
    let metadata = Metadata::read();
    let lacking: BTreeSet<&str> =
        all().map(|routine| routine.name).filter(|name| !metadata.functions.contains_key(*name)).collect();
    let listed = UNDECLARED.iter().flat_map(|(_, names)| names.iter().copied());
    assert_eq!(lacking, listed.clone().collect());
    assert_eq!(listed.count(), lacking.len(), "a routine is listed twice");
}

#[test]
fn a_wrong_width_kind_or_number_is_found() {
    const ULONG: Kind = Kind::Unsigned(4);
    const LONG: Kind = Kind::Signed(4);
    const POINTER: Kind = Kind::Pointer;
    let mut metadata = Metadata::default();
    metadata.add(
        "windows_link::link!(\"a.exe\" \"system\" fn Wait(count : u32, of : *const Win32:: X, kind : WAIT_TYPE) -> Win32::Foundation:: NTSTATUS);\n\
         pub type WAIT_TYPE = i32;\n\
         windows_link::link!(\"a.exe\" \"C\" fn Print(format : windows_sys::core::PCSTR, ...) -> u32);\n\
         windows_link::link!(\"a.exe\" \"system\" fn Nothing());",
    );
    let check =
        |name, declared, result| agree(Signature { declared, result }, &metadata.function(name).expect("a function"));
    assert!(check("Wait", &[&[ULONG], &[POINTER], &[LONG]], Kind::Status));
    assert!(check("Wait", &[&[ULONG], &[POINTER, ULONG]], Kind::Status));
    assert!(!check("Wait", &[&[Kind::Unsigned(8)], &[POINTER], &[LONG]], Kind::Status));
    assert!(!check("Wait", &[&[LONG], &[POINTER], &[LONG]], Kind::Status));
    assert!(!check("Wait", &[&[ULONG], &[POINTER]], Kind::Status));
    assert!(!check("Wait", &[&[ULONG], &[POINTER], &[LONG]], Kind::Void));
    assert!(check("Print", &[&[POINTER], &[Kind::Rest]], ULONG));
    assert!(check("Nothing", &[], Kind::Void));
    assert!(!check("Nothing", &[], ULONG));
}
