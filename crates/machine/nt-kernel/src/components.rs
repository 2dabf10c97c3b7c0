//! Modules that export routines to drivers but are not modelled by this host, or only in part, with the names in
//! Microsoft's documentation.

use nt_verifier::routine::{
    CNG, FILTER_MANAGER, FILTERING, HAL, HID_CLASS, KERNEL, NDIS, SECURITY, WMI_LIBRARY, WPP_RECORDER,
};

/// The file name in lower case, and the component.
const COMPONENTS: [(&str, &str); 31] = [
    ("bthport.sys", "Bluetooth"),
    ("ci.dll", "code integrity"),
    ("classpnp.sys", "storage class drivers"),
    ("clfs.sys", "the Common Log File System"),
    ("cng.sys", "Cryptography API: Next Generation"),
    ("dxgkrnl.sys", "the DirectX graphics kernel"),
    ("fwpkclnt.sys", "the Windows Filtering Platform"),
    ("gpioclx.sys", "GPIO controllers"),
    ("hidclass.sys", "HID class drivers"),
    ("hidparse.sys", "the HID parser"),
    ("ks.sys", "kernel streaming"),
    ("ksecdd.sys", "the kernel security support provider"),
    ("mouclass.sys", "mouse class drivers"),
    ("msrpc.sys", "kernel RPC"),
    ("ndis.sys", "NDIS"),
    ("netadaptercx.sys", "NetAdapterCx"),
    ("netio.sys", "network I/O (WSK and NMR)"),
    ("pcw.sys", "performance counters"),
    ("portcls.sys", "audio port class drivers"),
    ("pshed.dll", "hardware error handling"),
    ("scsiport.sys", "SCSI port drivers"),
    ("spbcx.sys", "simple peripheral buses"),
    ("storport.sys", "Storport"),
    ("tbs.sys", "TPM base services"),
    ("tdi.sys", "TDI"),
    ("tm.sys", "the transaction manager"),
    ("ucx01000.sys", "USB host controllers"),
    ("usbd.sys", "USB (USBD)"),
    ("videoprt.sys", "video port drivers"),
    ("watchdog.sys", "display watchdogs"),
    ("win32k.sys", "the window manager"),
];

/// Returns the component that a module belongs to, or `None` for a module of the kernel or an unknown one.
#[must_use]
pub fn component(module: &str) -> Option<&'static str> {
    COMPONENTS.iter().find(|(name, _)| name.eq_ignore_ascii_case(module)).map(|(_, component)| *component)
}

/// Returns whether this host implements routines of a module.
#[must_use]
pub fn is_modelled(module: &str) -> bool {
    let modules = [
        KERNEL,
        HAL,
        "wdfldr.sys",
        FILTER_MANAGER,
        WMI_LIBRARY,
        WPP_RECORDER,
        FILTERING,
        NDIS,
        CNG,
        SECURITY,
        HID_CLASS,
    ];
    modules.iter().any(|name| name.eq_ignore_ascii_case(module))
}

/// Explains why a routine of a module is not available.
pub(crate) fn absence(module: &str, routine: &str) -> String {
    match component(module) {
        Some(component) if is_modelled(module) => {
            format!("{routine} belongs to {component} ({module}): this host does not implement it")
        }
        Some(component) => format!("{routine} belongs to {component} ({module}), which this host does not model"),
        None if is_modelled(module) => format!("this host does not implement {routine}"),
        None => format!("{routine} belongs to {module}, which this host does not know: load it with --with {module}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{COMPONENTS, absence, component};

    #[test]
    fn the_documentation_lists_every_component() {
        let page = include_str!("../../../../docs/testing-with-nt-host.md");
        for (module, component) in COMPONENTS {
            assert!(page.contains(&format!("| {component} | `{module}` |")), "{module}");
        }
    }

    #[test]
    fn modules_are_found_in_any_case_and_are_listed_in_order() {
        assert_eq!(component("NDIS.SYS"), Some("NDIS"));
        assert_eq!(component("ntoskrnl.exe"), None);
        assert!(COMPONENTS.is_sorted());
        assert_eq!(
            absence("fwpkclnt.sys", "Do"),
            "Do belongs to the Windows Filtering Platform (fwpkclnt.sys): this host does not implement it"
        );
        assert_eq!(
            absence("other.sys", "Do"),
            "Do belongs to other.sys, which this host does not know: load it with --with other.sys"
        );
    }
}
