//! Tests a WDK in the folder structures that users have. The tests create these folders from the files of the kit, with
//! file names in another case.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use driver_build::link_wdk;
use wdk_kit::{VERSION, make};

fn temporary(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("wdk").join(name);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn kit() -> PathBuf {
    make(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/driver/kit")).unwrap()
}

/// Copies a folder and renames every file.
fn copy(from: &Path, to: &Path, rename: fn(&str) -> String) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            copy(&path, &to.join(name), rename);
        } else {
            fs::copy(&path, to.join(rename(&name))).unwrap();
        }
    }
}

/// Changes the name without its extension to upper case: `ntddk.h` becomes `NTDDK.h`.
fn shout(name: &str) -> String {
    name.split_once('.').map_or_else(|| name.to_owned(), |(stem, end)| format!("{}.{end}", stem.to_uppercase()))
}

/// Compiles C that includes headers with names in another case, and checks the names of libraries.
fn is_usable(root: &Path, version: &str) {
    let include = root.join("Include");
    let source = root.join("driver.c");
    fs::write(&source, "#include \"Ntddk.h\"\n#include \"WDF.H\"\nWDF_DRIVER_CONFIG Config;\nDRIVER_OBJECT *Driver;\n")
        .unwrap();
    let folders = [
        include.join(version).join("km/crt"),
        include.join(version).join("km"),
        include.join(version).join("shared"),
        include.join("wdf/kmdf/1.33"),
    ];
    assert!(folders.iter().all(|folder| folder.is_dir()), "{folders:?}");
    let output = Command::new("clang")
        .args(["--target=x86_64-pc-windows-msvc", "-D_AMD64_", "-fsyntax-only", "-fms-extensions", "-w"])
        .args(["-DKMDF_VERSION_MAJOR=1", "-DKMDF_VERSION_MINOR=33"])
        .args(["-ivfsoverlay".as_ref(), root.join("overlay.yaml").as_os_str()])
        .args(folders.map(|folder| format!("-I{}", folder.display())))
        .arg(&source)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for library in ["ntoskrnl.lib", "BufferOverflowFastFailK.lib", "hal.lib"] {
        assert!(root.join("Lib").join(version).join("km/x64").join(library).is_file(), "{library}");
    }
    assert!(root.join("Lib/wdf/kmdf/x64/1.33/WdfDriverEntry.lib").is_file());
}

#[test]
fn packages_of_nuget_are_one_wdk() {
    let folder = temporary("nuget");
    let kit = kit();
    let wdk = folder.join("Microsoft.Windows.WDK.x64.10.0.26100.1/c");
    let sdk = folder.join("Microsoft.Windows.SDK.CPP.10.0.26100.1/c");
    copy(&kit.join("Include").join(VERSION).join("km"), &wdk.join("Include").join(VERSION).join("km"), shout);
    copy(&kit.join("Include/wdf"), &wdk.join("Include/wdf"), shout);
    copy(&kit.join("Lib"), &wdk.join("Lib"), shout);
    copy(&kit.join("Include").join(VERSION).join("shared"), &sdk.join("Include").join(VERSION).join("shared"), shout);
    is_usable(&link_wdk(&folder, &temporary("of-nuget")).unwrap(), VERSION);
}

#[test]
fn a_folder_that_xwin_wrote_is_a_wdk() {
    let folder = temporary("xwin");
    let kit = kit();
    let lower = |name: &str| name.to_lowercase();
    copy(&kit.join("Include").join(VERSION), &folder.join("sdk/include"), lower);
    copy(&kit.join("Include/wdf"), &folder.join("sdk/include/wdf"), lower);
    copy(&kit.join("Lib").join(VERSION).join("km/x64"), &folder.join("sdk/lib/km/x86_64"), lower);
    copy(&kit.join("Lib/wdf/kmdf/x64"), &folder.join("sdk/lib/wdf/kmdf/x86_64"), lower);
    is_usable(&link_wdk(&folder, &temporary("of-xwin")).unwrap(), VERSION);
}

#[test]
fn a_folder_without_the_kernels_headers_is_refused() {
    let folder = temporary("none");
    fs::create_dir_all(folder.join("Include/10.0.26100.0/um")).unwrap();
    let error = link_wdk(&folder, &temporary("of-none")).unwrap_err().to_string();
    assert!(error.contains("is not a WDK"), "{error}");
    assert!(error.contains("none"), "{error}");
}
