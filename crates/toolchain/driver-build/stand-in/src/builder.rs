//! A bindgen builder for the kit's headers.

use std::sync::OnceLock;
use std::thread;

use bindgen::callbacks::{ItemInfo, ItemKind, ParseCallbacks};
use bindgen::{Builder, EnumVariation, Formatter};

use crate::config::{own_headers, Config};
use crate::error::ConfigError;
use crate::release;

/// Parts of the headers that a run of bindgen leaves out, by the name of the thread in which wdk-sys runs it. wdk-sys runs bindgen
/// once for each generated file, and without this each run would read all declarations. A thread with another name gets all of them,
/// and so does every run for a driver with its own headers, which may use any declaration.
const UNUSED: [(&str, &[&str]); 4] = [
    ("bindgen constants.rs generator", &["WDK_KIT_NO_TYPES", "WDK_KIT_NO_RECORDS", "WDK_KIT_NO_ROUTINES"]),
    ("bindgen types.rs generator", &["WDK_KIT_NO_CONSTANTS", "WDK_KIT_NO_ROUTINES"]),
    ("bindgen base.rs generator", &["WDK_KIT_NO_CONSTANTS", "WDK_KIT_NO_RECORDS"]),
    (
        "bindgen wdf.rs generator",
        &["WDK_KIT_NO_CONSTANTS", "WDK_KIT_NO_TYPES", "WDK_KIT_NO_RECORDS", "WDK_KIT_NO_ROUTINES"],
    ),
];

/// A structure that is declared before it is defined, as most structures of the WDK.
const PROBE: &str = "typedef struct probe probe; struct probe { int field; };";

/// Checks that bindgen finds the fields of structures. Releases before 0.72.1 do not with LLVM 22 and later: each structure that is
/// declared before it is defined gets one byte, and the driver's code does not compile.
fn check_libclang() -> Result<(), ConfigError> {
    static FINDS_FIELDS: OnceLock<bool> = OnceLock::new();
    let finds_fields = || {
        let builder = Builder::default().header_contents("probe.h", PROBE);
        let probe = builder.detect_include_paths(false).layout_tests(false).formatter(Formatter::None).generate();
        // Another error is that of the bindings, too, and bindgen reports it there.
        probe.map_or(true, |bindings| bindings.to_string().contains("field"))
    };
    if *FINDS_FIELDS.get_or_init(finds_fields) {
        return Ok(());
    }
    let found = bindgen::clang_version();
    let version = found.parsed.map_or(found.full, |(major, minor)| format!("{major}.{minor}"));
    let error = ConfigError::Libclang { version };
    // Build scripts of some releases print their error in Rust's notation.
    eprintln!("{error}");
    Err(error)
}

/// Returns a builder with the settings that bindings to driver headers need.
pub(crate) fn builder(config: &Config) -> Result<Builder, ConfigError> {
    check_libclang()?;
    let includes = config.include_dirs()?.into_iter().map(|path| format!("--include-directory={}", path.display()));
    let definitions = config.definitions().into_iter().map(|(name, value)| match value {
        Some(value) => format!("--define-macro={name}={value}"),
        None => format!("--define-macro={name}"),
    });
    let thread = thread::current();
    let reads_all = !own_headers().is_empty();
    let unused = UNUSED.iter().find(|(name, _)| thread.name() == Some(name) && !reads_all);
    let unused = unused.map_or(&[][..], |(_, unused)| unused);
    let overlay = config.overlay();
    Ok(Builder::default()
        .use_core()
        .derive_default(true)
        // Assertions about every record take a third of the time that wdk-sys takes to compile. A test checks the kit's records with
        // them; a WDK, which has an overlay, may have any records.
        .layout_tests(!overlay.is_empty())
        .generate_cstr(true)
        // The kit is complete; the C headers of the host must not be used instead of those of Windows.
        .detect_include_paths(false)
        // Keeps `size_t` in the declarations of memcpy and similar functions, so that bindgen maps it to `usize`.
        .clang_arg("-fno-builtin")
        .clang_args(includes)
        .clang_args(definitions)
        .clang_args(unused.iter().map(|name| format!("--define-macro={name}")))
        .clang_args(overlay)
        .clang_args(["-fms-compatibility", "-fms-extensions", "-Wno-everything"])
        // Deprecated routines, which the original leaves out too.
        .blocklist_item("ExAllocatePool(WithTag|WithQuotaTag|WithTagPriority|)")
        .blocklist_item("USBD_(CalculateUsbBandwidth|CreateConfigurationRequest|Debug_LogEntry|GetUSBDIVersion)")
        .blocklist_item("USBD_(ParseConfigurationDescriptor|QueryBusTime|RegisterHcFilter)")
        // Bindgen cannot express them.
        .blocklist_item(".*MCG_CAP(?:__bindgen.*)?")
        .blocklist_item(".*WHEA_(XPF_MCA_SECTION|ARM_PROCESSOR_ERROR|ARM_CACHE_ERROR)")
        .blocklist_item(".*WHEA_ARM_BUS_ERROR(?:__bindgen.*)?")
        .blocklist_item(".*(ADDRESS0_OWNERSHIP_ACQUIRE|USBDEVICE_(ABORTIO|STARTIO|TREE_PURGEIO))")
        .opaque_type("_K(GDT|IDT)ENTRY64")
        .no_default(".*tagMONITORINFOEXA")
        .must_use_type("NTSTATUS")
        .must_use_type("HRESULT")
        .default_enum_style(EnumVariation::ModuleConsts)
        .parse_callbacks(Box::new(bindgen::CargoCallbacks::new()))
        .parse_callbacks(Box::new(Names {
            function_table: config.compute_wdffunctions_symbol_name().filter(|_| release::NAMES_FUNCTION_TABLE),
        }))
        // Formatting a megabyte of code takes seconds, and the code is not meant to be read.
        .formatter(Formatter::None))
}

/// Renames the function table, whose name has a version, to the name of the C macro for it.
#[derive(Debug)]
struct Names {
    function_table: Option<String>,
}

impl ParseCallbacks for Names {
    fn generated_name_override(&self, item: ItemInfo<'_>) -> Option<String> {
        let is_variable = matches!(item.kind, ItemKind::Var);
        (is_variable && Some(item.name) == self.function_table.as_deref()).then(|| String::from("WdfFunctions"))
    }
}
