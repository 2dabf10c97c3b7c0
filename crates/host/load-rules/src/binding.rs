//! Rules about what binds an image to other modules and to its address: imports, relocations, and features of programs.

use super::Severity::{MemoryIntegrity, Refused, Warning};
use super::{MEMORY_INTEGRITY, PE_FORMAT, Rule, Target, when};
use pe_image::{Characteristics, Image};

/// Modules with exports for drivers that every Windows has, in lower case.
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

/// Name prefixes of libraries that exist only in user mode, in lower case. Any other library may be one for drivers: an
/// export driver can be a `.dll` as well as a `.sys`.
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
        what: "nothing is imported from libraries of user mode",
        why: "the kernel finds no such module among drivers, or none of its exports",
        source: "Microsoft Learn, the requirements of each routine name its module; for drivers it is one of the kernel",
        check: user_import,
    },
    Rule {
        id: "unknown-import",
        severity: Warning,
        what: "imports are from modules that every Windows has",
        why: "the driver does not load where the module is not installed",
        source: "no document has a list of them; this one is ours",
        check: unknown_import,
    },
    Rule {
        id: "delay-load",
        severity: Refused,
        what: "nothing is delay-loaded",
        why: "the helper that binds such imports is code for user mode",
        source: "Microsoft Learn, \"Linker support for delay-loaded DLLs\"",
        check: |image, _| image.imports.delayed.iter().map(|name| format!("{name} is")).collect(),
    },
    Rule {
        id: "writable-imports",
        severity: MemoryIntegrity,
        what: "import addresses are written outside of executable sections",
        why: "memory integrity, on by default in Windows 11, allows no write to a page with code",
        source: MEMORY_INTEGRITY,
        check: writable_imports,
    },
    Rule {
        id: "tls",
        severity: Refused,
        what: "there is no thread-local storage",
        why: "the kernel provides none, and code would read that of whatever program is running",
        source: PE_FORMAT,
        check: |image, _| when(image.has_tls, || "there is a TLS directory".into()),
    },
    Rule {
        id: "clr",
        severity: Refused,
        what: "the image is native code",
        why: "there is no .NET in the kernel",
        source: PE_FORMAT,
        check: |image, _| when(image.has_clr, || "there is a CLR header".into()),
    },
    Rule {
        id: "relocatable",
        severity: Refused,
        what: "relocations are not stripped",
        why: "a driver is never at its preferred address (STATUS_CONFLICTING_ADDRESSES)",
        source: PE_FORMAT,
        check: relocatable,
    },
    Rule {
        id: "relocations",
        severity: Refused,
        what: "every relocation can be made",
        why: "the loader stops at the first one it does not understand",
        source: PE_FORMAT,
        check: relocations,
    },
    Rule {
        id: "no-relocations",
        severity: Warning,
        what: "there are relocations",
        why: "without, the driver works only if it contains no absolute address at all",
        source: PE_FORMAT,
        check: no_relocations,
    },
    Rule {
        id: "security-cookie",
        severity: Warning,
        what: "the security cookie is in a writable section",
        why: "the loader has to initialise it before the driver starts",
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
    // A driver may come with its own library, which is another driver.
    if is_program || is_user { Origin::User } else { Origin::Unknown }
}

fn user_import(image: &Image, _: Target) -> Vec<String> {
    let user = image.imports.modules.iter().filter(|module| matches!(origin(&module.name), Origin::User));
    user.map(|module| format!("{} is no module for drivers", module.name)).collect()
}

fn unknown_import(image: &Image, _: Target) -> Vec<String> {
    let unknown = image.imports.modules.iter().filter(|module| matches!(origin(&module.name), Origin::Unknown));
    unknown.map(|module| format!("{} may be missing", module.name)).collect()
}

fn writable_imports(image: &Image, _: Target) -> Vec<String> {
    let tables = image.imports.address_tables.iter();
    let in_code = tables.filter_map(|table| {
        let end = u64::from(table.rva) + u64::from(table.size);
        let section =
            image.sections.iter().find(|section| section.is_executable() && section.overlaps(table.rva, end))?;
        Some(format!("addresses at {:#x} are in {} ({})", table.rva, section.name, section.rights()))
    });
    in_code.collect()
}

fn is_stripped(image: &Image) -> bool {
    image.header.characteristics.contains(Characteristics::RELOCS_STRIPPED)
}

fn relocatable(image: &Image, _: Target) -> Vec<String> {
    when(is_stripped(image), || "RELOCS_STRIPPED is set".into())
}

fn relocations(image: &Image, _: Target) -> Vec<String> {
    image.relocations.iter().filter_map(|relocations| relocations.problem.clone()).collect()
}

fn no_relocations(image: &Image, _: Target) -> Vec<String> {
    let none = image.relocations.as_ref().is_none_or(|found| found.fixups.is_empty() && found.problem.is_none());
    when(none && !is_stripped(image), || "there are none".into())
}

fn security_cookie(image: &Image, _: Target) -> Vec<String> {
    let cookie = image.load_config.as_ref().and_then(|config| config.security_cookie).filter(|&cookie| cookie != 0);
    let Some(address) = cookie else {
        return Vec::new();
    };
    let rva = address.checked_sub(image.header.image_base).and_then(|rva| u32::try_from(rva).ok());
    let section = rva.and_then(|rva| image.sections.iter().find(|section| section.contains(rva)));
    when(section.is_none_or(|section| !section.is_writable()), || format!("it is at {address:#x}"))
}
