//! Rules about imports, relocations, the security cookie, and features that exist only in user mode.

use super::Severity::{MemoryIntegrity, Refused, Warning};
use super::{MEMORY_INTEGRITY, PE_FORMAT, Rule, Target, violation_if};
use pe_image::{Characteristics, Image};

/// Modules that export routines for drivers and that every Windows release has, in lower case.
const KERNEL_MODULES: &[&str] = &[
    "bootvid.dll",
    "ci.dll",
    "classpnp.sys",
    "clfs.sys",
    "cng.sys",
    "dxgkrnl.sys",
    "fltmgr.sys",
    "fwpkclnt.sys",
    "hal.dll",
    "hidclass.sys",
    "hidparse.sys",
    "kdcom.dll",
    "ks.sys",
    "ksecdd.sys",
    "msrpc.sys",
    "ndis.sys",
    "netio.sys",
    "ntoskrnl.exe",
    "portcls.sys",
    "pshed.dll",
    "scsiport.sys",
    "storport.sys",
    "tbs.sys",
    "tdi.sys",
    "tm.sys",
    "usbd.sys",
    "videoprt.sys",
    "watchdog.sys",
    "wdfldr.sys",
    "werkernel.sys",
    "wmilib.sys",
    "wpprecorder.sys",
];

/// Name prefixes of libraries that exist only in user mode, in lower case. Any other library may be a library for
/// drivers: the file name of an export driver can end in `.dll` or in `.sys`.
const USER_LIBRARIES: &[&str] = &[
    "advapi32.",
    "api-ms-win-",
    "bcrypt.",
    "cfgmgr32.",
    "combase.",
    "concrt",
    "crypt32.",
    "dbghelp.",
    "gdi32.",
    "kernel32.",
    "kernelbase.",
    "libc++.",
    "msvcp",
    "msvcr",
    "msvcrt",
    "mscoree.",
    "ntdll.",
    "ole32.",
    "oleaut32.",
    "rpcrt4.",
    "sechost.",
    "setupapi.",
    "shell32.",
    "shlwapi.",
    "tdh.",
    "ucrtbase",
    "user32.",
    "userenv.",
    "vcruntime",
    "version.",
    "win32u.",
    "winhttp.",
    "wininet.",
    "wintrust.",
    "ws2_32.",
];

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "user-import",
        severity: Refused,
        what: "nothing is imported from user-mode libraries",
        why: "the kernel does not load user-mode libraries, so it cannot resolve the imports",
        source: "Microsoft Learn, the requirements of each routine, which name the module that exports it",
        check: user_import,
    },
    Rule {
        id: "unknown-import",
        severity: Warning,
        what: "every module that is imported from exists in all Windows releases",
        why: "the driver does not load if the module is not installed",
        source: "no Microsoft document lists these modules; the list is ours",
        check: unknown_import,
    },
    Rule {
        id: "delay-load",
        severity: Refused,
        what: "nothing is delay-loaded",
        why: "the helper function that resolves delay-loaded imports works only in user mode",
        source: "Microsoft Learn, \"Linker support for delay-loaded DLLs\"",
        check: |image, _| image.imports.delayed.iter().map(|name| format!("{name} is delay-loaded")).collect(),
    },
    Rule {
        id: "writable-imports",
        severity: MemoryIntegrity,
        what: "import address tables are not in executable sections",
        why: "memory integrity, on by default in Windows 11, does not allow the loader to write to executable pages",
        source: MEMORY_INTEGRITY,
        check: writable_imports,
    },
    Rule {
        id: "tls",
        severity: Refused,
        what: "there is no thread-local storage",
        why: "the kernel has no thread-local storage; the code would use that of the current process",
        source: PE_FORMAT,
        check: |image, _| violation_if(image.has_tls, || "there is a TLS directory".into()),
    },
    Rule {
        id: "clr",
        severity: Refused,
        what: "the image is native code",
        why: "there is no .NET in the kernel",
        source: PE_FORMAT,
        check: |image, _| violation_if(image.has_clr, || "there is a CLR header".into()),
    },
    Rule {
        id: "relocatable",
        severity: Refused,
        what: "relocations are not stripped",
        why: "the kernel never loads a driver at its preferred address (STATUS_CONFLICTING_ADDRESSES)",
        source: PE_FORMAT,
        check: relocatable,
    },
    Rule {
        id: "relocations",
        severity: Refused,
        what: "every relocation can be applied",
        why: "the loader stops at the first relocation that it does not support",
        source: PE_FORMAT,
        check: relocations,
    },
    Rule {
        id: "no-relocations",
        severity: Warning,
        what: "the image has relocations",
        why: "without relocations, the driver works only if it contains no absolute address",
        source: PE_FORMAT,
        check: no_relocations,
    },
    Rule {
        id: "security-cookie",
        severity: Warning,
        what: "the security cookie is in a writable section",
        why: "the loader must write the cookie before the driver starts",
        source: "Microsoft Learn, \"Load Configuration Directory\" and \"/GS (Buffer Security Check)\"",
        check: security_cookie,
    },
];

/// Whether a driver can import from a module, judged by its name.
enum Origin {
    Kernel,
    User,
    Unknown,
}

fn origin(module: &str) -> Origin {
    let name = module.to_ascii_lowercase();
    if KERNEL_MODULES.contains(&name.as_str()) || name.starts_with("ext-ms-win-ntos-") {
        return Origin::Kernel;
    }
    let is_program = std::path::Path::new(&name).extension().is_some_and(|extension| extension == "exe");
    let is_user = USER_LIBRARIES.iter().any(|library| name.starts_with(library));
    // An unknown module may be an export driver that is installed together with the driver.
    if is_program || is_user { Origin::User } else { Origin::Unknown }
}

fn user_import(image: &Image, _: Target) -> Vec<String> {
    let user = image.imports.modules.iter().filter(|module| matches!(origin(&module.name), Origin::User));
    user.map(|module| format!("{} is not a module for drivers", module.name)).collect()
}

fn unknown_import(image: &Image, _: Target) -> Vec<String> {
    let unknown = image.imports.modules.iter().filter(|module| matches!(origin(&module.name), Origin::Unknown));
    unknown.map(|module| format!("{} may not be installed", module.name)).collect()
}

fn writable_imports(image: &Image, _: Target) -> Vec<String> {
    let tables = image.imports.address_tables.iter();
    let in_code = tables.filter_map(|table| {
        let end = u64::from(table.rva) + u64::from(table.size);
        let section =
            image.sections.iter().find(|section| section.is_executable() && section.overlaps(table.rva, end))?;
        Some(format!("the table at {:#x} is in {} ({})", table.rva, section.name, section.rights()))
    });
    in_code.collect()
}

fn is_stripped(image: &Image) -> bool {
    image.header.characteristics.contains(Characteristics::RELOCS_STRIPPED)
}

fn relocatable(image: &Image, _: Target) -> Vec<String> {
    violation_if(is_stripped(image), || "RELOCS_STRIPPED is set".into())
}

fn relocations(image: &Image, _: Target) -> Vec<String> {
    image.relocations.iter().filter_map(|relocations| relocations.problem.clone()).collect()
}

fn no_relocations(image: &Image, _: Target) -> Vec<String> {
    let none = image.relocations.as_ref().is_none_or(|found| found.fixups.is_empty() && found.problem.is_none());
    violation_if(none && !is_stripped(image), || "there are none".into())
}

fn security_cookie(image: &Image, _: Target) -> Vec<String> {
    let cookie = image.load_config.as_ref().and_then(|config| config.security_cookie).filter(|&cookie| cookie != 0);
    let Some(address) = cookie else {
        return Vec::new();
    };
    let rva = address.checked_sub(image.header.image_base).and_then(|rva| u32::try_from(rva).ok());
    let section = rva.and_then(|rva| image.sections.iter().find(|section| section.contains(rva)));
    violation_if(section.is_none_or(|section| !section.is_writable()), || format!("the cookie is at {address:#x}"))
}
