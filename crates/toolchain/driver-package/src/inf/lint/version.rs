//! `[Version]`: signature, provider, class, catalog, lockdown.

use super::Linter;
use crate::inf::classes::{RESERVED, SYSTEM, find};

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    let Some(version) = inf.section("Version") else {
        linter.report(1001, 1, "there is no section [Version]");
        return;
    };
    // Returns value and line of a directive. If it is missing, the line is that of the section.
    let directive = |key: &str| {
        let entry = version.first(key);
        let value = entry.and_then(|entry| entry.field(0)).map(|value| inf.expand(value)).unwrap_or_default();
        (value, entry.map_or(version.line, |entry| entry.line))
    };

    let (signature, line) = directive("Signature");
    if !signature.eq_ignore_ascii_case("$Windows NT$") {
        linter.report(1001, line, format!("[Version] needs Signature = \"$Windows NT$\", not `{signature}`"));
    }
    let (provider, line) = directive("Provider");
    if provider.is_empty() {
        linter.report(1006, line, "[Version] has no Provider, the name of the driver's vendor");
    } else if provider.eq_ignore_ascii_case("Microsoft") {
        linter.report(1204, line, "Provider must be the vendor of the driver, not Microsoft");
    }
    if directive("CatalogFile").0.is_empty() && !version.entries.iter().any(is_decorated_catalog) {
        linter.report(1233, version.line, "[Version] has no CatalogFile, so Windows cannot verify the package");
    }
    let (lockdown, line) = directive("PnpLockdown");
    if lockdown != "1" {
        let text = "[Version] needs PnpLockdown = 1, which protects installed files from changes by programs";
        linter.report(1324, line, text);
    }

    let ((class, class_line), (id, id_line)) = (directive("Class"), directive("ClassGuid"));
    for (key, value, line) in [("Class", &class, class_line), ("ClassGuid", &id, id_line)] {
        if value.is_empty() {
            linter.report(1006, line, format!("[Version] has no {key}, which states the device setup class"));
        }
    }
    if let Some((name, _)) = find(RESERVED, &class, &id) {
        let line = if class.eq_ignore_ascii_case(name) { class_line } else { id_line };
        let text = format!("class `{name}` is reserved for Microsoft: use another class, or define your own");
        linter.report(1284, line, text);
    }
    let system = find(SYSTEM, &class, &id).or_else(|| find(RESERVED, &class, &id));
    if let (Some(section), Some((name, _))) = (inf.section("ClassInstall32"), system) {
        let text = format!("Windows installs class `{name}`, which is Microsoft's: remove [ClassInstall32]");
        linter.report(1285, section.line, text);
    }
}

fn is_decorated_catalog(entry: &crate::inf::Entry) -> bool {
    entry.key.as_ref().is_some_and(|key| key.to_ascii_lowercase().starts_with("catalogfile."))
}
