//! `nt-host list`: which imports are implemented, answer a fixed value, end the run when they are called (trapped), or
//! come from modules that this host does not know.

use std::fmt::Write as _;
use std::path::Path;

use nt_machine::{Listed, everything};

use super::{CLEAN, USAGE, print};
use crate::{ImportName, Known, Os, known, plan};

pub(super) fn list(path: &Path, os: Os) -> u8 {
    let file = match std::fs::read(path) {
        Ok(file) => file,
        Err(error) => {
            eprintln!("error: {}: {error}", path.display());
            return USAGE;
        }
    };
    let layout = match plan(&file) {
        Ok(layout) => layout,
        Err(error) => {
            eprintln!("error: {}: {error}", path.display());
            return USAGE;
        }
    };
    let mut counts = [0_usize; 4];
    let mut text = String::new();
    for import in &layout.imports {
        let (word, index) = match &import.name {
            ImportName::Ordinal(_) => ("unknown".to_owned(), 3),
            ImportName::Name(_) if !is_ours(&import.module) => ("unknown".to_owned(), 3),
            ImportName::Name(name) => match known(name, os) {
                Known::Implemented => ("implemented".to_owned(), 0),
                Known::Data => ("data".to_owned(), 0),
                Known::Fixed => ("fixed".to_owned(), 1),
                Known::Newer(since) => (format!("since {since}"), 2),
                Known::Trapped => ("trapped".to_owned(), 2),
            },
        };
        if let Some(count) = counts.get_mut(index) {
            *count += 1;
        }
        let _ = writeln!(text, "{word:<16} {}!{}", import.module, import.name);
    }
    let [here, fixed, trapped, unknown] = counts;
    let _ = writeln!(
        text,
        "{here} implemented, {fixed} with a fixed answer, {trapped} trapped or missing on {os}, {unknown} unknown"
    );
    print(&text);
    CLEAN
}

/// `list --all`: everything that this host has, with how far it goes, and what it lacks of the framework.
pub(super) fn list_all(os: Os) -> u8 {
    let mut text = String::new();
    let (mut full, mut fixed, mut missing) = (0, 0, 0);
    for Listed { of, name, known } in everything(os) {
        let (word, count) = match known {
            Known::Implemented => ("full".to_owned(), &mut full),
            Known::Data => ("data".to_owned(), &mut full),
            Known::Fixed => ("fixed answer".to_owned(), &mut fixed),
            Known::Newer(since) => (format!("since {since}"), &mut missing),
            Known::Trapped => ("missing".to_owned(), &mut missing),
        };
        *count += 1;
        let _ = writeln!(text, "{word:<16} {of:<10} {name}");
    }
    let _ = writeln!(text, "{full} in full, {fixed} with a fixed answer, {missing} missing on {os}");
    print(&text);
    CLEAN
}

/// Modules whose routines this host has.
fn is_ours(module: &str) -> bool {
    ["ntoskrnl.exe", "hal.dll", "wdfldr.sys"].iter().any(|known| known.eq_ignore_ascii_case(module))
}
