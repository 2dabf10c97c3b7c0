//! Registry operations must stay below the key of the device or the service.

use super::Linter;

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    let mut lists: Vec<&str> = Vec::new();
    for section in inf.sections() {
        for entry in section.all("AddReg").chain(section.all("DelReg")) {
            lists.extend(entry.fields.iter().map(String::as_str));
        }
    }
    let sections = inf.sections().iter().filter(|section| lists.iter().any(|l| section.name.eq_ignore_ascii_case(l)));
    for entry in sections.flat_map(|section| &section.entries) {
        let root = entry.field(0).unwrap_or_default();
        if root.eq_ignore_ascii_case("HKR") {
            continue;
        }
        match entry.field(2) {
            Some(value) => {
                let text = format!("value `{value}` is below {root}: a driver's settings must be below HKR");
                linter.report(1321, entry.line, text);
            }
            None => {
                linter.report(1320, entry.line, format!("a key is below {root}: a driver's keys must be below HKR"));
            }
        }
    }
}
