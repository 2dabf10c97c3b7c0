//! The stand-in for `winreg`, called as build scripts call it.

#[allow(
    dead_code,
    unreachable_pub,
    clippy::upper_case_acronyms,
    reason = "a package with the names of winreg; this uses a part of it"
)]
#[path = "../../stand-in/winreg/lib.rs"]
mod replacement;

use std::env;
use std::process::Command;

use replacement::RegKey;
use replacement::enums::{HKEY_CURRENT_USER, HKEY_LOCAL_MACHINE};

const VARIABLE: &str = "WDK_KIT_ROOT";
const ROOTS: &str = r"SOFTWARE\Microsoft\Windows Kits\Installed Roots";

fn value(key: &RegKey, name: &str) -> Option<String> {
    key.get_value(name).ok()
}

#[test]
fn only_the_key_of_installed_roots_has_the_value() {
    let machine = RegKey::predef(HKEY_LOCAL_MACHINE);
    if env::var_os(VARIABLE).is_none_or(|root| root != "/kit") {
        // A process with threads must not set its variables, so another one runs this test with the variable.
        let name = "winreg::only_the_key_of_installed_roots_has_the_value";
        let mut again = Command::new(env::current_exe().unwrap());
        let output = again.args(["--exact", name, "--nocapture"]).env(VARIABLE, "/kit").output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{printed}");
        assert!(printed.contains("1 passed"), "{printed}");
        return;
    }
    for path in [ROOTS, &ROOTS.to_lowercase(), &ROOTS.replace("SOFTWARE", r"SOFTWARE\WOW6432Node")] {
        let key = machine.open_subkey(path).unwrap();
        assert_eq!(value(&key, "kitsroot10").as_deref(), Some("/kit"), "{path}");
        assert_eq!(value(&key, "KitsRoot81"), None, "{path}");
    }
    let above = machine.open_subkey(r"SOFTWARE\Microsoft").unwrap();
    assert_eq!(value(&machine, "KitsRoot10"), None);
    assert_eq!(value(&above, "KitsRoot10"), None);
    let below = above.open_subkey_with_flags(r"Windows Kits\Installed Roots", replacement::enums::KEY_READ).unwrap();
    assert_eq!(value(&below, "KitsRoot10").as_deref(), Some("/kit"));
    assert!(machine.open_subkey(r"SOFTWARE\Microsoft\Windows NT").is_err());
    assert!(RegKey::predef(HKEY_CURRENT_USER).open_subkey(ROOTS).is_err());
}
