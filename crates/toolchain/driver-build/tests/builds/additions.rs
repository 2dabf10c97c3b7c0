//! Drivers that add declarations and routines to the kit with their own files.

use std::fs;
use std::path::Path;

use object::Object;

use crate::shapes::{CDYLIB, MODEL, PROFILE, builds, folder, is_refused, lock, package, plain, repository, write};

/// Adds `[package.metadata.driver]` to a manifest.
fn set(folder: &Path, settings: &str) {
    let path = folder.join("Cargo.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(path, format!("{text}\n[package.metadata.driver]\n{settings}\n")).unwrap();
}

/// The routines that an image imports from a module.
fn imports(image: &str, module: &str) -> Vec<String> {
    let file = fs::read(repository().join("target/driver/x64").join(image).with_extension("sys")).unwrap();
    let image = object::File::parse(file.as_slice()).unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let imports = image.imports().unwrap().into_iter();
    imports.filter(|import| text(import.library()) == module).map(|import| text(import.name())).collect()
}

#[test]
fn a_driver_is_linked_with_the_routines_of_its_own_definition_file() {
    let call = "unsafe extern \"system\" { fn ShapeRoutine() -> i32; }\n\
                #[unsafe(no_mangle)]\npub extern \"system\" fn Caller() -> i32 { unsafe { ShapeRoutine() } }\n";
    let folder = plain("shape-exports", "", "");
    let source = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    write(folder.join("src/lib.rs"), &format!("{source}{call}"));
    is_refused(&folder, &["no routine `ShapeRoutine`", "exports = [\"FILE.def\"]"]);
    write(folder.join("lib/more.def"), "LIBRARY shape.sys\nEXPORTS\nShapeRoutine\n");
    set(&folder, "exports = [\"lib/more.def\"]");
    builds(&[], &folder, &["shape_exports"]);
    assert_eq!(imports("shape_exports", "shape.sys"), ["ShapeRoutine"]);
    write(folder.join("lib/more.def"), "no definition\n");
    is_refused(&folder, &["lib/more.def", "`exports` of [package.metadata.driver]"]);
}

#[test]
fn the_bindings_have_the_declarations_of_the_drivers_own_header() {
    let folder = folder("headers");
    package(&folder, "shape-headers", &format!("[workspace]\n{MODEL}{CDYLIB}{PROFILE}"));
    lock(&folder);
    write(
        folder.join("more.h"),
        "typedef struct _SHAPE_RECORD { ULONG Size; PDEVICE_OBJECT Device; } SHAPE_RECORD;\n\
         NTSYSAPI NTSTATUS NTAPI ZwShapeRoutine(SHAPE_RECORD *Record);\n",
    );
    write(folder.join("more.def"), "LIBRARY ntoskrnl.exe\nEXPORTS\nZwShapeRoutine\n");
    set(&folder, "headers = [\"more.h\"]\nexports = [\"more.def\"]");
    let source = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let call = "let mut record = wdk_sys::SHAPE_RECORD { Size: 1, ..Default::default() };\n\
                unsafe { wdk_sys::ntddk::ZwShapeRoutine(&raw mut record) }";
    write(folder.join("src/lib.rs"), &source.replace("NTSTATUS { 0 }", &format!("NTSTATUS {{ {call} }}")));
    builds(&[], &folder, &["shape_headers"]);
    assert!(imports("shape_headers", "ntoskrnl.exe").contains(&String::from("ZwShapeRoutine")));
}
