//! C and C++ code of drivers compiles with the kit, for both processors and with the oldest and the newest framework.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Compiles a file of `tests/c`, and returns its object code. Warnings are errors.
fn compile(file: &str, minor: u8, triple: &str, processor: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kit = wdk_kit::make(&root.join("../../../target/driver/kit")).unwrap();
    let include = kit.join("Include").join(wdk_kit::VERSION);
    let framework = kit.join(format!("Include/wdf/kmdf/1.{minor}"));
    let object = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{file}-{minor}-{processor}.obj"));
    let is_cpp = Path::new(file).extension().is_some_and(|extension| extension == "cpp");
    let output = Command::new("clang")
        .args([&format!("--target={triple}"), &format!("-D{processor}"), "-c", "-O1", "-fms-extensions"])
        .args(["-fms-compatibility", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-missing-braces"])
        .args(["-Wno-pragma-pack", "-D_KERNEL_MODE=1", "-DPOOL_NX_OPTIN=1", "-DKMDF_VERSION_MAJOR=1"])
        .arg(format!("-DKMDF_VERSION_MINOR={minor}"))
        .args(if is_cpp { &["-std=c++17", "-fno-exceptions", "-fno-rtti"][..] } else { &[] })
        .args(
            [include.join("km"), include.join("shared"), include.join("km/crt"), framework]
                .map(|dir| format!("-I{}", dir.display())),
        )
        .arg(root.join("tests/c").join(file))
        .arg("-o")
        .arg(&object)
        .output()
        .expect("clang");
    assert!(output.status.success(), "{file} {minor} {triple}:\n{}", String::from_utf8_lossy(&output.stderr));
    fs::read(object).expect("the object file")
}

#[test]
fn c_code_of_a_framework_driver_compiles() {
    for minor in [9, 15, 25, 33] {
        compile("interface.c", minor, "x86_64-pc-windows-msvc", "_AMD64_");
        compile("interface.c", minor, "aarch64-pc-windows-msvc", "_ARM64_");
    }
}

#[test]
fn a_minifilter_can_change_the_target_of_a_request() {
    compile("filter.c", 33, "x86_64-pc-windows-msvc", "_AMD64_");
}

#[test]
fn a_callout_driver_compiles() {
    compile("callout.c", 33, "x86_64-pc-windows-msvc", "_AMD64_");
    compile("callout.c", 33, "aarch64-pc-windows-msvc", "_ARM64_");
}

#[test]
fn identifiers_of_the_filtering_platform_are_in_a_library() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let kit = wdk_kit::make(&root.join("../../../target/driver/kit")).unwrap();
    for processor in ["x64", "ARM64"] {
        let library = kit.join("Lib").join(wdk_kit::VERSION).join("km").join(processor).join("uuid.lib");
        let contents = String::from_utf8_lossy(&fs::read(library).unwrap()).into_owned();
        assert!(contents.contains("FWPM_LAYER_STREAM_V4"));
        assert!(contents.contains("FWPM_CONDITION_IP_REMOTE_PORT"));
    }
}

#[test]
fn a_driver_in_cpp_imports_the_names_of_c() {
    for (triple, processor) in [("x86_64-pc-windows-msvc", "_AMD64_"), ("aarch64-pc-windows-msvc", "_ARM64_")] {
        let object = String::from_utf8_lossy(&compile("driver.cpp", 33, triple, processor)).into_owned();
        for routine in ["IoCreateDevice", "USBD_GetUSBDIVersion", "WmiTraceMessageVa", "ZwOpenKey"] {
            assert!(object.contains(routine), "{routine} is not imported ({triple})");
            assert!(!object.contains(&format!("?{routine}@")), "{routine} has the name of C++ ({triple})");
        }
    }
}
