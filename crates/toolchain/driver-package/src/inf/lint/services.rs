//! Every device must have a service, and every service its values.

use super::Linter;

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    let arch = linter.arch;
    for device in inf.devices(arch) {
        let Some(install) = inf.install_section(&device.install, arch) else { continue };
        let name = format!("{}.Services", install.name);
        let Some(section) = inf.section(&name) else {
            let text = format!("device `{}` has no service: section [{name}] not found", device.description);
            linter.report(1296, device.line, text);
            continue;
        };
        let services = inf.services(install);
        let from_elsewhere = section.first("Needs").is_some();
        if !from_elsewhere && !services.iter().any(|service| service.is_function) {
            let text = format!(
                "device `{}` has no service: no AddService in this section has flag 2 (SPSVCINST_ASSOCSERVICE)",
                device.description
            );
            linter.report(1296, section.line, text);
        }
    }
    for service in inf.installs(arch).into_iter().flat_map(|install| inf.services(install)) {
        let described = service.section.as_ref().and_then(|name| inf.section(name));
        for key in ["ServiceType", "StartType", "ErrorControl", "ServiceBinary"] {
            if let Some(section) = described.filter(|section| section.first(key).is_none()) {
                linter.report(1006, section.line, format!("[{}] has no {key}", section.name));
            }
        }
    }
}
