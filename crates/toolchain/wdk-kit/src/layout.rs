//! The folders of a WDK, filled with the kit's headers.

use std::fs;
use std::path::Path;

use crate::metadata::{Generated, KERNEL};
use crate::tools::make_link;
use crate::{Error, files, model};

/// The SDK version whose folders the kit imitates.
pub const VERSION: &str = "10.0.26100.0";
/// Where the headers of a version of the framework go.
pub(crate) fn framework_headers(minor: u8) -> String {
    format!("Include/wdf/kmdf/1.{minor}")
}

/// Changes what a name of the metadata means. It is not in `kit/include`, because names that a header there defines are not generated.
const POOL: &str = "/* What NonPagedPool means in drivers that opt in to pool that is not executable. */
#pragma once

#if defined(WDK_KIT_NX_AUTO)
#define NonPagedPool NonPagedPoolNx
#elif defined(POOL_NX_OPTIN)
DECLSPEC_SELECTANY POOL_TYPE ExDefaultNonPagedPoolType = NonPagedPool;
#define NonPagedPool ExDefaultNonPagedPoolType
#endif
";

/// Writes a file, and creates its folders.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    written.map_err(|error| Error::io(path, &error))
}

/// Writes a header. In C++, its declarations have the names of C.
pub(crate) fn write_header(path: &Path, text: &str) -> Result<(), Error> {
    write(path, &format!("#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{text}\n#ifdef __cplusplus\n}}\n#endif\n"))
}

/// Writes the headers of `kit/include` and the generated headers to the folders that a WDK has, and creates a folder that stays
/// empty.
pub(crate) fn write_headers(kit: &Path, generated: &Generated) -> Result<(), Error> {
    let include = kit.join("Include").join(VERSION);
    for (path, text) in files::below("kit/include") {
        write_header(&include.join(path), text)?;
    }
    for (name, parts) in &generated.headers {
        let early = model::early(parts);
        let late = model::late(parts);
        let head = "/* Generated from Microsoft's metadata. */\n#pragma once\n\n";
        if name == KERNEL {
            write_header(&include.join("km/nt/generated_names.h"), &format!("{head}{early}"))?;
            write_header(&include.join("km/nt/generated.h"), &format!("{head}{late}"))?;
        } else {
            // What the metadata lacks of a header is in a file of the same name.
            let more = format!("nt/{name}");
            let has_more = files::below("kit/include/km").any(|(path, _)| path == more);
            let more = if has_more { format!("#include \"{more}\"\n") } else { String::new() };
            write_header(&include.join("km").join(name), &format!("{head}#include \"ntifs.h\"\n{early}{late}{more}"))?;
        }
    }
    let head = "/* Generated from Microsoft's bindings. */\n#pragma once\n\n";
    let supplement = generated.supplement.as_ref().map(model::whole).unwrap_or_default();
    write_header(&include.join("km/nt/supplement.h"), &format!("{head}{supplement}"))?;
    write_header(&include.join("km/nt/pool.h"), POOL)?;
    // Drivers that run bindgen themselves include these headers. The functions that the kernel exports are declared by wdm.h.
    for name in ["ctype.h", "malloc.h", "memory.h", "stdio.h", "stdlib.h", "string.h", "wchar.h"] {
        write_header(&include.join("km/crt").join(name), "#pragma once\n#include \"wdm.h\"\n")?;
    }
    // clang's intrin.h needs the type. Drivers must not call setjmp.
    write_header(&include.join("km/crt/setjmp.h"), "#pragma once\ntypedef unsigned __int64 jmp_buf[32];\n")?;
    // Headers for Microsoft's static analysis. Compilers ignore their contents.
    write_header(&include.join("shared/sal.h"), &format!("#pragma once\n\n{}", generated.annotations))?;
    for name in ["shared/driverspecs.h", "shared/specstrings.h", "km/dontuse.h", "km/suppress.h"] {
        write_header(&include.join(name), "#pragma once\n#include \"sal.h\"\n")?;
    }
    // The kit declares the contents of this header in wdm.h, as far as it has them.
    write_header(&include.join("shared/devpropdef.h"), "#pragma once\n#include \"wdm.h\"\n")?;
    // Parts of headers that the kit has as a whole.
    for (name, whole) in [
        ("km/usbdi.h", "usb.h"),
        ("km/usbspec.h", "usb.h"),
        ("km/usbdrivr.h", "usbbusif.h"),
        ("km/usbioctl.h", "usb.h"),
        ("km/hidpddi.h", "hidclass.h"),
        ("km/ntdd8042.h", "kbdmou.h"),
        ("km/ntddkbd.h", "hidclass.h"),
        ("km/ntddmou.h", "hidclass.h"),
        ("km/ntddscsi.h", "ntddstor.h"),
        ("km/strsafe.h", "ntstrsafe.h"),
        ("shared/ndis/nbl.h", "ndis.h"),
        ("shared/ndis/nblaccessors.h", "ndis.h"),
        ("shared/ndis/nblchecksum.h", "ndis.h"),
        ("shared/basetsd.h", "ntdef.h"),
        ("shared/winapifamily.h", "ntdef.h"),
        ("km/excpt.h", "wdm.h"),
        ("km/crt/stdarg.h", "nt/arguments.h"),
        ("km/crt/limits.h", "nt/limits.h"),
        ("km/crt/wctype.h", "wdm.h"),
    ] {
        write_header(&include.join(name), &format!("#pragma once\n#include \"{whole}\"\n"))?;
    }
    // For build scripts that were written on Windows, where the case of file names does not matter.
    for (name, real) in [("include", "Include"), ("lib", "Lib")].into_iter().filter(|_| cfg!(unix)) {
        let link = kit.join(name);
        make_link(Path::new(real), &link).map_err(|error| Error::io(&link, &error))?;
    }
    let empty = include.join("km/ufx/1.1");
    fs::create_dir_all(&empty).map_err(|error| Error::io(&empty, &error))
}
