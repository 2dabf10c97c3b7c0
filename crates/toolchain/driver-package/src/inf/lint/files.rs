//! Copied files: each must have a source, and all must stay in the driver store.

use super::Linter;
use crate::inf::{Entry, Inf};

/// The folder of the package in the driver store.
const DRIVER_STORE: &str = "13";

pub(super) fn check(linter: &mut Linter<'_>) {
    let inf = linter.inf;
    let mut copies = false;
    for (list, file, line) in copied(inf) {
        copies = true;
        let sources = inf.sections().iter().filter(|s| base(&s.name).eq_ignore_ascii_case("SourceDisksFiles"));
        if !sources.into_iter().any(|section| section.first(&file).is_some()) {
            linter.report(1230, line, format!("file `{file}` is copied, but [SourceDisksFiles] does not list it"));
        }
        let (directory, place) = destination(inf, list.as_deref());
        if directory.as_deref() != Some(DRIVER_STORE) {
            let found = directory.map_or_else(|| "no directory".into(), |id| format!("directory {id}"));
            let text = format!("file `{file}` is copied to {found}: a driver's files must stay in directory 13");
            linter.report(1322, place.unwrap_or(line), text);
        }
    }
    if copies {
        for name in ["SourceDisksNames", "SourceDisksFiles"] {
            if !inf.sections().iter().any(|section| base(&section.name).eq_ignore_ascii_case(name)) {
                linter.report(1203, 1, format!("section [{name}] not found: copied files need it"));
            }
        }
    }
    for section in inf.sections() {
        for entry in section.all("ServiceBinary") {
            let path = entry.field(0).unwrap_or_default();
            if !path.starts_with("%13%\\") {
                let text = format!("ServiceBinary is `{path}`: a driver's files must stay in directory 13, %13%\\");
                linter.report(1322, entry.line, text);
            }
        }
    }
}

/// Returns the list section, the file and the line of everything that `CopyFiles` copies.
fn copied(inf: &Inf) -> Vec<(Option<String>, String, usize)> {
    let mut files = Vec::new();
    for entry in inf.sections().iter().flat_map(|section| section.all("CopyFiles")) {
        for field in entry.fields.iter().filter(|field| !field.is_empty()) {
            if let Some(file) = field.strip_prefix('@') {
                files.push((None, file.to_owned(), entry.line));
            } else if let Some(list) = inf.section(field) {
                let named = list.entries.iter().filter_map(|entry| Some((source(entry)?, entry.line)));
                files.extend(named.map(|(file, line)| (Some(list.name.clone()), file, line)));
            }
        }
    }
    files
}

/// Returns the name of a file in the package: the second field if the file is renamed.
fn source(entry: &Entry) -> Option<String> {
    entry.field(1).or_else(|| entry.field(0)).map(String::from)
}

/// Returns the number of the directory to which a list is copied, and the line that states it.
fn destination(inf: &Inf, list: Option<&str>) -> (Option<String>, Option<usize>) {
    let Some(section) = inf.section("DestinationDirs") else {
        return (None, None);
    };
    let own = list.and_then(|list| section.first(list));
    let entry = own.or_else(|| section.first("DefaultDestDir"));
    (entry.and_then(|entry| entry.field(0)).map(String::from), entry.map(|entry| entry.line))
}

/// Returns a section's name without its architecture.
fn base(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}
