//! A driver calls every function of the crates that drivers link, at the highest IRQL that its documentation promises.
//! `cargo test -p nt-host --test it kmdf::irql` runs that driver; here its sources are compared with the crates.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use docs_tests::markdown::repository;

use super::examples::{Crate, Public, sources};

const CRATES: [&str; 2] = ["wdk-etw", "wdk-kmdf"];
/// The drivers on `wdk-kmdf`, and in them the one that this is about.
const DRIVERS: &str = "crates/driver/wdk-kmdf/drivers";
/// The start of an `# IRQL` section, and the module of the driver that calls such functions as `Type::function`. Functions for
/// `PASSIVE_LEVEL` can be called in any way, in any driver.
const LEVELS: [(&str, Option<&str>); 6] = [
    ("Any", Some("high")),
    ("At most `DIRQL`", Some("dirql")),
    ("`DIRQL`", Some("dirql")),
    ("At most `DISPATCH_LEVEL`", Some("dispatch")),
    ("At most `APC_LEVEL`", Some("apc")),
    ("`PASSIVE_LEVEL`", None),
];

/// Returns the source code of all files in a folder.
fn text(folder: &Path) -> String {
    sources(folder).iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Returns the first words of the section about the IRQL.
fn level(item: &Public) -> Option<&str> {
    let (_, section) = item.documentation.split_once("# IRQL\n")?;
    section.lines().find(|line| !line.trim().is_empty())
}

/// Returns whether code calls a function of this name after one of these texts.
fn calls(code: &str, before: &[String], name: &str) -> bool {
    before.iter().any(|before| {
        let call = format!("{before}{name}");
        code.match_indices(&call).any(|(place, _)| code[place + call.len()..].starts_with(['(', ':', ')', ',']))
    })
}

#[test]
fn every_function_is_called_at_the_highest_irql_that_it_promises() {
    let drivers = repository().join(DRIVERS);
    let everywhere = text(&drivers);
    let mut wrong = Vec::new();
    let mut levels = BTreeSet::new();
    let mut count = 0;
    for name in CRATES {
        let found = Crate::read(&repository().join("crates/driver").join(name).join("src"));
        for item in found.items.iter().filter(|item| item.is_function) {
            let owner = item.owner.as_deref();
            let full = owner.map_or_else(|| item.name.clone(), |owner| format!("{owner}::{}", item.name));
            let Some(level) = level(item) else { continue };
            let Some((_, module)) = LEVELS.iter().find(|(start, _)| level.starts_with(start)) else {
                wrong.push(format!("{name}: {full}: the IRQL {level:?} is not in the list of levels"));
                continue;
            };
            count += 1;
            levels.insert(module);
            let is_called = match module {
                Some(module) => {
                    let code = fs::read_to_string(drivers.join(format!("irql/src/{module}.rs"))).unwrap();
                    let before = owner.map_or_else(
                        || ["", "::"].map(str::to_owned),
                        |owner| ["", "::"].map(|path| format!("{path}{owner}::")),
                    );
                    calls(&code, &before, &item.name)
                }
                None => calls(&everywhere, &[".".to_owned(), "::".to_owned(), " ".to_owned()], &item.name),
            };
            if !is_called {
                let module = module.map_or_else(|| "any driver".to_owned(), |module| format!("irql/src/{module}.rs"));
                wrong.push(format!("{name}: {full} is not called in {module}, of {DRIVERS}"));
            }
        }
    }
    assert!(count > 200, "only {count} functions were found");
    assert_eq!(levels.len(), 5, "{levels:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
