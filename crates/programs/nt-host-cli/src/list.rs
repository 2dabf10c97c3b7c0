//! `nt-host list`: lists which imports are implemented, return a fixed value, end the run when they are called
//! (trapped), or come from modules that this host does not model.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use command_line::exit::{SUCCESS, USAGE};
use command_line::{escaped, print};
use nt_machine::{Layout, RoutineInfo, all_routines, component, is_modelled};
use pe_image::framework_calls;
use serde_json::{Value, json};

use super::json::SCHEMA;
use nt_host::{ImportName, Os, Support, plan, support};

pub(super) fn list(path: &Path, os: Os, json: bool) -> u8 {
    let file = match std::fs::read(path) {
        Ok(file) => file,
        Err(error) => {
            command_line::error(&format!("{}: {error}", path.display()));
            return USAGE;
        }
    };
    let layout = match plan(&file) {
        Ok(layout) => layout,
        Err(error) => {
            command_line::error(&format!("{}: {error}", path.display()));
            return USAGE;
        }
    };
    let mut counts = [0_usize; 4];
    let mut components = BTreeMap::<String, usize>::new();
    let mut text = String::new();
    let mut imports = Vec::new();
    for import in &layout.imports {
        let lacks = |name: &ImportName| matches!(name, ImportName::Name(name) if support(name, os) == Support::Trapped);
        let (word, index) = match &import.name {
            // A component may be modelled in part.
            name if !is_modelled(&import.module) || component(&import.module).is_some() && lacks(name) => {
                let component = component(&import.module).unwrap_or(&import.module).to_owned();
                *components.entry(component).or_default() += 1;
                ("trapped".to_owned(), 3)
            }
            ImportName::Ordinal(_) => ("trapped".to_owned(), 2),
            ImportName::Name(name) => match support(name, os) {
                Support::Implemented => ("implemented".to_owned(), 0),
                Support::Data => ("data".to_owned(), 0),
                Support::Fixed => ("fixed".to_owned(), 1),
                Support::Newer(since) => (format!("since {since}"), 2),
                Support::Trapped => ("trapped".to_owned(), 2),
            },
        };
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
        imports.push(json!({ "module": import.module, "name": import.name.to_string(), "support": word }));
        let about = component(&import.module).map(|component| format!(" ({component})")).unwrap_or_default();
        let import = format!("{}!{}", import.module, import.name);
        let _ = writeln!(text, "{word:<16} {}{about}", escaped(&import));
    }
    let functions = framework_functions(&layout, os, &mut counts);
    let [here, fixed, trapped, foreign] = counts;
    if json {
        let functions = functions.iter().map(|(word, name)| json!({ "name": name, "support": word }));
        let value = json!({
            "schema_version": SCHEMA,
            "imports": imports,
            "framework": functions.collect::<Vec<_>>(),
            "implemented": here,
            "fixed": fixed,
            "trapped": trapped,
            "not_modelled": foreign,
        });
        print(&format!("{value}\n"));
        return SUCCESS;
    }
    for (word, name) in functions {
        let _ = writeln!(text, "{word:<16} framework!{name}");
    }
    let _ = writeln!(
        text,
        "{here} implemented, {fixed} with a fixed result, {trapped} trapped or missing on {os}, \
         {foreign} of components that are not modelled"
    );
    for (component, count) in components {
        let component = escaped(&component);
        let _ = writeln!(text, "not modelled: {component}, {count} routine{}", if count == 1 { "" } else { "s" });
    }
    print(&text);
    SUCCESS
}

/// Lists the framework functions that the driver calls, each with its support.
fn framework_functions(layout: &Layout, os: Os, counts: &mut [usize; 4]) -> Vec<(&'static str, String)> {
    let all: Vec<RoutineInfo> = all_routines(os).into_iter().filter(RoutineInfo::is_of_framework).collect();
    let calls = framework_calls(layout).into_iter().filter_map(|index| all.get(index as usize));
    let mut functions = Vec::new();
    for function in calls {
        let (word, index) = match function.support {
            Support::Implemented | Support::Data => ("implemented", 0),
            Support::Fixed => ("fixed", 1),
            Support::Newer(_) | Support::Trapped => ("trapped", 2),
        };
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
        functions.push((word, function.name.to_string()));
    }
    functions
}

/// `list --all`: prints the table of all routines, and the framework functions that are missing.
pub(super) fn list_all(os: Os, json: bool) -> u8 {
    let table = all_routines(os);
    if json {
        let rows: Vec<Value> = table.iter().map(row).collect();
        print(&(Value::Array(rows).to_string() + "\n"));
        return SUCCESS;
    }
    let mut text = String::new();
    let mut full = 0;
    let mut fixed = 0;
    let mut missing = 0;
    for routine in &table {
        let (word, count) = match routine.support {
            Support::Implemented => ("full".to_owned(), &mut full),
            Support::Data => ("data".to_owned(), &mut full),
            Support::Fixed => ("fixed result".to_owned(), &mut fixed),
            Support::Newer(since) => (format!("since {since}"), &mut missing),
            Support::Trapped => ("missing".to_owned(), &mut missing),
        };
        *count += 1;
        let irql = routine.irql.map_or("", irql_name);
        let since = routine.since.map_or("", Os::name);
        let signature = routine.signature.as_deref().unwrap_or_default();
        let page = routine.page.as_deref().unwrap_or_default();
        let line =
            format!("{word:<16} {:<15} {irql:<8} {since:<10} {} ({signature}) {page}", routine.module, routine.name);
        let _ = writeln!(text, "{}", line.trim_end().replace(" ()", ""));
    }
    let _ = writeln!(text, "{full} in full, {fixed} with a fixed result, {missing} missing on {os}");
    print(&text);
    SUCCESS
}

/// Returns the name of an IRQL limit.
const fn irql_name(limit: u8) -> &'static str {
    match limit {
        0 => "passive",
        1 => "apc",
        2 => "dispatch",
        _ => "any",
    }
}

/// Returns a row of the table for `--json`.
fn row(routine: &RoutineInfo) -> Value {
    let support = match routine.support {
        Support::Implemented => "full",
        Support::Data => "data",
        Support::Fixed => "fixed",
        Support::Newer(_) => "newer",
        Support::Trapped => "missing",
    };
    json!({
        "name": routine.name,
        "module": routine.module,
        "signature": routine.signature,
        "irql": routine.irql.map(irql_name),
        "since": routine.since.map(Os::name),
        "can_fail": routine.can_fail,
        "support": support,
        "page": routine.page,
    })
}
