//! The page of the documentation that lists all routines: the table of routines, by module.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use windows_releases::Release as Os;

use super::routines::{RoutineInfo, Support, all_routines};

const HEAD: &str = "\
# Routines of nt-host

The routines that a driver can import from each module, and the functions of the framework. `nt-host list --all` prints the same table with the kinds of the
parameters and results, and `nt-host list --all --json` prints it for programs. A test generates this page from the declarations of the routines.

- *IRQL*: the highest IRQL at which nt-host accepts a call without a finding. Some arguments need a lower one, as on the pages of the routines.
- *since*: the first Windows release that has it; empty if Windows 7 has it. On an older release nt-host does not have it either.
- *support*: *full* is an implementation; *fixed* always returns the same result and does nothing; *data* is a variable; *missing* ends the run when it is called.
- *file*: where it is declared, below `crates/machine`.
";

const fn irql(limit: Option<u8>) -> &'static str {
    match limit {
        None => "",
        Some(0) => "passive",
        Some(1) => "apc",
        Some(2) => "dispatch",
        Some(_) => "any",
    }
}

fn page() -> String {
    let table = all_routines(Os::NEWEST);
    let mut modules: Vec<&str> = table.iter().map(|routine| routine.module).collect();
    modules.sort_unstable();
    modules.dedup();
    let mut page = HEAD.to_owned();
    for module in modules {
        let _ = write!(page, "\n## {module}\n\n| routine | IRQL | since | support | file |\n|---|---|---|---|---|\n");
        for RoutineInfo { name, irql: limit, since, support, page: link, file, .. } in
            table.iter().filter(|routine| routine.module == module)
        {
            let support = match support {
                Support::Implemented => "full",
                Support::Data => "data",
                Support::Fixed => "fixed",
                Support::Newer(_) | Support::Trapped => "missing",
            };
            let name = match link {
                Some(link) => format!("[`{name}`]({link})"),
                None => format!("`{name}`"),
            };
            let file = file.map_or("", |file| file.split_once("crates/machine/").map_or(file, |(_, file)| file));
            let since = since.map_or("", Os::name);
            let _ = writeln!(page, "| {name} | {} | {since} | {support} | {file} |", irql(*limit));
        }
    }
    page
}

/// Run with `UPDATE_DOCS=1 cargo test -p nt-machine documentation` to write the page.
#[test]
fn the_page_about_routines_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/routines.md");
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, page()).expect("the page can be written");
    }
    let current = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    assert!(current == page(), "docs/routines.md is stale: run this test with UPDATE_DOCS=1");
}
